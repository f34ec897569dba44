"""Where PyTorch takes another way on a processor than on tensors without values, and what it allocates there.

The rules are those of version 2.14, read off what its operators do on the CPU, under ``no_grad`` where autograd would take
another way; the tests hold them against ``MemTracker``, which sees the calls of a real run.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn
from torch.nn.functional import _canonical_mask, _none_or_dtype

from weighbridge.frontends.torch_recurrent import RECURRENT
from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:
    from weighbridge.frontends.torch_storage import Storages

__all__ = ["AUXILIARY", "KERNELS", "mark_fast_paths"]

_aten = torch.ops.aten
_SUM, _MAX = 0, 2  # the modes of an embedding bag
_FLOATS: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def _given(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, defaults filled in."""
    found = {}
    for place, argument in enumerate(func._schema.arguments):  # noqa: SLF001 - PyTorch gives no other way to a schema
        if place < len(args):
            found[argument.name] = args[place]
        else:
            found[argument.name] = kwargs.get(
                argument.name, argument.default_value if argument.has_default_value() else None
            )
    return found


def _attention(storages: Storages, mode: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Attention with its scores in blocks, which gives the result and a float32 a query: without dropout, for heads of one size."""
    call = _given(_aten.scaled_dot_product_attention.default, args, kwargs)
    query, key, value, mask = call["query"], call["key"], call["value"], call["attn_mask"]
    if query.dim() == 3:
        with mode:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            given = {name: one for name, one in call.items() if name not in ("query", "key", "value")}
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, **given).squeeze(0)
    if not _is_flash(query, key, value, mask, call["dropout_p"]):
        return NotImplemented
    if mask is not None and mask.dtype is torch.bool:
        with mode:  # the mask as numbers to add
            mask = _additive(mask, query)
    batch, heads, length, _ = query.shape
    result = query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)
    exact = torch.float64 if query.dtype is torch.float64 else torch.float32
    storages.note((result, query.new_empty((batch, heads, length), dtype=exact)))
    return result


def _additive(mask: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    zero = torch.scalar_tensor(0.0, dtype=query.dtype, device=query.device)
    return torch.where(mask, zero, torch.scalar_tensor(-math.inf, dtype=query.dtype, device=query.device))


def _is_flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, dropout: float) -> bool:
    tensors = (query, key, value)
    return (
        dropout == 0
        and query.dtype in _FLOATS
        and all(tensor.dim() == 4 and tensor.dtype is query.dtype and tensor.numel() for tensor in tensors)
        and query.shape[0] == key.shape[0] == value.shape[0]
        and query.shape[3] == key.shape[3] == value.shape[3]
        and all(tensor.stride(3) == 1 for tensor in tensors)
        and key.shape[1] == value.shape[1]
        and query.shape[1] % key.shape[1] == 0
        and (mask is None or mask.dim() in (2, 4))
    )


def _grouped_products(storages: Storages, mode: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Products of groups of rows (experts): without values PyTorch allows them for two element types alone."""
    given = _given(_aten._grouped_mm.default, args, kwargs)  # noqa: SLF001 - as the operator is called
    dtype = given["self"].dtype
    if dtype not in (torch.float32, torch.float64):
        return NotImplemented
    tensors = {key: one.to(torch.bfloat16) if key in ("self", "mat2") else one for key, one in given.items()}
    return _aten._grouped_mm.default(**tensors).to(given["out_dtype"] or dtype)  # noqa: SLF001


KERNELS: Final[Mapping[Any, Callable[..., Any]]] = {
    _aten.scaled_dot_product_attention.default: _attention,
    _aten._grouped_mm.default: _grouped_products,  # noqa: SLF001
    **RECURRENT,
}
"""Operators that have another way on a processor, with what they do there; one that does not is NotImplemented."""


def _batch_norm(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[int | None, ...] | None:
    """Without training no statistics are saved."""
    is_training = _given(_aten.native_batch_norm.default, args, kwargs)["training"]
    return None if is_training else (None, 0, 0)


def _embedding_bag(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[int | None, ...]:
    """The bag of each index (not for plain sums), the length of each bag, and where each maximum was (else one number a bag)."""
    call = _given(_aten._embedding_bag.default, args, kwargs)  # noqa: SLF001
    one, bags = call["indices"].element_size(), result[0].shape[0]
    is_plain = call["mode"] == _SUM and call["padding_idx"] < 0
    maxima = result[0].numel() if call["mode"] == _MAX else bags
    return None, 0 if is_plain else (call["indices"].numel() + 1) * one, call["offsets"].numel() * one, maxima * one


def _recurrent_layer(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> tuple[int | None, ...] | None:
    """What a layer of oneDNN keeps for its backward pass, in pages of 4096 B: fitted to what version 3.12 asks for.

    These are the gates, three times the states that go in (one layer's and the one before it), twice the cells, and the
    states that come out.  Rows of all but the cells start at a multiple of 64 B, and not at one of 1024.
    """
    call = _given(_aten.mkldnn_rnn_layer.default, args, kwargs)
    if not call["train"]:
        return None
    steps, batch, width = map(int, call["input"].shape)
    hidden, one = int(call["hidden_size"]), int(call["input"].element_size())

    def row(elements: int) -> int:
        padded = math.ceil(elements * one / 64) * 64
        return padded + 64 if padded % 1024 == 0 else padded

    states = 2 * (steps + 1) * batch * row(max(width, hidden))
    cells = 2 * (steps + 1) * batch * hidden * one
    parts = (steps * batch * row(4 * hidden), states, states, states, cells, cells, steps * batch * row(hidden))
    return None, None, None, sum(math.ceil(part / 4096) * 4096 for part in parts)


AUXILIARY: Final[Mapping[Any, Callable[..., tuple[int | None, ...] | None]]] = {
    _aten.native_batch_norm.default: _batch_norm,
    _aten._embedding_bag.default: _embedding_bag,  # noqa: SLF001
    _aten._embedding_bag_forward_only.default: _embedding_bag,  # noqa: SLF001
    _aten.mkldnn_rnn_layer.default: _recurrent_layer,
}
"""Operators whose results have other sizes on a processor: their bytes, None where they are what they are anywhere."""


def mark_fast_paths(model: nn.Module, storages: Storages) -> None:
    """Make modules that PyTorch runs as one kernel in eval mode tell when they do.  ``model`` is a copy of the user's."""
    for module in model.modules():
        if type(module) is nn.MultiheadAttention:
            _mark(module, storages, _fast_attention)
        elif type(module) is nn.TransformerEncoderLayer:
            _mark(module, storages, _fast_layer)
        elif type(module) is nn.TransformerEncoder:
            _mark(module, storages, partial(_fast_encoder, storages))


class _Masks(NamedTuple):
    """What goes into a kernel beside its operand: the module that merges the masks, and the masks."""

    module: Any
    query: torch.Tensor
    attention: torch.Tensor | None
    padding: torch.Tensor | None

    def merged(self) -> Any:
        """The masks as the modules bring them into the form that the kernel takes: numbers to add, in one tensor."""
        dtype = self.query.dtype
        other = _none_or_dtype(self.attention)
        padding = _canonical_mask(self.padding, "", other, "", dtype)
        attention = _canonical_mask(self.attention, "", None, "", dtype, False)
        return padding, attention, self.module.merge_masks(attention, padding, self.query)


def _mark(module: nn.Module, storages: Storages, fast: Callable[..., _Masks | None]) -> None:
    forward = module.forward
    signature = inspect.signature(forward)

    def marked(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        masks = fast(module, call.arguments)
        del call
        if masks is None:
            return forward(*args, **kwargs)
        with storages.unrecorded():
            _held = masks.merged()
        with storages.one_kernel():
            return forward(*args, **kwargs)

    module.__dict__["forward"] = marked


def _fast_attention(module: Any, call: Mapping[str, Any]) -> _Masks | None:
    """The conditions that ``torch.nn.MultiheadAttention`` states."""
    query, attention, padding = call["query"], call["attn_mask"], call["key_padding_mask"]
    is_fast = (
        query is call["key"]
        and query is call["value"]
        and query.dim() == 3
        and module.bias_k is None
        and not module.add_zero_attn
        and not any(mask is not None and mask.is_floating_point() for mask in (attention, padding))
        and _is_fast(module, query)
    )
    return _Masks(module, query, attention, padding) if is_fast else None


def _fast_layer(module: Any, call: Mapping[str, Any]) -> _Masks | None:
    """The conditions that ``torch.nn.TransformerEncoderLayer`` states."""
    query = call["src"]
    is_fast = (
        query.dim() == 3
        and not module.training
        and bool(module.activation_relu_or_gelu)
        and module.norm1.eps == module.norm2.eps
        and not any(one._forward_hooks or one._forward_pre_hooks for one in module.modules())  # noqa: SLF001
        and _is_fast(module.self_attn, query)
    )
    return _Masks(module.self_attn, query, call["src_mask"], call["src_key_padding_mask"]) if is_fast else None


def _fast_encoder(storages: Storages, module: Any, call: Mapping[str, Any]) -> None:
    """An encoder that is told of padding packs its sequences, whose lengths are values."""
    is_packed = call["src_key_padding_mask"] is not None and not module.training and module.use_nested_tensor
    if is_packed and not module.layers[0].training and call["src"].dim() == 3:
        storages.unknown.append("how much padding nn.TransformerEncoder leaves out")


def _is_fast(module: Any, query: torch.Tensor) -> bool:
    return (
        not module.training
        and module.batch_first
        and module.in_proj_weight is not None
        and module.in_proj_bias is not None
        and query.dtype is module.in_proj_weight.dtype
        and module.num_heads % 2 == 0
        and not torch.is_autocast_enabled()
    )
