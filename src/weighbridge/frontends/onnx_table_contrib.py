"""The operators of ai.onnx.contrib as ours: what ONNX Runtime's extensions document and run, texts above all.

Left out are tokenizers that hold a model of their own (Sentencepiece), whose learned numbers lie in an attribute that nobody here
can read, and operators that exist for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.frontends.foreign import As, Foreign, Held, Rule, Step, bind, set_aside
from weighbridge.frontends.onnx_ml import fault
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.frontends.onnx_table_microsoft_layers import FUSED_LAYER_RULES
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["CONTRIB_DOMAIN", "CONTRIB_RULES", "SERVICE_DOMAIN", "SERVICE_RULES"]

CONTRIB_DOMAIN: Final = "ai.onnx.contrib"
_TABLES: Final = ("vocab_file", "vocab", "merges", "map")
"""Attributes with tables of texts."""


def _tables(call: Foreign) -> list[Held]:
    found = [(name, call.get(name)) for name in _TABLES]
    kind = TensorType((), DTYPES["string"])
    return [Held("others", name, kind, (text,)) for name, text in found if isinstance(text, str)]


def _text(operator: str, attributes: Callable[[Foreign], dict[str, Attribute]] | None = None) -> Rule:
    """The first operand is the text, the others say what becomes of it."""

    def rule(call: Foreign) -> Sequence[Step]:
        given = attributes(call) if attributes is not None else {}
        return (Step(operator, bind(call, "x *others"), given, call.outputs, (), _tables(call)),)

    return rule


def _vector(call: Foreign) -> dict[str, Attribute]:
    """A line of the table is a text, a tabulator and the numbers that stand for it."""
    table = call.get("map", "")
    if not isinstance(table, str):
        raise fault(call, "its map is no text")
    _, _, numbers = table.partition("\n")[0].partition("\t")
    return {"size": len(numbers.split()) or UNKNOWN}


def _tokenizer(*dtypes: str) -> Rule:
    def rule(call: Foreign) -> Sequence[Step]:
        results = dtypes[: max(len(call.outputs), 1)]
        return (Step("tokens", bind(call, "*xs"), {"dtypes": results}, call.outputs, (), _tables(call)),)

    return rule


def _decoder(call: Foreign) -> Sequence[Step]:
    """One text, or one for each segment that is to be decoded."""
    segments = call.type(1) if call.get("use_indices", 0) else TensorType((1,), DTYPES["int64"])
    text = DTYPES["string"] if segments is None else TensorType(segments.shape[:1], DTYPES["string"])
    attributes: dict[str, Attribute] = {"dtypes": ("string",)}
    # A rule cannot tell how many tokens there are; here the number of texts is known.
    return (Step("tokens", bind(call, "*xs"), attributes, call.outputs, (text,), _tables(call)),)


def _masked(call: Foreign) -> Sequence[Step]:
    """The elements whose mask holds, in a row; a lone element is a row of one."""
    steps, tensors = [], []
    for place, name in ((0, "value"), (1, "mask")):
        tensor = call.operand(place)
        if call.rank(place) == 0:
            steps.append(Step("unsqueeze", [("x", tensor)], {"axes": (0,)}, [call.inner(name)]))
            tensor = call.inner(name)
        tensors.append(tensor)
    pairs = [("x", tensors[0]), ("condition", tensors[1])]
    return (*steps, Step("compress", pairs, {"axis": "flat"}, call.outputs))


def _parts(call: Foreign) -> Sequence[Step]:
    """What lies below 0, and what lies above it."""
    bounds: tuple[dict[str, Attribute], ...] = ({"high": 0.0}, {"low": 0.0})
    outputs = [(place, tensor) for place, tensor in enumerate(call.outputs[:2]) if tensor]
    return [Step("clip", bind(call, "x"), bounds[place], [tensor]) for place, tensor in outputs]


CONTRIB_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            *("StringLower", "StringUpper", "StringStrip", "StringMapping"),
            *("StringRegexReplace", "StringECMARegexReplace"),
        ),
        _text("text_change"),
    ),
    **dict.fromkeys(
        (*("StringLength", "StringHash", "StringHashFast", "StringToHashBucket", "StringToHashBucketFast"),),
        _text("text_number"),
    ),
    **dict.fromkeys(("StringRegexSplitWithOffsets", "StringECMARegexSplitWithOffsets"), _text("text_pieces")),
    "StringConcat": As("string_concat", "a b"),
    "StringEqual": As("text_equal", "a b"),
    "StringJoin": _text("text_join", lambda call: {"axis": number_in(call, 2)}),
    "StringSplit": _text("text_split"),
    "VectorToString": _text("vector_text", _vector),
    "MaskedFill": _masked,
    "BasicTokenizer": _tokenizer("string"),
    "BertTokenizer": _tokenizer("int64", "int64", "int64"),
    "HfBertTokenizer": _tokenizer("int64", "int64", "int64"),
    "CLIPTokenizer": _tokenizer("int64", "int64", "int64"),
    "GPT2Tokenizer": _tokenizer("int64", "int64"),
    "RobertaTokenizer": _tokenizer("int64", "int64", "int64"),
    "WordpieceTokenizer": _tokenizer("string", "int32", "int64"),
    "BertTokenizerDecoder": _decoder,
    "FastGelu": FUSED_LAYER_RULES["FastGelu"],
    "NegPos": _parts,
    "SegmentSum": As("segment_sum", "x segments"),
    "SegmentExtraction": As("segments", "x"),
}
SERVICE_DOMAIN: Final = "com.microsoft.extensions"
SERVICE_RULES: Final[dict[str, Rule]] = dict.fromkeys(
    ("AzureAudioToText", "AzureTextToText", "AzureTritonInvoker", "OpenAIAudioToText"),
    lambda call: set_aside(call, "it asks a service on another machine: what that computes is not in the file"),
)
"""Operators of the extensions that send their operands away."""
