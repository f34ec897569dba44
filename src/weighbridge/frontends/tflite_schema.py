"""The schema of TensorFlow Lite models, as far as it is read here: names of operators and the fields of their options.

Numbers and field orders are those of tensorflow/compiler/mlir/lite/schema/schema.fbs (Apache-2.0), version 3.  A field is
``name:kind`` or ``name:kind=default``, in the order of the schema; ``-`` is one that is no longer used, ``[`` a vector, ``s``
text, other kinds are the letters of the module ``struct``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from weighbridge.frontends.flatbuffer import Table

__all__ = ["BUILTIN_OPERATORS", "ELEMENT_TYPES", "options_of"]

ELEMENT_TYPES: Final = (
    "float32",
    "float16",
    "int32",
    "uint8",
    "int64",
    "string",
    "bool",
    "int16",
    "complex64",
    "int8",
    "float64",
    "complex128",
    "uint64",
    "opaque",  # RESOURCE: a handle, of no size
    "opaque",  # VARIANT
    "uint32",
    "uint16",
    "int4",
    "bfloat16",
    "int2",
    "uint4",
    "float8_e4m3fn",
    "float8_e5m2",
)
"""Our names of element types, by their number in the schema."""

_NAMES: Final = (
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP "
    "FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC "
    "LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX "
    "SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD "
    "UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE "
    "UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX "
    "DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER "
    "GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL "
    "LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT "
    "LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE "
    "RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N "
    "GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF "
    "WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL "
    "PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS "
    "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE "
    "READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL "
    "GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM "
    "ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD "
    "STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP "
    "STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE "
    "STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL "
    "STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER "
    "STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER "
    "STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD "
    "STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE "
    "STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE "
    "STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE"
)
BUILTIN_OPERATORS: Final = tuple(_NAMES.split())
"""Names of the builtin operators, by their number in the schema."""

_OPTIONS: Final[Mapping[int, str]] = {
    1: (  # Conv2DOptions
        "padding:b stride_w:i stride_h:i fused_activation_function:b dilation_w_factor:i=1 "
        "dilation_h_factor:i=1 quantized_bias_type:b"
    ),
    2: (  # DepthwiseConv2DOptions
        "padding:b stride_w:i stride_h:i depth_multiplier:i fused_activation_function:b dilation_w_factor:i=1 "
        "dilation_h_factor:i=1"
    ),
    3: "num_channels:i num_columns_per_channel:[i embedding_dim_per_channel:[i",  # ConcatEmbeddingsOptions
    4: "type:b",  # LSHProjectionOptions
    5: "padding:b stride_w:i stride_h:i filter_width:i filter_height:i fused_activation_function:b",  # Pool2DOptions
    6: "rank:i fused_activation_function:b asymmetric_quantize_inputs:?",  # SVDFOptions
    7: "fused_activation_function:b asymmetric_quantize_inputs:?",  # RNNOptions
    8: (  # FullyConnectedOptions
        "fused_activation_function:b weights_format:b keep_num_dims:? asymmetric_quantize_inputs:? "
        "quantized_bias_type:b"
    ),
    9: "beta:f",  # SoftmaxOptions
    10: "axis:i fused_activation_function:b",  # ConcatenationOptions
    11: "fused_activation_function:b pot_scale_int16:?=True",  # AddOptions
    12: "fused_activation_function:b",  # L2NormOptions
    13: "radius:i bias:f alpha:f beta:f",  # LocalResponseNormalizationOptions
    14: "fused_activation_function:b cell_clip:f proj_clip:f kernel_type:b asymmetric_quantize_inputs:?",  # LSTMOptions
    15: "- - align_corners:? half_pixel_centers:?",  # ResizeBilinearOptions
    16: "subgraph:I",  # CallOptions
    17: "new_shape:[i",  # ReshapeOptions
    18: "ngram_size:i max_skip_size:i include_all_ngrams:?",  # SkipGramOptions
    19: "block_size:i",  # SpaceToDepthOptions
    20: "combiner:b",  # EmbeddingLookupSparseOptions
    21: "fused_activation_function:b",  # MulOptions
    23: "axis:i batch_dims:i",  # GatherOptions
    27: "keep_dims:?",  # ReducerOptions
    28: "fused_activation_function:b pot_scale_int16:?=True",  # SubOptions
    29: "fused_activation_function:b",  # DivOptions
    30: "squeeze_dims:[i",  # SqueezeOptions
    31: "time_major:? fused_activation_function:b asymmetric_quantize_inputs:?",  # SequenceRNNOptions
    32: "begin_mask:i end_mask:i ellipsis_mask:i new_axis_mask:i shrink_axis_mask:i offset:?",  # StridedSliceOptions
    35: "num_splits:i",  # SplitOptions
    37: "in_data_type:b out_data_type:b",  # CastOptions
    40: "output_type:b",  # ArgMaxOptions
    49: "padding:b stride_w:i stride_h:i fused_activation_function:b quantized_bias_type:b",  # TransposeConvOptions
    50: "validate_indices:?",  # SparseToDenseOptions
    55: "out_type:b",  # ShapeOptions
    57: "output_type:b",  # ArgMinOptions
    58: "min:f max:f num_bits:i narrow_range:?",  # FakeQuantOptions
    59: "values_count:i axis:i",  # PackOptions
    61: "axis:i",  # OneHotOptions
    64: "num:i axis:i",  # UnpackOptions
    69: (  # BidirectionalSequenceLSTMOptions
        "fused_activation_function:b cell_clip:f proj_clip:f merge_outputs:? time_major:?=True "
        "asymmetric_quantize_inputs:?"
    ),
    70: (  # BidirectionalSequenceRNNOptions
        "time_major:? fused_activation_function:b merge_outputs:? asymmetric_quantize_inputs:?"
    ),
    71: (  # UnidirectionalSequenceLSTMOptions
        "fused_activation_function:b cell_clip:f proj_clip:f time_major:? asymmetric_quantize_inputs:? "
        "diagonal_recurrent_tensors:?"
    ),
    74: "align_corners:? half_pixel_centers:?",  # ResizeNearestNeighborOptions
    75: "alpha:f",  # LeakyReluOptions
    77: "mode:b",  # MirrorPadOptions
    79: "num_splits:i",  # SplitVOptions
    80: "idx_out_type:b=2",  # UniqueOptions
    87: "seq_dim:i batch_dim:i",  # ReverseSequenceOptions
    92: "then_subgraph_index:i else_subgraph_index:i",  # IfOptions
    93: "cond_subgraph_index:i body_subgraph_index:i",  # WhileOptions
    94: "block_size:i",  # DepthToSpaceOptions
    101: "adj_x:? adj_y:? asymmetric_quantize_inputs:?",  # BatchMatMulOptions
    102: "exclusive:? reverse:?",  # CumsumOptions
    103: "init_subgraph_index:i",  # CallOnceOptions
    106: (  # Conv3DOptions
        "padding:b stride_d:i stride_w:i stride_h:i fused_activation_function:b dilation_d_factor:i=1 "
        "dilation_w_factor:i=1 dilation_h_factor:i=1"
    ),
    107: "table_id:i key_dtype:b value_dtype:b",  # HashtableOptions
    111: "container:s shared_name:s",  # VarHandleOptions
    114: "seed:q seed2:q",  # RandomOptions
    115: "boundaries:[f",  # BucketizeOptions
    116: "approximate:?",  # GeluOptions
}
_OPTIONS_2: Final[Mapping[int, str]] = {
    1: "dimension:q",  # StablehloConcatenateOptions
    2: "broadcast_dimensions:[q",  # StablehloBroadcastInDimOptions
    3: "start_indices:[q limit_indices:[q strides:[q",  # StablehloSliceOptions
    4: (  # StablehloConvolutionOptions
        "window_strides:[q padding:[q lhs_dilation:[q rhs_dilation:[q window_reversal:[? "
        "input_batch_dimension:q input_feature_dimension:q input_spatial_dimensions:[q "
        "kernel_input_feature_dimension:q kernel_output_feature_dimension:q kernel_spatial_dimensions:[q "
        "output_batch_dimension:q output_feature_dimension:q output_spatial_dimensions:[q "
        "feature_group_count:q batch_group_count:q precision_config:[I"
    ),
    5: (  # StablehloCustomCallOptions
        "call_target_name:s has_side_effect:? backend_config:s api_version:i called_computations:[i "
        "custom_attributes:[B"
    ),
    6: "dimensions:[q body_subgraph_index:i",  # StablehloReduceOptions
    7: (  # StablehloScatterOptions
        "indices_are_sorted:? update_window_dims:[q inserted_window_dims:[q scatter_dims_to_operand_dims:[q "
        "index_vector_dim:q unique_indices:? update_computation_subgraph_index:i"
    ),
    8: "comparison_direction:I compare_type:I",  # StablehloCompareOptions
    9: "slice_sizes:[q",  # StablehloDynamicSliceOptions
    10: "edge_padding_low:[q edge_padding_high:[q interior_padding:[q",  # StablehloPadOptions
    11: "iota_dimension:q",  # StablehloIotaOptions
    12: (  # StablehloDotGeneralOptions
        "lhs_batching_dimensions:[q rhs_batching_dimensions:[q lhs_contracting_dimensions:[q "
        "rhs_contracting_dimensions:[q precision_config:[I"
    ),
    13: (  # StablehloReduceWindowOptions
        "window_dimensions:[q window_strides:[q base_dilations:[q window_dilations:[q padding:[q body_subgraph_index:i"
    ),
    14: "dimension:q is_stable:? comparator_subgraph_index:i",  # StablehloSortOptions
    15: "cond_subgraph_index:i body_subgraph_index:i",  # StablehloWhileOptions
    16: (  # StablehloGatherOptions
        "offset_dims:[q collapsed_slice_dims:[q start_index_map:[q index_vector_dim:q slice_sizes:[q "
        "indices_are_sorted:?"
    ),
    17: "permutation:[q",  # StablehloTransposeOptions
    19: "algorithm:b",  # StablehloRngBitGeneratorOptions
    20: "reduce_function:i",  # ReduceWindowOptions
    21: (  # StableHLOCompositeOptions
        "name:s decomposition_subgraph_index:i composite_attributes:[B composite_attributes_format:b version:i"
    ),
    23: "branch_subgraph_indices:[i",  # StablehloCaseOptions
}


def options_of(first: tuple[int, Table | None], second: tuple[int, Table | None]) -> Mapping[str, Any]:
    """The options of an operator by name, from its two unions, as (type, table); defaults are filled in."""
    fields: dict[str, Any] = {}
    for union, (number, table) in enumerate((first, second), 1):
        fields |= _defaults(union, number) if table is None else _read(union, number, table)
    return fields


def _read(union: int, number: int, table: Table) -> Mapping[str, Any]:
    return {name: _value(table, place, kind, default) for place, name, kind, default in _fields(union, number)}


def _value(table: Table, place: int, kind: str, default: Any) -> Any:
    if kind == "s":
        return table.text(place)
    if kind[0] == "[":
        return table.numbers(place, kind[1])
    return table.number(place, kind, default)


@cache
def _defaults(union: int, number: int) -> Mapping[str, Any]:
    return {name: default for _, name, _, default in _fields(union, number)}


@cache
def _fields(union: int, number: int) -> tuple[tuple[int, str, str, Any], ...]:
    """(place, name, kind, default) of the fields of an options type."""
    words = (_OPTIONS if union == 1 else _OPTIONS_2).get(number, "").split()
    found = []
    for place, word in enumerate(words):
        if word != "-":
            name, _, rest = word.partition(":")
            kind, _, default = rest.partition("=")
            found.append((place, name, kind, _default(kind, default)))
    return tuple(found)


def _default(kind: str, written: str) -> Any:
    if kind[0] == "[":
        return None
    if kind == "s":
        return ""
    if kind == "?":
        return written == "True"
    return float(written or 0) if kind in "fd" else int(written or 0)
