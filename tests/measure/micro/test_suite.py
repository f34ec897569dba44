"""Single operators in the process of a runtime: all are held ready at once, and what it refuses is left out and told."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("onnx")

from weighbridge.errors import BadSpec, MeasureError, MissingExtra
from weighbridge.measure.apart import Apart
from weighbridge.measure.micro.orders import COPY, bytes_by_name
from weighbridge.measure.micro.specs import SPECS
from weighbridge.measure.micro.suite import suite

SMALL = [next(spec for spec in SPECS if spec.operators == kind) for kind in ("elementwise", "lookup", "attention")]
NONE = SMALL[0]._replace(name="of no kind", operator="Nonsense")


def test_all_of_them_are_taken_and_what_is_refused_is_left_out() -> None:
    heard: list[str] = []
    found = suite("onnxruntime", seconds=0.0, specs=[*SMALL, NONE], progress=heard.append)
    assert [one.name for one in found.times] == [spec.name for spec in SMALL]
    assert (found.runtime, found.mode, found.precision, found.threads) == (
        "onnxruntime",
        "CPUExecutionProvider",
        "float32",
        1,
    )
    assert found.rounds == 5
    for one in found.times:
        assert one.least_s == min(one.samples_s)
        assert one.least_s <= one.median_s
        assert len(one.samples_s) >= 2 * found.rounds
    (note,) = found.notes
    assert note.startswith("of no kind is left out: onnxruntime refuses it")
    assert heard[-1] == "single operators in onnxruntime: round 5"


def test_where_the_first_is_refused_that_is_an_error() -> None:
    with pytest.raises(MeasureError, match="onnxruntime refuses it"):
        suite("onnxruntime", seconds=0.0, specs=[NONE])


def test_pytorch_runs_the_same() -> None:
    pytest.importorskip("torch")
    found = suite("pytorch", seconds=0.0, specs=SMALL)
    assert [one.name for one in found.times] == [spec.name for spec in SMALL]
    assert found.mode == "eager"
    assert not found.notes


def test_a_runtime_without_single_operators_is_told() -> None:
    with pytest.raises(BadSpec, match="litert runs no single operators"):
        suite("litert")


def test_without_onnx_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "weighbridge.measure.micro.onnx_file", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match="written with numpy and onnx") as caught:
        suite("onnxruntime", specs=SMALL)
    assert "weighbridge[measure]" in caught.value.hint


def test_a_process_holds_several_until_they_are_dropped() -> None:
    with Apart("numpy", bytes_by_name(COPY, 4096, 1, 8192)) as apart:
        number = apart.also(bytes_by_name(COPY, 8192, 1, 8192))
        assert len(apart.samples(2, 1, number)) == len(apart.samples(2, 1)) == 2
        apart.drop(number)
        with pytest.raises(MeasureError, match="nothing is ready to run"):
            apart.samples(1, 1, number)
        assert apart.also(bytes_by_name(COPY, 8192, 1, 8192)) != number
