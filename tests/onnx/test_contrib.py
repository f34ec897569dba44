"""The operators of ONNX Runtime's extensions: types against what they compute, work against loops."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.onnx.build import graph, load, model, node, operators, shapes, value
from tests.onnx.execute import Single, model_of, run, types_of
from tests.onnx.files import onnx_files, report_of
from tests.operators.execution import Tally, work_of
from tests.operators.execution import call as asked
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_table import RULES
from weighbridge.frontends.onnx_table_contrib import CONTRIB_DOMAIN
from weighbridge.graph import Role


def _library() -> str:
    """Importing the extensions chooses protobuf's slow implementation for every process to come: that is taken back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "upb")
        import onnxruntime_extensions

        return onnxruntime_extensions.get_library_path()


LIBRARY = _library()


def texts(*values: Any) -> np.ndarray:
    return np.array(values, dtype=object)


def longs(*values: Any) -> np.ndarray:
    return np.array(values, "int64")


def floats(*values: Any) -> np.ndarray:
    return np.array(values, "float32")


ROWS, WORDS = texts(["ab", "cd", "e"], ["f", "g", "hh"]), texts("hello world", "hello")
BERT = {"vocab_file": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld"}
BYTES = {
    "vocab": '{"a":0,"b":1,"<|endoftext|>":2,"<unk>":3,"<s>":4,"</s>":5,"<pad>":6}',
    "merges": "#version: 0.2\na b\n",
}
PAIRS, SINGLES = {"map": "a\t0 2\nb\t2 3", "unk": "?"}, {"map": "a\t0\nb\t2", "unk": "?"}
ANY = None
"""A dimension that the values decide."""

# The operator, its operands, attributes, and the results' shapes where the values decide them.
CASES: dict[str, tuple[str, list[np.ndarray], dict[str, Any], int, list[Any] | None]] = {
    "lower": ("StringLower", [ROWS], {}, 1, None),
    "upper": ("StringUpper", [WORDS], {}, 1, None),
    "strip": ("StringStrip", [ROWS], {}, 1, None),
    "length": ("StringLength", [ROWS], {}, 1, None),
    "hash": ("StringToHashBucket", [ROWS, longs(10)], {}, 1, None),
    "fast hash": ("StringToHashBucketFast", [WORDS, longs(10)], {}, 1, None),
    "equal": ("StringEqual", [ROWS, ROWS], {}, 1, None),
    "equal to one": ("StringEqual", [ROWS, texts("ab")], {}, 1, None),
    "concat": ("StringConcat", [ROWS, ROWS], {}, 1, None),
    "replace": ("StringRegexReplace", [ROWS, texts("a"), texts("b")], {}, 1, None),
    "ecma replace": ("StringECMARegexReplace", [ROWS, texts("a"), texts("b")], {}, 1, None),
    "mapping": ("StringMapping", [WORDS], {"map": "hello\tx\nq\tz"}, 1, None),
    "mapping of one": ("StringMapping", [np.array("q", object)], {"map": "hello\tx\nq\tz"}, 1, None),
    "join rows": ("StringJoin", [ROWS, texts(";"), longs(1)], {}, 1, None),
    "join columns": ("StringJoin", [ROWS, texts(";"), np.array(0)], {}, 1, None),
    "join a row": ("StringJoin", [WORDS, texts(";"), longs(0)], {}, 1, None),
    "join one": ("StringJoin", [np.array("q", object), texts(";"), longs(0)], {}, 1, None),
    "vectors": ("VectorToString", [longs([0, 2], [2, 3], [1, 1])], PAIRS, 1, None),
    "matrix of vectors": ("VectorToString", [longs([[0, 2], [2, 3]])], PAIRS, 1, None),
    "one vector": ("VectorToString", [longs(0, 2)], PAIRS, 1, None),
    "numbers": ("VectorToString", [longs(0, 2, 1)], SINGLES, 1, None),
    "one number": ("VectorToString", [np.array(2)], SINGLES, 1, None),
    "split": ("StringSplit", [WORDS, texts(" "), np.array([True])], {}, 3, [(ANY, 2), (ANY,), (2,)]),
    "pieces": ("StringRegexSplitWithOffsets", [WORDS, texts(r"(\s)"), texts("")], {}, 4, [(ANY,)] * 3 + [(3,)]),
    "ecma pieces": ("StringECMARegexSplitWithOffsets", [WORDS, texts(r"\s"), texts("")], {}, 4, [(ANY,)] * 3 + [(3,)]),
    "masked": ("MaskedFill", [texts("a", "b", "c"), np.array([True, False, True])], {}, 1, [(ANY,)]),
    "masked one": ("MaskedFill", [np.array("a", object), np.array(True)], {}, 1, [(ANY,)]),
    "basic": ("BasicTokenizer", [texts("Hello w")], {}, 1, [(ANY,)]),
    "bert": ("BertTokenizer", [WORDS], BERT, 3, [(ANY,)] * 3),
    "hf bert": ("HfBertTokenizer", [WORDS], BERT, 3, [(ANY, ANY)] * 3),
    "gpt2": ("GPT2Tokenizer", [texts("a b")], BYTES, 2, [(ANY, ANY)] * 2),
    "clip": ("CLIPTokenizer", [texts("a b")], BYTES, 3, [(ANY, ANY)] * 2 + [(ANY, ANY, 2)]),
    "roberta": ("RobertaTokenizer", [texts("a b")], BYTES, 3, [(ANY, ANY)] * 2 + [(ANY, ANY, 2)]),
    "decoder": ("BertTokenizerDecoder", [longs(5, 6), longs([0, 1])], BERT, 1, None),
    "segments decoded": (
        "BertTokenizerDecoder",
        [longs(5, 6), longs([0, 1], [1, 2])],
        {**BERT, "use_indices": 1},
        1,
        None,
    ),
    "negative and positive": ("NegPos", [floats([1, -1], [0, 2])], {}, 2, None),
    "segment sum": ("SegmentSum", [floats([1, 2], [3, 4], [5, 6]), longs(0, 0, 1)], {}, 1, [(ANY, 2)]),
    "segments": ("SegmentExtraction", [longs(0, 1, 1, 0, 2, 2)], {}, 2, [(ANY, 2), (ANY,)]),
}


def _call(name: str) -> Single:
    op, arrays, attributes, results, _ = CASES[name]
    stored = [place for place, array in enumerate(arrays) if place and array.dtype.kind == "i" and array.size <= 2]
    return Single(op, arrays, attributes, results, CONTRIB_DOMAIN, 1, stored)


@pytest.mark.parametrize("name", CASES)
def test_types_are_those_that_are_computed(name: str) -> None:
    call, decided = _call(name), CASES[name][4]
    made = model_of(call)
    expected = types_of(run(made, call.fed, LIBRARY))
    found = load(made)
    ours = [(found.tensors[one].shape, found.tensors[one].dtype) for one in found.outputs]
    assert [dtype for _, dtype in ours] == [dtype for _, dtype in expected]
    for place, ((shape, _), (computed, _)) in enumerate(zip(ours, expected, strict=True)):
        if decided is None or ANY not in decided[place]:
            assert shape == computed
        else:
            assert shape is None
            assert [size for size in decided[place] if size] == [
                size for size, one in zip(computed, decided[place], strict=True) if one
            ]
    facts = weigh(found).facts
    assert (facts.macs, facts.parameters, facts.exact) == (0, 0, True)


def test_tables_of_texts_are_stored() -> None:
    found = load(model_of(_call("gpt2")))
    assert {one.id: (one.role, one.dtype.name) for one in found.stored()} == {
        "node.vocab": (Role.CONSTANT, "string"),
        "node.merges": (Role.CONSTANT, "string"),
    }
    assert weigh(found).facts.constant_bytes is None


def test_work_on_numbers() -> None:
    t = Tally()
    for x in (1.0, -1.0, 0.0, 2.0):
        t.minimum(x, 0.0)
        t.maximum(x, 0.0)
    assert weigh(load(model_of(_call("negative and positive")))).facts.work == t.work
    t = Tally()
    for place in range(6):
        t.add(0.0, place)
    assert work_of("segment_sum", asked("segment_sum", {}, x=(3, 2), segments=(3,))) == t.work
    t = Tally()
    for place in range(6):
        t.select(place, 0, 1)
    assert work_of("segments", asked("segments", {}, x=(6,))) == t.work


@pytest.mark.parametrize("bias", [False, True])
def test_fast_gelu(bias: bool) -> None:
    """Of the formula in its kernel: x (a + a tanh(x (c x x + b)))."""
    t = Tally()
    for _ in range(6):
        x = t.add(0.5, 0.25) if bias else 0.5
        inner = t.mul(0.79788, t.add(x, t.mul(0.044715, t.mul(t.mul(x, x), x))))
        t.mul(t.mul(0.5, x), t.add(1, t.special(math.tanh, inner)))
    arrays = [np.zeros((2, 3), "float32"), *([np.zeros(3, "float32")] if bias else [])]
    found = load(model_of(Single("FastGelu", arrays, {}, 1, CONTRIB_DOMAIN, 1)))
    assert operators(found) == (["add", "gelu"] if bias else ["gelu"])
    assert (shapes(found), weigh(found).facts.work) == ([(2, 3)], t.work)


def test_a_table_that_was_left_out_leaves_the_shape_open() -> None:
    """The reader drops texts of more than 64 KiB."""
    table = "\n".join(f"word{index}\t{index} {index}" for index in range(10_000))
    call = _call("vectors")._replace(attributes={"map": table, "unk": "?"})
    found = load(model_of(call))
    assert (shapes(found), weigh(found).facts.exact) == ([None], True)


@pytest.mark.parametrize(
    ("op", "arrays", "attributes", "says"),
    [
        ("VectorToString", [longs([0, 2, 1])], PAIRS, "2 numbers stand for a text"),
        ("VectorToString", [longs(0)], {"map": 3}, "its map is no text"),
        ("StringJoin", [ROWS, texts(";"), longs(2)], {}, "axis 2 does not exist"),
        ("StringSplit", [ROWS, texts(";"), np.array([True])], {}, "texts that are split lie in a row"),
        ("StringEqual", [ROWS, texts("a", "b")], {}, "do not broadcast"),
        ("SegmentSum", [floats(1, 2), longs(0, 0, 1)], {}, "segments of shape"),
        ("SegmentExtraction", [longs([0, 1])], {}, "segments lie in a row"),
        ("StringLower", [], {}, "lacks its operand x"),
    ],
)
def test_calls_that_contradict_themselves(
    op: str, arrays: list[np.ndarray], attributes: dict[str, Any], says: str
) -> None:
    stored = [place for place, array in enumerate(arrays) if place and array.dtype.kind == "i"]
    with pytest.raises(BadModel, match=says):
        load(model_of(Single(op, arrays, attributes, 1, CONTRIB_DOMAIN, 1, stored)))


@pytest.mark.parametrize("op", ["SentencepieceTokenizer", "CustomOpOne", "Inverse"])
def test_what_stands_in_no_table_stays_named(op: str) -> None:
    assert op not in RULES[CONTRIB_DOMAIN]
    made = graph([node(op, ["x"], ["y"], domain=CONTRIB_DOMAIN)], [value("x", [2, 2])], [value("y", [2, 2])])
    facts = weigh(load(model(made, opset_imports=[helper.make_opsetid(CONTRIB_DOMAIN, 1)]))).facts
    assert [one.reason for one in facts.uncounted] == [f"there is no rule for {CONTRIB_DOMAIN}.{op}"]


def test_what_a_service_computes_is_not_in_the_file(shared: Path) -> None:
    name = "real_models/openai_whisper_transcriptions.onnx"
    (missing,) = report_of(name, onnx_files(shared)[name]).facts.uncounted
    assert missing.reason == "it asks a service on another machine: what that computes is not in the file"
