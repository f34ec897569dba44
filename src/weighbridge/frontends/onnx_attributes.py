"""Attributes of ONNX nodes as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weighbridge.errors import BadModel

__all__ = ["KINDS", "Attributes", "attributes_of", "check_kinds", "kind_of"]

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = range(1, 9)
_FIELDS = ("f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor")
"""The field that holds the value, by AttributeProto.AttributeType less one."""
_SCALARS = frozenset({_FLOAT, _INT, _STRING, _FLOATS, _INTS, _STRINGS})
_REPEATED = frozenset({_FLOATS, _INTS})
_BY_PRESENCE = ("ints", "floats", "strings", "tensors", "graphs")

_NAMES = {
    "a whole number": "align_corners allowzero antialias axis batch_axis batch_dims block_size blocksize broadcast"
    " ceil_mode center_point_box chunk_size count_include_pad detect_negative detect_positive dtype end"
    " exclude_outside exclusive fmod group hidden_size ignore_index input_forget interleaved inverse"
    " is_case_sensitive is_causal is_test k keepdims kv_num_heads largest layout left_window_size"
    " linear_before_reset max_gram_length max_skip_count maxsplit min_gram_length new_axis noop_with_empty_axes"
    " num_groups num_heads num_outputs num_scan_inputs offset_group onesided output_datatype output_dtype"
    " output_height output_sequence output_width periodic precision q_num_heads qk_matmul_output_mode reverse"
    " right_window_size rotary_embedding_dim sample_size sampling_ratio saturate select_last_index size"
    " softmax_precision sorted spatial start stash_type storage_order time_axis to training_mode transA transB upper"
    " value_int",
    "a number": "alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma height_scale high lambd low"
    " max mean min momentum p ratio scale seed softcap spatial_scale value_float width_scale",
    "text": "activation approximate auto_pad case_change_action coordinate_transformation_mode delimiter direction"
    " equation keep_aspect_ratio_policy locale mode nearest_mode padding_mode pattern pixel_format reduction"
    " round_mode update_rule value_string",
    "whole numbers": "axes consumed_inputs dilations directions ends kernel_shape ngram_counts ngram_indexes"
    " output_padding output_shape paddings pads perm pool_int64s pooled_shape scan_input_axes"
    " scan_input_directions scan_output_axes scan_output_directions shape split starts strides value_ints",
    "numbers": "activation_alpha activation_beta scales value_floats weights",
    "texts": "activations pool_strings stopwords value_strings",
    "a graph": "body else_branch then_branch",
    "a sparse tensor": "sparse_value",
}
"""What the attributes of ONNX's default domain are called, by kind."""

_MICROSOFT_NAMES = {
    "a whole number": "K N activation_axis bits causal channels_last dim do_rotary expert_weight_bits"
    " fc1_expert_weight_bits fc2_expert_weight_bits fc3_expert_weight_bits gather_axis groups kv_cache_bit_width ngram_size"
    " normalize_routing_weights opset output_type past_present_share_buffer quantize_axis rotary_interleaved signal_ndim"
    " sliding_window_cache smooth_softmax step swiglu_fusion transBatchA transBatchB unidirectional weight_prepacked",
    "a number": "activation_gamma qk_norm_epsilon swiglu_limit",
    "text": "activation_type metric quant_type source",
    "whole numbers": "full_shape_outputs non_differentiable_outputs qkv_hidden_sizes",
    "numbers": "activation_params",
    "a graph": "decoder encoder init_decoder",
}
"""What the rules of ONNX Runtime's own domain read beside these."""

KINDS: Mapping[str, str] = {
    name: kind for table in (_NAMES, _MICROSOFT_NAMES) for kind, names in table.items() for name in names.split()
}
"""What an attribute of this name is, in every operator of ONNX's default domain from version 6 on and of ONNX Runtime's.

``value`` is not here: a tensor in Constant and ConstantOfShape, a number in Pad.
"""

