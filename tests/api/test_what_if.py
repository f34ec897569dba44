"""``weighbridge.what_if``: before, after and ratio of every metric, from any source."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import weighbridge
from weighbridge import BadSpec, WhatIf, load, weigh, what_if
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import changes_of

LINEAR = 9216 * 4096 + 4096 * 4096 + 4096 * 1000


@pytest.mark.parametrize(
    ("changes", "parameters"),
    [
        ("prune:fc*=50%", 9216 * 2048 + 2048 * 2048 + 2048 * 1000),
        ("low-rank:fc*=25%", 1024 * (9216 + 4096) + 1024 * (4096 + 4096) + 250 * (4096 + 1000)),
        ("global-pool", 256 * 4096 + 4096 * 4096 + 4096 * 1000),
    ],
)
def test_the_linear_layers_of_alexnet_are_its_size_and_hardly_its_time(changes: str, parameters: int) -> None:
    """58.6 M of the 61.0 M weights, 58.6 M of the 724 M MACs: what shrinks them shrinks the size, hardly the time."""
    found = what_if("alexnet", changes, on="toy")
    assert sum(layer.before.weights for layer in found.layers if layer.before) in (LINEAR, 9216 * 4096)
    weights, macs = found.metric("weights"), found.metric("macs")
    assert weights.before - weights.after == macs.before - macs.after == LINEAR - parameters
    assert (weights.before, macs.before) == (60_954_656, 724_406_816)
    assert weights.ratio == float(Fraction(60_954_656 - LINEAR + parameters, 60_954_656)) < 0.46
    assert macs.ratio > 0.94
    floor = found.metric("floor_s", "toy")
    assert found.metric("bound", "toy").after == "compute"
    assert floor.ratio == pytest.approx(macs.ratio)
    assert floor.exact
    assert ": the size shrinks, the floor on toy hardly" in " ".join(str(found).split())


def test_zeros_alone_leave_bytes_macs_and_time_as_they_are() -> None:
    found = what_if("alexnet", "sparsity:fc*=90%", on="toy")
    changed = {one.name for one in found.metrics if one.ratio not in (None, 1.0)}
    assert changed == {"nonzero_parameters", "nonzero_macs"}
    left = sum(n - 9 * n // 10 for n in (9216 * 4096, 4096 * 4096, 4096 * 1000))
    assert found.metric("nonzero_parameters").after == 60_965_224 - LINEAR + left
    assert found.metric("nonzero_macs").after == 724_406_816 - LINEAR + left
    assert [layer.name for layer in found.layers] == ["fc6", "fc7", "fc8"]
    assert any("no runtime leaves zeros out by itself" in note for note in found.notes)
    assert (
        "parameters 1 times, of them not zero 0.1346 times, model size 1 times, MACs 1 times, of them not zero 0.9272 times, "
        "latency floor on toy 1 times: zeros save neither bytes nor time by themselves"
        in (" ".join(str(found).split()))
    )


def test_parameters_build_the_network_anew_before_all_else() -> None:
    found = what_if("mobilenet_v2:width=1.4,classes=10", ["prune=30%", "width=0.75", "resolution=160"])
    assert found.before == weigh("mobilenet_v2:width=1.4,classes=10")
    built = load("mobilenet_v2:width=0.75,classes=10,resolution=160")
    assert found.after.facts == weigh(applied(built, changes_of("prune=30%"))).facts
    assert found.after.network.source == "mobilenet_v2:width=0.75,classes=10,resolution=160"
    assert what_if("alexnet", "batch=4", batch=2).after.facts == weigh("alexnet", batch=4).facts


def test_parameters_of_a_network_file(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'name = "net"\nsource = "made up"\nparameters.width = 8\n'
        'inputs = [{ name = "x", shape = [1, 4] }]\nlayers = [{ name = "fc", op = "linear", out = "width" }]\n'
    )
    found = what_if(path, ["width=16", "bits=4"])
    assert (found.before.facts.weights, found.after.facts.weights, found.after.facts.weight_bytes) == (32, 64, 32)
    with pytest.raises(BadSpec, match="no change 'colour'") as caught:
        what_if(path, "colour=3")
    assert "the parameters of this network are width" in caught.value.hint


def test_precision_holds_for_both_sides_and_bits_come_after_it() -> None:
    found = what_if("alexnet", ["bits:fc*=4"], on="stm32f746", precision="int8")
    assert found.before.facts == weigh("alexnet", precision="int8").facts
    assert found.metric("weight_bytes").after == 60_954_656 - LINEAR // 2
    assert not found.after.has_stored_widths
    assert found.metric("floor_s", "stm32f746").ratio == 1.0
    bare = what_if("alexnet", ["bits=8", "activation-bits=8"], on="stm32f746")
    assert bare.metric("floor_s", "stm32f746").before is None
    assert bare.metric("floor_s", "stm32f746").after == found.metric("floor_s", "stm32f746").before
    assert not bare.metric("floor_s", "stm32f746").exact


def test_steps_are_each_step_and_the_last_is_the_result() -> None:
    changes = ["global-pool", "bits=8", "bits:last=4", "sparsity=0.5"]
    found = what_if("alexnet", changes, steps=True)
    assert [step.changes for step in found.steps] == [("global-pool",), ("bits=8", "bits:last=4"), ("sparsity=0.5",)]
    assert found.steps[-1].report == found.after == what_if("alexnet", changes).after
    assert found.steps[0].report.facts == what_if("alexnet", "global-pool").after.facts
    assert what_if("alexnet", changes).steps == ()


def test_every_metric_is_that_of_the_reports() -> None:
    found = what_if("alexnet", "depthwise", on=["toy", "stm32f746"], energy="45nm")
    for side in ("before", "after"):
        report = getattr(found, side)
        for name in (
            "parameters",
            "weights",
            "macs",
            "flops",
            "deployed_parameters",
            "parameter_bytes",
            "nonzero_macs",
        ):
            assert getattr(found.metric(name), side) == getattr(report.facts, name)
        for policy, size in report.memory.peak_bytes.items():
            if policy not in report.memory.inapplicable:
                assert getattr(found.metric(f"peak_bytes.{policy}"), side) == size
        for on in report.on:
            assert getattr(found.metric("verdict", on.device), side) == on.fit.verdict
            assert getattr(found.metric("floor_s", on.device), side) == on.latency.floor_s
            assert getattr(found.metric("bound", on.device), side) == on.latency.bound
            for region in on.fit.regions:
                assert getattr(found.metric(f"short_bytes.{region.name}", on.device), side) == region.short_bytes
        assert getattr(found.metric("energy.arithmetic_j"), side) == report.energy.arithmetic_j
    macs = found.metric("macs")
    assert (macs.ratio, macs.times_smaller) == (macs.after / macs.before, macs.before / macs.after)


def test_json_round_trip() -> None:
    found = what_if("lenet5", ["low-rank:f6=10", "sparsity=0.5"], on="toy", steps=True)
    assert WhatIf.from_json(found.to_json()) == found
    data = found.to_dict()
    assert list(data) == [
        *("schema", "tool", "source", "changes", "before", "after", "metrics", "layers", "steps", "notes")
    ]
    assert data["before"] == found.before.to_dict()
    assert set(data["metrics"][0]) >= {"name", "unit", "before", "after", "ratio", "exact"}
    assert repr(found).startswith("<WhatIf lenet5 low-rank:f6=10 sparsity=0.5: parameters x 0.8")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"schema": 2}, "$.schema"),
        ({"before": {}}, "$.before"),
        ({"changes": "x"}, "$.changes"),
        ({"steps": "x"}, "$.steps"),
        ({"notes": [1]}, "$.notes[0]"),
        ({"steps": [{}]}, "$.steps[0]"),
        ({"tool": None}, "$.tool"),
    ],
)
def test_a_comparison_that_was_altered(change: dict, path: str) -> None:
    with pytest.raises(BadSpec) as caught:
        WhatIf.from_dict({**what_if("mlp", "bits=8").to_dict(), **change})
    assert caught.value.where == path


def test_a_graph_has_neither_sizes_nor_parameters() -> None:
    graph = load("mlp")
    assert what_if(graph, "bits=8").metric("weight_bytes").ratio == 0.25
    with pytest.raises(BadSpec, match="sizes already"):
        what_if(graph, "bits=8", batch=4)
    with pytest.raises(BadSpec, match="no change 'classes'"):
        what_if(graph, "classes=3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("prune=100%", "no share"),
        ("prune:conv9=30%", "called 'conv9'"),
        ("frobnicate", "no change 'frobnicate'"),
        ("resolution=10", "must be a whole number from 63"),
        ("resolution=wide", "must be a whole number"),
        ([], "nothing to change"),
        ("global-pool:x", "no target"),
    ],
)
def test_bad_changes(changes: str | list[str], message: str) -> None:
    with pytest.raises(BadSpec) as caught:
        what_if("alexnet", changes)
    assert message in str(caught.value)


def test_a_fault_in_a_change_is_told_before_the_source_is_read(tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    path.write_bytes(b"\x08\x07\x12")
    with pytest.raises(BadSpec, match="no share"):
        what_if(path, "prune=100%")


def test_real_files_from_every_front_end(shared: Path) -> None:
    for pattern, change in (
        ("tflite/*/vww_96_int8.tflite", "depthwise"),
        ("onnx/real_models/FastestDet.onnx", "prune=25%"),
    ):
        found = what_if(next((shared / "data").glob(pattern)), change)
        assert found.metric("macs").exact
        assert found.metric("macs").ratio < 1
        assert found.metric("peak_bytes.live").after is not None
        assert WhatIf.from_json(found.to_json()) == found


def test_the_name_is_there_without_the_module() -> None:
    assert weighbridge.what_if is what_if
    assert "what_if" in dir(weighbridge)


def test_training_memory_is_a_metric_where_it_is_asked_for() -> None:
    found = what_if("mobilenet_v2", "prune=30%", batch=8, train="adam")
    saved, total = found.metric("training.saved_bytes"), found.metric("training.total_bytes")
    before, after = found.before.memory.training, found.after.memory.training
    assert before is not None
    assert after is not None
    assert (saved.before, saved.after) == (before.saved_bytes, after.saved_bytes)
    assert (total.before, total.after) == (before.total_bytes, after.total_bytes)
    assert saved.exact
    assert found.metric("training.gradient_bytes").ratio == pytest.approx(found.metric("parameters").ratio)
    assert before == weigh("mobilenet_v2", batch=8, train="adam").memory.training
    assert not [one for one in what_if("mobilenet_v2", "prune=30%").metrics if one.name.startswith("training.")]


def test_training_memory_of_a_what_if_is_by_the_rule_of_papers() -> None:
    with pytest.raises(BadSpec, match="by the rule paper"):
        what_if("lenet5", "prune=30%", train={"rule": "autograd"})
    with pytest.raises(BadSpec, match="did you mean adam"):
        what_if("lenet5", "prune=30%", train="adamm")
