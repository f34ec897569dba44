"""Every shared TensorFlow Lite file is weighed or refused for a reason, and the page on them says what each operator is."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import generate_tflite
from tests.tflite.files import tflite_files
from weighbridge import load, weigh
from weighbridge.errors import BadModel, WeighbridgeError
from weighbridge.frontends.foreign import As
from weighbridge.frontends.tflite_table import RULES
from weighbridge.graph import CONTROL, UNKNOWN, Graph
from weighbridge.operators.table import OPERATORS

BOUNDS = {
    "litert/MTKEXT_CONV_2D.tflite": "CUSTOM.MTKEXT_CONV_2D",
    "litert/custom_sinh.bin": "CUSTOM.Sinh",
    "litert/dynamic_shapes.bin": "BATCH_MATMUL",
    "litert/shared_input_cpu_npu_google_tensor_precompiled.tflite": "CUSTOM.DISPATCH_OP",
    "litert/simple_add_op_google_tensor_p25_precompiled.tflite": "CUSTOM.DISPATCH_OP",
    "litert/simple_add_op_qc_v75_precompiled.tflite": "CUSTOM.DISPATCH_OP",
    "litert/simple_model_npu_mediatek_mt6989_precompiled.tflite": "CUSTOM.DISPATCH_OP",
    "litert/sparse_tensor.bin": "CUSTOM.FakeOp",
    "litert/string_input_flex_model.bin": "CUSTOM.FlexStringToHashBucketFast",
    "litert/svdf_calibrated.bin": "SVDF",
    "litert/test_custom_node_with_init_data.bin": "CUSTOM.the_custom_code",
    "litert/test_model_versioned_ops.bin": "CONV_2D CUSTOM.testing_op",
    "tflite_support/test_model_nl_classifier.tflite": "CUSTOM.CUSTOM_OP_GENERATE_LABELS "
    "CUSTOM.CUSTOM_OP_STRING_TO_DOUBLES CUSTOM.CUSTOM_OP_STRING_TO_FLOATS",
    "tflite_support/whitespace_tokenizer_flex_delegate.tflite": "CUSTOM.FlexRaggedRange CUSTOM.FlexUnicodeDecodeWithOffsets "
    "CUSTOM.FlexUnicodeEncode CUSTOM.FlexWhitespaceTokenizeWithOffsets",
    "tflite_support/whitespace_tokenizer_to_ragged_2d_input.tflite": "CUSTOM.tftext:WhitespaceTokenizer",
}
"""What is not counted in the files of which something is not: programs of vendors, of tests, of text, and contradictions."""


def test_all_files_are_weighed_or_refused(shared: Path) -> None:
    files = tflite_files(shared)
    assert len(files) == 166
    refused, bounds = {}, {}
    for name, path in files.items():
        try:
            facts = weigh(path).facts
        except WeighbridgeError as error:
            refused[name] = error.what
            continue
        if not facts.exact:
            bounds[name] = " ".join(sorted({one.operator for one in facts.uncounted}))
    assert refused == {"litert/0_subgraphs.bin": "there is no graph in it"}
    assert bounds == BOUNDS


def nodes(graph: Graph) -> list[tuple[str, str]]:
    """(what the file calls it, our operator) of every node that one of ours is."""
    found = []
    for node in graph.nodes:
        found.append((node.origin, node.operator))
        for body in node.bodies:
            found += nodes(body.graph)
    return [(origin, operator) for origin, operator in found if operator not in {UNKNOWN, *CONTROL}]


def test_the_page_names_every_operator_that_a_builtin_one_becomes(shared: Path) -> None:
    activations = {"relu", "clip", "tanh", "sign_bit"}
    seen, wrong = set(), set()
    for path in tflite_files(shared).values():
        try:
            found = nodes(load(path))
        except BadModel:
            continue
        for origin, operator in found:
            if origin in generate_tflite.SEVERAL:
                seen.add(origin)
                named = generate_tflite.SEVERAL[origin].split()
                wrong |= {(origin, operator)} - {(origin, one) for one in (*named, *activations)}
    assert wrong == set()
    assert len(seen) > 15


def test_the_page_has_every_rule_that_decides_by_itself() -> None:
    deciding = {name for name, rule in RULES.items() if not isinstance(rule, As)}
    named = {name for name, ours in generate_tflite.SEVERAL.items() if ours} | generate_tflite.NONE.keys()
    assert deciding <= named
    for ours in generate_tflite.SEVERAL.values():
        assert set(ours.split()) <= OPERATORS.keys()


def test_the_page_keeps_its_table_where_the_folder_of_files_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = generate_tflite.PAGE.read_text(encoding="utf-8")
    assert "### mlperf_tiny" in kept
    monkeypatch.setattr(generate_tflite, "SHARED", tmp_path / "absent")
    assert generate_tflite.page().partition("## Real files")[2] == kept.partition("## Real files")[2]
