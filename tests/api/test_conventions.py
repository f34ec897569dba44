"""Figures by another counter's convention, asked for in Python and on the command line, and shown by every format."""

from __future__ import annotations

import json

import pytest

import weighbridge
from weighbridge import BadSpec, Report
from weighbridge.cli.main import main

RESNET18 = 1_819_065_856
"""What fvcore 0.1.5 prints for torchvision's ResNet-18 at 224 x 224."""


def test_figures_stand_beside_ours_and_ours_stay() -> None:
    plain, asked = weighbridge.weigh("resnet18"), weighbridge.weigh("resnet18", convention="fvcore")
    assert plain.facts.conventions == {}
    assert asked.facts._replace(conventions={}) == plain.facts
    found = asked.facts.conventions["fvcore"]
    assert (found.macs, found.activations, found.parameters) == (RESNET18, 2_484_712, 11_689_512)
    assert (found.weight_bytes, found.exact, found.uncounted) == (4 * 11_689_512, True, ())


def test_figures_are_of_the_graph_as_the_model_holds_it() -> None:
    asked = weighbridge.weigh("resnet18", convention=["fvcore", "fvcore"], as_written=True)
    assert asked.facts.conventions["fvcore"].macs == RESNET18


def test_a_saved_report_keeps_them() -> None:
    asked = weighbridge.weigh("alexnet", convention=("fvcore",))
    read = Report.from_json(asked.to_json())
    assert read.facts.conventions == asked.facts.conventions
    assert json.loads(asked.to_json())["facts"]["conventions"]["fvcore"]["exact"] is True


@pytest.mark.parametrize("asked", ["thop", 5, [["fvcore"]], ["fvcore", "thop"]], ids=str)
def test_a_convention_that_does_not_exist_is_refused(asked: object) -> None:
    with pytest.raises(BadSpec, match="there is no convention"):
        weighbridge.weigh("alexnet", convention=asked)  # type: ignore[arg-type]


def test_the_page_shows_named_lines_and_the_sentence() -> None:
    shown = str(weighbridge.weigh("resnet18", convention="fvcore"))
    assert "MACs, fvcore" in shown
    assert "1,819,065,856" in shown
    assert "as fvcore counts" in shown
    assert "fvcore" not in str(weighbridge.weigh("resnet18"))


def test_the_option_of_the_command_is_the_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weigh", "resnet18", "--convention", "fvcore", "--json", "-"]) == 0
    found = Report.from_json(capsys.readouterr().out).facts.conventions
    assert found == weighbridge.weigh("resnet18", convention="fvcore").facts.conventions
    assert main(["weigh", "resnet18", "--convention", "thop"]) == 2
    assert "the conventions are fvcore" in capsys.readouterr().err


def test_a_vendor_s_figures_have_a_line_for_the_weights_and_none_for_activations() -> None:
    asked = weighbridge.weigh("mobilenet_v2", precision="int8", convention=["st", "vela"])
    shown = " ".join(str(asked).split())
    assert "MACC, st" in shown
    assert "weights, st" in shown
    assert "MACs, vela" in shown
    assert "weights, vela" not in shown
    assert "activations, st" not in shown
    read = Report.from_json(asked.to_json())
    assert read.facts.conventions == asked.facts.conventions
    assert read.facts.conventions["st"].activations is None
    assert read.facts.conventions["vela"].weight_bytes is None


def test_a_compiler_s_figures_are_of_the_graph_as_it_runs_whatever_else_is_shown() -> None:
    """Batch normalisation is folded before either counts, also where the page shows the graph as written."""
    written, deployed = (
        weighbridge.weigh("resnet18", convention="st", as_written=as_written).facts.conventions["st"]
        for as_written in (True, False)
    )
    assert written == deployed
    assert deployed.exact
