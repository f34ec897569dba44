"""Networks that generate text inside one node: what runs once, the first pass of the decoder, and what nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from tests.onnx.build import FLOAT, graph, load, model, node, tensor, value, weight
from tests.onnx.files import onnx_files, report_of
from tests.onnx.microsoft_cases import MICROSOFT
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import Graph

INT32 = TensorProto.INT32
HIDDEN, WORDS, HEADS = 8, 50, 2


def decoder() -> Any:
    """Words embedded, one attention with a cache, and scores of all words."""
    nodes = [
        node("Gather", ["table", "input_ids"], ["x"]),
        node("Attention", ["x", "qkv", "", "mask", "past_0"], ["y", "present_0"], domain=MICROSOFT, num_heads=HEADS),
        node("MatMul", ["y", "head"], ["logits"]),
    ]
    inputs = [
        value("input_ids", ["n", "s"], INT32),
        value("positions", ["n", "s"], INT32),
        value("mask", ["n", "t"], INT32),
        value("past_0", [2, "n", HEADS, "p", HIDDEN // HEADS]),
    ]
    weights = [weight("table", WORDS, HIDDEN), weight("qkv", HIDDEN, 3 * HIDDEN), weight("head", HIDDEN, WORDS)]
    return graph(nodes, inputs, [value("logits", None), value("present_0", None)], weights)


def pass_macs(rows: int, new: int, past: int) -> int:
    """Products of one pass: projection, scores and values, scores of all words."""
    return rows * new * (HIDDEN * 3 * HIDDEN + 2 * (past + new) * HIDDEN + HIDDEN * WORDS)


def searched(op: str, operands: dict[str, Any], outputs: list[str], **graphs: Any) -> Graph:
    names = list(operands)
    stored = [tensor(name, number, "int32") for name, number in operands.items() if number is not None]
    inputs = [value("prompt", [3, 5], INT32)]
    names[0] = "prompt"
    attributes = {"eos_token_id": 1, "pad_token_id": 0, **graphs}
    made = graph(
        [node(op, names, outputs, domain=MICROSOFT, name="search", **attributes)],
        inputs,
        [value(one, None) for one in outputs],
        stored,
    )
    return load(model(made, opset_imports=[helper.make_opsetid(MICROSOFT, 1)]))


GREEDY = {"prompt": None, "length": 20}
BEAMS = {"prompt": None, "length": 20, "least": 1, "beams": 4, "returned": 2}


@pytest.mark.parametrize(
    ("op", "operands", "rows"), [("GreedySearch", GREEDY, 3), ("Sampling", GREEDY, 3), ("BeamSearch", BEAMS, 12)]
)
def test_the_first_pass_sees_the_prompt_in_every_beam(op: str, operands: dict[str, Any], rows: int) -> None:
    found = searched(op, operands, ["sequences"], decoder=decoder())
    facts = weigh(found).facts
    assert facts.macs == pass_macs(rows, 5, 0)
    assert [one.reason for one in facts.uncounted] == ["how often it runs depends on values: one trip is counted"]
    assert facts.parameters == facts.weights == HIDDEN * (WORDS + 3 * HIDDEN + WORDS)
    assert found.tensors["sequences"].shape == ((3, 2, 20) if op == "BeamSearch" else (3, 20))
    assert found.tensors["sequences"].dtype.name == "int32"


def test_a_decoder_for_the_prompt_runs_once_and_the_other_for_every_word() -> None:
    found = searched("GreedySearch", GREEDY, ["sequences"], decoder=decoder(), init_decoder=decoder())
    facts = weigh(found).facts
    assert [one.name for one in found.nodes] == ["search.init_decoder", "search"]
    assert facts.macs == pass_macs(3, 5, 0) + pass_macs(3, 1, 5)


def test_an_encoder_runs_once() -> None:
    encoder = graph(
        [node("Gather", ["table", "ids"], ["x"]), node("MatMul", ["x", "w"], ["y"])],
        [value("ids", ["n", "s"], INT32), value("mask", ["n", "s"], INT32)],
        [value("y", None)],
        [weight("table", WORDS, HIDDEN), weight("w", HIDDEN, HIDDEN)],
    )
    facts = weigh(searched("BeamSearch", BEAMS, ["sequences"], encoder=encoder, decoder=decoder(), model_type=1)).facts
    # The decoder sees one word in each of 12 beams; what its cache holds nobody says.
    assert facts.macs == 3 * 5 * HIDDEN * HIDDEN + 12 * HIDDEN * 3 * HIDDEN
    assert facts.parameters == HIDDEN * (WORDS + HIDDEN) + HIDDEN * (WORDS + 3 * HIDDEN + WORDS)
    assert {one.reason for one in facts.uncounted} >= {"the shape of past_0 is unknown"}


def test_the_first_pass_behind_an_encoder_sees_what_that_made_in_every_beam() -> None:
    """The encoder makes scores, its values for 5 words, and from these a cache for the words made and one for its own."""
    depth = HIDDEN // HEADS
    encoder = graph(
        [
            node("Gather", ["table", "ids"], ["hidden"]),
            node("Gather", ["table", "start"], ["first"]),
            *(
                made
                for x, y in (("hidden", "cross"), ("first", "self"))
                for made in (
                    node("Reshape", [x, "heads"], [f"{x}_heads"]),
                    node("Transpose", [f"{x}_heads"], [y], perm=[0, 2, 1, 3]),
                )
            ),
        ],
        [value("ids", ["n", "s"], INT32), value("mask", ["n", "s"], INT32), value("start", ["n", 1], INT32)],
        [value(one, None) for one in ("first", "hidden", "self", "cross")],
        [weight("table", WORDS, HIDDEN), tensor("heads", [0, 0, HEADS, depth], "int64")],
    )
    nodes = [
        node("Gather", ["table", "word"], ["x"]),
        node("MatMul", ["x", "head"], ["logits"]),
        node("Transpose", ["hidden"], ["turned"], perm=[0, 2, 1]),
        node("MatMul", ["x", "turned"], ["met"]),
        *(node("Transpose", [one], [f"{one}_turned"], perm=[0, 1, 3, 2]) for one in ("self", "cross")),
        node("MatMul", ["self", "self_turned"], ["own"]),
        node("MatMul", ["cross", "cross_turned"], ["others"]),
    ]
    inputs = [
        *(value("word", ["n", 1], INT32), value("mask", ["n", "s"], INT32), value("hidden", ["n", "s", HIDDEN])),
        *(value(one, ["n", HEADS, one, depth]) for one in ("self", "cross")),
    ]
    results = [value(one, None) for one in ("logits", "met", "own", "others")]
    weights = [weight("table", WORDS, HIDDEN), weight("head", HIDDEN, WORDS)]
    behind = graph(nodes, inputs, results, weights)
    facts = weigh(searched("BeamSearch", BEAMS, ["sequences"], encoder=encoder, decoder=behind, model_type=1)).facts
    products = HIDDEN * WORDS + 5 * HIDDEN + HEADS * depth * (1 * 1 + 5 * 5)
    assert facts.macs == 12 * products
    assert [one.reason for one in facts.uncounted] == ["how often it runs depends on values: one trip is counted"]


def test_how_many_beams_there_are_may_come_with_the_data() -> None:
    """The parameters are known all the same."""
    given = {**BEAMS, "beams": None}
    made = graph(
        [node("BeamSearch", list(given), ["y", "scores"], domain=MICROSOFT, decoder=decoder())],
        [value("prompt", [3, 5], INT32), value("beams", [1], INT32)],
        [value("y", None), value("scores", None, FLOAT)],
        [tensor(name, number, "int32") for name, number in given.items() if number is not None],
    )
    facts = weigh(load(model(made))).facts
    assert facts.parameters == HIDDEN * (WORDS + 3 * HIDDEN + WORDS)
    assert not facts.exact
    assert len(facts.uncounted) > 1


def test_a_search_without_its_network_is_damaged() -> None:
    with pytest.raises(BadModel, match="search: lacks its subgraph 'decoder'"):
        searched("GreedySearch", GREEDY, ["sequences"])
    with pytest.raises(BadModel, match="the attribute 'decoder' of GreedySearch is text, not a graph"):
        searched("GreedySearch", GREEDY, ["sequences"], decoder="none")


def test_a_real_one(shared: Path) -> None:
    """Five layers of 32 features and four heads, and a head of 1,000 words, over a prompt of 8."""
    name = "ort_odd/tiny_gpt2_sampling.onnx"
    facts = report_of(name, onnx_files(shared)[name]).facts
    layer = 32 * 96 + 32 * 32 + 2 * 32 * 128 + 2 * 8 * 32
    assert facts.macs == 8 * (5 * layer + 32 * 1_000)
