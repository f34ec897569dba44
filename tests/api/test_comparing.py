"""``weighbridge.compare``: what it takes, how the sides are called, and who gets which options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weighbridge
from tests.revisions.scratch import Scratch
from weighbridge import BadModel, BadSpec, Comparison, compare, load, weigh
from weighbridge.comparing import Side, compared, sides_of, takes
from weighbridge.published import find
from weighbridge.report import Report


def test_the_first_is_what_the_others_are_compared_with() -> None:
    found = compare(["resnet18", "resnet34"], on="toy", precision="fp32")
    small, large = (weigh(name, on="toy", precision="fp32") for name in ("resnet18", "resnet34"))
    assert [model.report for model in found.models] == [small, large]
    assert found.metric("macs").ratios == (1, large.facts.macs / small.facts.macs)
    assert found.metric("floor_s", "toy").values == (small.on[0].latency.floor_s, large.on[0].latency.floor_s)
    assert Comparison.from_json(found.to_json()) == found
    assert weighbridge.Comparison is Comparison


def test_reports_graphs_and_published_rows() -> None:
    report, graph, row = weigh("lenet5"), load("mlp"), find("i3d")
    found = compare([report, graph, row, "published:tsm_8f"])
    assert [(model.name, model.source) for model in found.models] == [
        ("lenet5", ""),
        (graph.name, ""),
        ("i3d", ""),
        ("tsm_8f", "published:tsm_8f"),
    ]
    assert [model.published for model in found.models[2:]] == [row, find("tsm_8f")]
    assert found.models[0].report is report
    assert found.models[1].report == weigh(graph)


def test_names_of_one_s_own_and_names_that_are_alike() -> None:
    found = compare({"small": "lenet5", "published": find("i3d"), 3: "mlp"})
    assert [model.name for model in found.models] == ["small", "published", "3"]
    found = compare([weigh("lenet5"), weigh("lenet5"), "lenet5"])
    assert [model.name for model in found.models] == ["lenet5", "lenet5 (2)", "lenet5 (3)"]


def test_paths_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "my@net.toml"
    path.write_text(
        'name = "n"\nsource = "s"\ninputs = [{ name = "x", shape = [1, 8] }]\n'
        'layers = [{ name = "fc", op = "linear", out = 2 }]\n'
    )
    found = compare([path, str(path)])
    assert [model.name for model in found.models] == [str(path), f"{path} (2)"]
    assert found.metric("weights").values == (16, 16)


@pytest.mark.parametrize(
    ("models", "options", "said"),
    [
        ([], {}, "no model is nothing to compare"),
        (["lenet5"], {}, "one model is nothing to compare"),
        ("lenet5", {}, "several models are compared"),
        (Path("lenet5"), {}, "several models are compared"),
        (3, {}, "several models are compared"),
        (["lenet5", 3], {}, "a source is a path or a name, or a PyTorch module, not an object of type int"),
        (["lenet5", None], {}, "not an object of type NoneType"),
        (["lenet5", b"mlp"], {}, "not an object of type bytes"),
        (["lenet5", ""], {}, "this is a folder"),
        (["lenet5", "published:"], {}, "there is no published network ''"),
        (["lenet5", "net.py:Net"], {}, "a Python file is imported by the command line alone"),
        (["lenet5", "mlp"], {"fps": 30}, "fps: frames missed need a device"),
        ([find("i3d"), find("tsm_8f_batch_16")], {"fps": 30}, "fps: frames missed need a device"),
        ([find("i3d"), weigh("mlp")], {"train": "adam"}, "train: nothing is left to be weighed"),
        ([find("i3d"), weigh("mlp")], {"as_written": True}, "as_written: nothing is left to be weighed"),
        ([find("i3d"), weigh("mlp")], {"inputs": (1, 2)}, "inputs: nothing is left to be weighed"),
        (["lenet5", "mlp"], {"kwargs": {"x": 1}}, "only a PyTorch module has keyword arguments"),
        (["lenet5", load("mlp")], {"dims": {"depth": 3}}, "depth"),
        ([load("lenet5"), load("mlp")], {"batch": 2}, "a graph has its sizes already"),
    ],
)
def test_bad_input(models: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises((BadSpec, BadModel)) as caught:
        compare(models, **options)
    assert said in str(caught.value)


def test_frames_are_missed_by_what_is_known_already() -> None:
    assert compare([weigh("lenet5", on="toy"), "mlp"], fps=30).deadline is not None
    assert compare([find("tsm_8f"), "mlp"], fps="29.97").deadline is not None


@pytest.mark.parametrize(
    ("option", "value", "kinds"),
    [
        ("batch", 4, {"file", "parameters", "library"}),
        ("sequence", 4, {"file", "parameters", "library"}),
        ("dims", {"n": 4}, {"file", "parameters"}),
        ("inputs", {"x": (1, 8)}, {"file", "module", "library"}),
        ("inputs", (1, 8), {"module", "library"}),
        ("kwargs", {"x": (1, 8)}, {"module", "library"}),
    ],
)
def test_a_size_goes_to_every_side_that_can_have_it(option: str, value: object, kinds: set[str]) -> None:
    sides = {
        "file": Side("m.tflite:run", "", "m.tflite:run"),
        "parameters": Side("alexnet", "", "alexnet"),
        "library": Side("timm:x", "", "timm:x"),
        "module": Side("n.py:N", "", "n.py:N"),
        "finished": Side("", "", known=find("i3d")),
    }
    assert {name: side.kind for name, side in sides.items()} == {name: name for name in sides}
    assert {name for name, side in sides.items() if takes(side, sides.values(), option, value)} == kinds
    alone = [sides["finished"]]
    assert takes(alone[0], alone, option, value)


def test_progress_tells_of_every_side() -> None:
    told: list[str] = []
    compare(["lenet5", "mlp"], progress=told.append)
    assert [stage for stage in told if stage.startswith("reading")] == ["reading lenet5", "reading mlp"]


def test_no_note_tells_where_a_file_of_a_revision_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Scratch(tmp_path / "repository")
    repository.commit({"net.json": "{}"})
    monkeypatch.chdir(repository.folder)

    def weighed(side: Side) -> Report:
        return replace(weigh("lenet5"), notes=(f"read from {side.source}",))

    with sides_of(["net.json@main", "lenet5"]) as sides:
        found = compared(sides, weighed, None)
    assert [model.report.notes for model in found.models if model.report] == [
        ("read from net.json@main",),
        ("read from lenet5",),
    ]
