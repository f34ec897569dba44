"""``ATen`` nodes of org.pytorch.aten: functions of PyTorch that an exporter left as they are.

Such a node names the function; its operands are the function's arguments in their order, numbers among them as tensors.  With the
names of the arguments it is a call like those of a PyTorch program, and PyTorch's own table says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import Argument, AtenCall, Ref, translate
from weighbridge.frontends.foreign import Foreign, Rule, Step, set_aside
from weighbridge.graph import UNKNOWN, TensorType

__all__ = ["ATEN_DOMAIN", "ATEN_RULES", "SCHEMAS"]

ATEN_DOMAIN: Final = "org.pytorch.aten"
SCHEMAS: Final[Mapping[str, str]] = {
    "_adaptive_avg_pool2d": "self output_size[]",
    "_scaled_dot_product_efficient_attention": (
        "query key value attn_bias compute_log_sumexp# dropout_p# is_causal# scale#"
    ),
    "argmax": "self dim# keepdim#",
    "avg_pool2d": "self kernel_size[] stride[] padding[] ceil_mode# count_include_pad# divisor_override#",
    "binary_cross_entropy_with_logits": "self target weight pos_weight reduction#",
    "bitwise_or.Tensor": "self other",
    "diagonal": "self offset# dim1# dim2#",
    "embedding": "weight indices padding_idx# scale_grad_by_freq# sparse#",
    "embedding_backward": "grad indices num_weights# padding_idx# scale_grad_by_freq# sparse#",
    "embedding_bag": (
        "weight indices offsets scale_grad_by_freq# mode# sparse# per_sample_weights include_last_offset#"
    ),
    "grid_sampler": "input grid interpolation_mode# padding_mode# align_corners#",
    "max": "self",
    "max.dim": "self dim# keepdim#",
    "max_pool2d_with_indices": "self kernel_size[] stride[] padding[] dilation[] ceil_mode#",
    "min": "self",
    "min.dim": "self dim# keepdim#",
    "multinomial": "self num_samples# replacement# generator#",
    "native_group_norm": "input weight bias N# C# HxW# group# eps#",
    "numpy_T": "self",
    "tril": "self diagonal#",
    "triu": "self diagonal#",
    "unfold": "self dimension# size# step#",
    "upsample_bicubic2d.vec": "input output_size[] align_corners# scale_factors[]",
    **{f"upsample_nearest{rank}d.vec": "input output_size[] scale_factors[]" for rank in (1, 2, 3)},
}
"""The functions that exporters leave, with the names of their arguments as PyTorch's schemas have them: ``#`` marks a number,
``[]`` a list of numbers.
"""


class _Arguments(Mapping[str, Argument]):
    """Arguments by name.  Asking for a number that only the running program knows raises ``GraphError``."""

    def __init__(self, known: Mapping[str, Argument], unknown: frozenset[str]) -> None:
        self._known = known
        self._unknown = unknown

    def __getitem__(self, name: str) -> Argument:
        if name in self._unknown:
            raise GraphError(f"its {name} is known only as it runs")
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Types(dict[str, TensorType]):
    """Types by tensor.  Asking for one that is not known raises ``GraphError``."""

    def __missing__(self, tensor: str) -> TensorType:
        raise GraphError(f"the shape of {tensor} is unknown")


def _numbers(call: Foreign, tensor: str, *, is_list: bool) -> Any:
    """What a tensor holds: a tuple for a list, else its one number; None where that is not known before it runs."""
    values = call.services.values_of(tensor)
    if values is None or (not is_list and len(values) != 1):
        return None
    return tuple(values) if is_list else values[0]


def _as_call(call: Foreign, function: str, overload: str, schema: str) -> AtenCall:
    known: dict[str, Argument] = {}
    unknown: set[str] = set()
    types = _Types()
    words = schema.split()
    if len(call.inputs) > len(words):
        raise GraphError(f"it has {len(call.inputs)} arguments and not {len(words)} at most")
    for word, tensor in zip(words, call.inputs, strict=False):
        name = word.rstrip("#[]")
        if not tensor:
            continue
        kind = call.services.type_of(tensor)
        if kind is not None:
            types[tensor] = kind
        known[name] = Ref(tensor) if name == word else _numbers(call, tensor, is_list=word.endswith("[]"))
        if known[name] is None:
            unknown.add(name)
    # An older exporter writes numbers as attributes of the node, under the names of the arguments.
    known |= {name: value for name, value in call.attributes.items() if f"{name}#" in words or f"{name}[]" in words}
    return AtenCall(
        call.name,
        f"aten.{function}",
        overload or "default",
        _Arguments(known, frozenset(unknown)),
        call.outputs,
        (),
        types,
    )


def _embedding_backward(call: AtenCall, dtype: str) -> Sequence[Step]:
    """The rows of the result's derivative, added up in a table of zeros at the rows that were looked up."""
    rows, grad = call.integer("num_weights"), call.types.get(call.operand("grad"))
    places, table = call.inner("places"), call.inner("table")
    shape = UNKNOWN if grad is None or not grad.shape else (rows, grad.shape[-1])
    updates = [("x", table), ("indices", places), ("updates", call.operand("grad"))]
    return (
        Step("constant_of_shape", (), {"shape": shape, "dtype": dtype}, [table]),
        Step("unsqueeze", [("x", call.operand("indices"))], {"axes": (-1,)}, [places]),
        Step("scatter_nd", updates, {"reduction": "add"}, call.outputs),
    )


def _aten(call: Foreign) -> Sequence[Step]:
    # Loaded where a file has such a node: PyTorch's table is as large as ONNX's.
    from weighbridge.frontends.aten_table import rule_of

    function, overload = call.get("operator", ""), call.get("overload_name", "")
    if not isinstance(function, str) or not isinstance(overload, str):
        raise GraphError("it names no function of PyTorch", where=call.name)
    function = function.removeprefix("aten::")
    name = f"{function}.{overload}" if overload else function
    schema = SCHEMAS.get(name)
    if schema is None:
        return set_aside(call, f"there is no rule for aten.{name}")
    try:
        made = _as_call(call, function, overload, schema)
        if function == "embedding_backward":
            return _embedding_backward(made, call.services.dtype_name(made.operand("grad")))
        rule = rule_of(made.op, made.overload)
        assert rule is not None, name
        return translate(made, rule) or (Step("identity", [("x", call.operand(0))], {}, call.outputs),)
    except GraphError as error:
        return set_aside(call, f"aten.{name}: {error.what}")
    except (ArithmeticError, IndexError, TypeError, ValueError):
        # PyTorch's table is written for calls that PyTorch has made; a file may hold any.
        return set_aside(call, f"aten.{name}: its arguments are none that the function takes")


ATEN_RULES: Final[dict[str, Rule]] = {"ATen": _aten}