_OTHERWISE: Mapping[tuple[str, str], str] = {
    **{(operator, "activation"): "a whole number" for operator in ("GroupNorm", "SkipGroupNorm")},
    **{
        (operator, f"activation_{name}"): "a number"
        for operator in ("FusedGemm", "FusedMatMulActivation", "MoE", "QMoE")
        for name in ("alpha", "beta")
    },
    ("MatMulBnb4", "quant_type"): "a whole number",
}
"""Where ONNX Runtime's operators disagree: another kind by operator and name."""
_SHOWN = {
    "TensorProto": "a tensor",
    "SparseTensorProto": "a sparse tensor",
    "GraphProto": "a graph",
    "TypeProto": "a type",
}


class Attributes:
    """Reads the attributes of nodes; those that are the same in the file are read and checked once, and are one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def of(self, operator: str, protos: Iterable[Any], given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Attributes of an operator of ONNX's default domain or ONNX Runtime's, as ``attributes_of`` has them.

        Raises ``BadModel`` for one of another kind than its name says.
        """
        if given is not None:
            return self._read(operator, protos, given)
        key: list[Any] = [operator]
        for proto in protos:
            if proto.type not in _SCALARS:  # a tensor or graph is an object of its own wherever it stands
                return self._read(operator, protos, None)
            key.append(proto.SerializePartialToString())
        found = self._known.get(tuple(key))
        if found is None:
            found = self._known[tuple(key)] = self._read(operator, protos, None)
        return found

    def _read(self, operator: str, protos: Iterable[Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
        attributes = attributes_of(protos, given)
        check_kinds(operator, attributes)
        return attributes


def kind_of(operator: str, name: str) -> str | None:
    """What an attribute of an operator of ONNX's default domain or ONNX Runtime's holds; None where that is not known."""
    return _OTHERWISE.get((operator, name)) or KINDS.get(name)


def check_kinds(operator: str, attributes: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> None:
    """Raises ``BadModel`` for an attribute that holds something else than its name says, in these domains or in another."""
    for name, value in attributes.items():
        wanted, found = kind_of(operator, name) if kinds is KINDS else kinds.get(name), _kind(value)
        if name == "value":
            wanted = "a tensor" if operator.startswith("Constant") else "a number"
        if wanted is None or wanted == found or (wanted, found) in _ALSO:
            continue
        if found != "empty" or not wanted.endswith("s"):
            hint = "the file is damaged: export it again"
            raise BadModel(f"the attribute {name!r} of {operator} is {found}, not {wanted}", hint=hint)


_ALSO = frozenset({("a number", "a whole number"), ("numbers", "whole numbers")})


def _kind(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{_kind(value[0]).removeprefix('a ')}s" if value else "empty"
    if isinstance(value, str):
        return "text"
    if isinstance(value, float):
        return "a number"
    return "a whole number" if isinstance(value, int) else _SHOWN.get(type(value).__name__, "of another type")


def attributes_of(protos: Iterable[Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Values by name: numbers, text, tuples of them; tensors, graphs and types stay messages.

    ``given`` are the attributes that the caller of a function passed: one that refers to them by ``ref_attr_name`` takes
    the value from there, and is left out where the caller left it out.
    """
    attributes: dict[str, Any] = {}
    for proto in protos:
        if given is not None and proto.ref_attr_name:
            if proto.ref_attr_name in given:
                attributes[proto.name] = given[proto.ref_attr_name]
            continue
        attributes[proto.name] = _value(proto)
    return attributes


def _value(proto: Any) -> Any:
    kind = proto.type
    if kind == 0:
        return _untyped(proto)
    if kind == _STRING:
        return _text(proto.s)
    if kind in _REPEATED:
        return tuple(proto.ints if kind == _INTS else proto.floats)
    if kind == _STRINGS:
        return tuple(map(_text, proto.strings))
    if kind <= len(_FIELDS):
        return getattr(proto, _FIELDS[kind - 1])
    return proto


def _untyped(proto: Any) -> Any:
    """Files of IR version 1 do not say which field they use."""
    for name in ("f", "i", "s", "t", "g"):
        if proto.HasField(name):
            value = getattr(proto, name)
            return _text(value) if name == "s" else value
    for name in _BY_PRESENCE:
        values = getattr(proto, name)
        if values:
            return tuple(map(_text, values)) if name == "strings" else tuple(values)
    raise BadModel(f"the attribute {proto.name!r} has no value")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
