"""The shared ONNX files: sizes for what they leave open, and which of them are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from weighbridge import weigh
from weighbridge.report import Report


class Sizes(NamedTuple):
    """Sizes of named dimensions, and whole shapes of inputs whose dimensions have no names."""

    dims: Mapping[str, int] = {}
    inputs: Mapping[str, tuple[int, ...]] = {}


OPEN: dict[str, Sizes] = {
    "external_data/test_evil_weights/test_evil_weights.onnx": Sizes({}, {"input": (1, 8)}),
    "op_cover/VariedInputCustomOp.onnx": Sizes({}, {"X": (1,), "Y": (1,)}),
    "op_cover/bias_onnx_gelu_fusion.onnx": Sizes({"batch": 1, "seqlen": 8}),
    "op_cover/bitmask_bias_dropout_fusion_basic.onnx": Sizes({"M": 1, "N": 8}),
    "op_cover/cpu_if.onnx": Sizes({}, {"X": (1, 8, 8)}),
    "op_cover/cuda_graph_with_shape_nodes.onnx": Sizes({"a": 1, "b": 8}),
    "op_cover/custom_op_string_lower.onnx": Sizes({}, {"input_1": (1, 8)}),
    "op_cover/custom_op_variadic_io.onnx": Sizes({}, {"input_0": (1,), "input_1": (1,), "input_2": (1,)}),
    "op_cover/dmmha_cross_attn.onnx": Sizes(
        {"batch_size": 1, "sequence_length": 8, "num_beams": 8, "max_sequence_length": 8}
    ),
    "op_cover/exceptional_custom_op1.onnx": Sizes({"n": 1}),
    "op_cover/isinf_reducesum.onnx": Sizes({"M": 1, "K": 8}),
    "op_cover/matmulnbits_add.onnx": Sizes({"M": 1}),
    "op_cover/nhwcConv_fp16.onnx": Sizes({"n": 1, "h": 8, "w": 8, "cin": 8, "cout": 8}),
    "op_cover/packed_attention_fp16.onnx": Sizes(
        {
            "token_count": 8,
            "hidden_size": 768,
            "hidden_size_x_3": 2304,
            "batch_size": 1,
            "seq_len": 8,
            "batch_size_plus_1": 2,
        }
    ),
    "op_cover/recompute_gelu.onnx": Sizes({"input1_dim0": 1, "input1_dim1": 784}),
    "op_cover/test_RNN.bidirectional.one_layer.relu__model.onnx": Sizes({"None": 5}),
    "op_cover/test_bert_tokenizer_decoder_without_indices.onnx": Sizes({}, {"ids": (1,), "position": (1, 8)}),
    "op_cover/test_masked_fill.onnx": Sizes({}, {"value": (1,), "mask": (1,)}),
    "ort_odd/3layer_bloom_optimized_training.onnx": Sizes(
        {
            "inputs_input_ids_dim0": 1,
            "inputs_attention_mask_dim1": 8,
            "inputs_attention_mask_dim0": 1,
            "inputs_labels_dim0": 1,
            "inputs_labels_dim1": 8,
        }
    ),
    "ort_odd/attention_past_state.u8s8.onnx": Sizes({"batch": 1, "seq_len": 8, "C": 1, "past_sequence_length": 8}),
    "ort_odd/bart_mlp_megatron_basic_test.onnx": Sizes({"batch": 1, "seqlen": 8}),
    "ort_odd/bert_toy_optimized.onnx": Sizes({"batch": 1, "max_seq_len_in_batch": 8}),
    "ort_odd/dummy_t5_with_outer_scope_initializers.onnx": Sizes({"batch_size": 1, "encode_sequence_length": 8}),
    "ort_odd/dummy_whisper_with_sequence_input_ids.onnx": Sizes(
        {"batch_size": 1, "encode_sequence_length": 8, "initial_decode_sequence_length": 8}
    ),
    "ort_odd/dynamic_quantize_matmul_int8_bias.onnx": Sizes({"M": 4, "K": 8, "N": 8, "C": 1}),
    "ort_odd/fp16model_loop.onnx": Sizes({}, {"data": (4, 8)}),
    "ort_odd/gather_roberta_e2e.onnx": Sizes({"batch_size": 1, "sequence_length": 8}),
    "ort_odd/gh_issue_29071_if_constant_folding.onnx": Sizes({"unk__14": 1, "unk__17": 1}),
    "ort_odd/gpt2_attention_no_past_opt.onnx": Sizes({"batch_size": 1, "sequence_length": 8}),
    "ort_odd/icm-31000000518082.onnx": Sizes({"Symbolic": 8}, {"X1": (8, 8)}),
    "ort_odd/matmul_dynamic.onnx": Sizes({"batch": 1}),
    "ort_odd/matmul_scale_double.onnx": Sizes({"M": 8, "K": 8, "N": 8}),
    "ort_odd/qdq_minimal_model.onnx": Sizes({"batch": 1, "height": 8, "width": 8}),
    "ort_odd/scan_1.onnx": Sizes({"Sequence": 5}),
    "ort_odd/sklearn_bin_voting_classifier_soft.onnx": Sizes({}, {"input": (1, 2)}),
    "ort_odd/tiny_gpt2_beamsearch_fp16.onnx": Sizes({"batch_size": 1, "sequence_length": 8}),
    "ort_odd/tiny_gpt2_sampling.onnx": Sizes({"batch_size": 1, "sequence_length": 8}),
    "ort_odd/training_model.onnx": Sizes({"input-0_dim0": 1, "input-0_dim1": 784, "output-0_dim0": 1}),
    "real_models/Regression.onnx": Sizes({"batch_size": 1}),
    "real_models/lgbm_classifier_tensor__model.onnx": Sizes({"batch": 1}),
    "real_models/openai_whisper_transcriptions.onnx": Sizes({"bytes": 1}),
    "real_models/qtdnn_10x5_101_i32_biases__model.onnx": Sizes({}, {"input": (12, 10)}),
    "real_models/xgboost_classifier_tree__model.onnx": Sizes({}, {"input": (1, 13)}),
}
"""Batch 1 and 8 for the rest, or what the file's weights ask for."""

REFUSED: dict[str, str] = {
    "external_data/test_arbitrary_external_file/test_arbitrary_external_file.onnx": (
        "a planted trap: its weights are said to be in /etc/passwd"
    ),
    "ort_odd/icm-31000000518082.onnx": "damaged by a fuzzer: one of its tensors has the element type -100",
}


def onnx_files(shared: Path) -> dict[str, Path]:
    """All shared ONNX models by their name below the folder."""
    root = shared / "data" / "onnx"
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.onnx"))}


def report_of(name: str, path: Path) -> Report:
    """A shared file weighed, its open dimensions given."""
    sizes = OPEN.get(name, Sizes())
    return weigh(path, dims=sizes.dims, inputs=sizes.inputs)
