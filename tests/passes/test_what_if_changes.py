"""Changes as they are written, and several in a row."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from weighbridge import load, weigh
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import CHANGES, Change, changes_of, steps_of


@pytest.mark.parametrize(
    ("text", "kind", "target", "value"),
    [
        ("bits=8", "bits", None, 8),
        ("bits:first=4", "bits", "first", 4),
        (" activation-bits = 8 ", "activation-bits", None, 8),
        ("prune:conv*=30%", "prune", "conv*", Fraction(3, 10)),
        ("prune=0.3", "prune", None, Fraction(3, 10)),
        ("prune:all=1/3", "prune", None, Fraction(1, 3)),
        ("sparsity:rest=0", "sparsity", None, Fraction(0)),
        ("sparsity:model/conv:0;a=b=99.5%", "sparsity", "model/conv:0;a=b", Fraction(199, 200)),
        ("depthwise", "depthwise", None, None),
        ("depthwise:a=b:c", "depthwise", "a=b:c", None),
        ("global-pool", "global-pool", None, None),
        ("low-rank:last-2=64", "low-rank", "last-2", 64),
        ("low-rank=25%", "low-rank", None, Fraction(1, 4)),
        ("low-rank=0.25", "low-rank", None, Fraction(1, 4)),
        ("width=0.75", "parameter", "width", "0.75"),
        ("resolution = 160", "parameter", "resolution", "160"),
    ],
)
def test_what_is_written(text: str, kind: str, target: str | None, value: int | Fraction | str | None) -> None:
    (change,) = changes_of(text, ("width", "resolution"))
    assert change == Change(kind, target, value, text.strip())
    assert type(change.value) is type(value)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("prune=1", "no share from 0 to below 1", "30%"),
        ("prune=100%", "no share", "30%"),
        ("sparsity=-0.1", "no share", "0.3"),
        ("sparsity=1e99999999", "no share", "0.3"),
        ("sparsity=nan", "no share", "0.3"),
        ("sparsity=٣٠%", "no share", "0.3"),
        ("prune", "value is missing", "prune[:TARGET]=RATIO"),
        ("prune:conv1", "value is missing", "prune[:TARGET]=RATIO"),
        ("prune:conv1=", "value is missing", "prune[:TARGET]=RATIO"),
        ("prune:=0.3", "target is missing", "prune[:TARGET]=RATIO"),
        ("bits=0", "no whole number from 1 to 64", "8"),
        ("bits=8.5", "no whole number", "8"),
        ("bits=65", "no whole number", "8"),
        ("activation-bits:x=8", "no target", "activation-bits=N"),
        ("low-rank=0", "no rank", "25%"),
        ("low-rank=1.0", "no rank", "25%"),
        ("low-rank=100%", "no rank", "25%"),
        ("prune: =0.3", "target is missing", "prune[:TARGET]=RATIO"),
        ("depthwise=3", "no value", "depthwise[:TARGET]"),
        ("global-pool=1", "no value", "global-pool"),
        ("depthwise:", "target is missing", "depthwise[:TARGET]"),
        ("global-pool:x", "no target", "global-pool"),
        ("sparcity=0.3", "no change 'sparcity'", "did you mean sparsity[:TARGET]=RATIO?"),
        ("lowrank=3", "no change 'lowrank'", "did you mean low-rank"),
        ("activation_bits=8", "no change 'activation_bits'", "did you mean activation-bits=N?"),
        ("widht=3", "no change 'widht'", "did you mean width=VALUE?"),
        ("colour=3", "no change 'colour'", "the parameters of this network are width"),
        ("width", "takes a value", "width=VALUE"),
        ("width:fc=3", "takes a value", "width=VALUE"),
        ("", "no change ''", "the changes are bits"),
        ("x" * 5000, "5,000 characters", "1,000"),
    ],
)
def test_what_cannot_be_read(text: str, message: str, hint: str) -> None:
    with pytest.raises(BadSpec) as caught:
        changes_of([text], ("width",))
    assert message in caught.value.what
    assert hint in caught.value.hint


def test_a_source_without_parameters_says_so() -> None:
    with pytest.raises(BadSpec) as caught:
        changes_of(["width=0.5"])
    assert "parameters such as width and resolution are of textbook networks" in caught.value.hint


def test_no_change_at_all() -> None:
    with pytest.raises(BadSpec, match="nothing to change"):
        changes_of([])


def test_neighbours_of_one_family_are_one_step() -> None:
    texts = ["bits=4", "activation-bits=8", "bits:first=8", "prune=0.5", "depthwise:a", "depthwise:b", "prune=0.1"]
    steps = [[change.text for change in step] for step in steps_of(changes_of(texts))]
    assert steps == [texts[:3], ["prune=0.5"], ["depthwise:a"], ["depthwise:b"], ["prune=0.1"]]
    graph = applied(load("alexnet"), changes_of(texts[:3]))
    assert weigh(graph).facts == weigh("alexnet", weight_bits=["4", "first=8"], activation_bits=8).facts


def after(source: str | Path | Graph, *texts: str) -> Graph:
    graph = applied(source if isinstance(source, Graph) else load(source), changes_of(texts))
    assert graph_from_json(graph_to_json(graph)) == graph
    return graph


def test_bits_after_sparsity_after_low_rank_after_pooling() -> None:
    graph = after("alexnet", "global-pool", "low-rank:fc7=512", "sparsity:fc*=0.5", "bits=8", "bits:last=4")
    facts = weigh(graph).facts
    fc6, fc7, fc8 = 256 * 4096, 512 * 8192, 4096 * 1000
    convolutions = 363 * 96 + 25 * 48 * 256 + 9 * 256 * 384 + 9 * 192 * (384 + 256)
    assert facts.weights == convolutions + fc6 + fc7 + fc8
    assert facts.weight_bytes == convolutions + fc6 + fc7 + fc8 // 2
    assert facts.nonzero_parameters == facts.biases + convolutions + (fc6 + fc7 + fc8) // 2
    assert [node.name for node in graph.nodes][-6:] == ["fc6", "relu6", "fc7.a", "fc7.b", "relu7", "fc8"]


def test_bits_after_pruned_channels_after_low_rank() -> None:
    """What is pruned is the network of that rank: half of the 64 values between the two parts of fc6 go too."""
    facts = weigh(after("alexnet", "low-rank:fc6=64", "prune:fc6=50%", "bits:fc6=4")).facts
    expected = weigh("alexnet").facts.weights - 9216 * 4096 - 4096 * 4096 + 9216 * 32 + 32 * 2048 + 2048 * 4096
    assert facts.weights == expected
    assert facts.weight_bytes == 4 * expected - (4 * 8 - 4) * (9216 * 32 + 32 * 2048) // 8


def test_the_order_counts() -> None:
    """Zeros are of the weights that there are when they are asked for; weights that are made later are dense."""
    first = weigh(after("alexnet", "sparsity=0.5", "low-rank:fc6=64")).facts
    later = weigh(after("alexnet", "low-rank:fc6=64", "sparsity=0.5")).facts
    assert first.parameters == later.parameters
    assert first.nonzero_parameters == later.nonzero_parameters + 64 * (9216 + 4096) // 2


def test_a_fault_is_located_at_its_change() -> None:
    with pytest.raises(BadSpec) as caught:
        applied(load("alexnet"), changes_of(["global-pool", "low-rank:conv1=3"]))
    assert caught.value.where == "low-rank:conv1=3"
    with pytest.raises(BadSpec, match="called 'fc9'") as caught:
        applied(load("alexnet"), changes_of(["bits=8", "bits:fc9=4"]))
    assert caught.value.where == "bits=8 bits:fc9=4"


FILES = {
    "tflite/*/person_detect.tflite": ["sparsity:last=0.5", "bits=4"],
    "tflite/*/vww_96_int8.tflite": ["depthwise", "sparsity=0.9"],
    "onnx/real_models/FastestDet.onnx": ["depthwise", "sparsity=50%", "bits=8"],
    "onnx/real_models/pretrainedResnet.onnx": ["depthwise", "low-rank=0.5", "activation-bits=8"],
    "onnx/real_models/kws_ref_model.onnx": ["sparsity:first=50%"],
}


@pytest.mark.parametrize("name", FILES)
def test_real_files(shared: Path, name: str) -> None:
    """Each change alone and all in a row: the result verifies, is as exact as the file, and what nobody asked for stays."""
    path = next((shared / "data").glob(name))
    old = weigh(path)
    for texts in (*([text] for text in FILES[name]), FILES[name]):
        graph = after(path, *texts)
        new = weigh(graph)
        assert new.facts.exact == old.facts.exact
        assert new.memory.peak_bytes["live"] is not None
        assert [graph.tensors[one].shape for one in graph.outputs] == [
            one.shape for one in map(load(path).tensors.get, graph.outputs)
        ]
        if not any(text.startswith(("depthwise", "low-rank")) for text in texts):
            assert new.facts.macs == old.facts.macs
            assert new.facts.parameters == old.facts.parameters


def test_every_kind_has_its_form_under_its_name() -> None:
    assert all(kind.form.startswith(name) for name, kind in CHANGES.items())


@pytest.mark.parametrize("odd", [5, None, 0.3, b"bits=8", {"prune": "30%"}, ["bits=8", 5], [None], [b"bits=8"]])
def test_what_is_no_text_is_refused(odd: object) -> None:
    with pytest.raises(BadSpec, match="a change is text"):
        changes_of(odd)  # type: ignore[arg-type]
