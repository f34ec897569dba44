"""ONNX files in ONNX Runtime: what is run, under which conditions, and what is said where it cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.measure.orders import onnx_file, order
from weighbridge.errors import BadSpec, MeasureError
from weighbridge.measure.runners.with_onnxruntime import _profile, ready


def test_a_file_is_run_as_often_as_asked(tmp_path: Path) -> None:
    runner = ready(order(onnx_file(tmp_path / "a.onnx")))
    found = runner.samples(5, 3)
    assert len(found) == 5
    assert min(found) > 0


def test_the_conditions_are_said(tmp_path: Path) -> None:
    about = ready(order(onnx_file(tmp_path / "a.onnx", "n"), {"x": ((3, 16), "float32")})).about
    assert about.version == onnxruntime.__version__
    assert about.mode == "CPUExecutionProvider"
    assert [(one.name, one.shape, one.dtype, one.filled) for one in about.inputs] == [
        ("x", (3, 16), "float32", "normal numbers")
    ]
    assert set(about.libraries) == {"python", "numpy"}
    assert about.accelerator is None


def test_the_threads_are_those_asked_for(tmp_path: Path) -> None:
    runner = ready(order(onnx_file(tmp_path / "a.onnx"))._replace(threads=2))
    options = runner._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)


def test_values_come_from_a_file_where_one_is_given(tmp_path: Path) -> None:
    values = tmp_path / "x.npy"
    np.save(values, np.full((4, 16), 2, "float32"))
    runner = ready(order(onnx_file(tmp_path / "a.onnx"))._replace(values={"x": str(values)}))
    assert runner._feeds["x"][0, 0] == 2
    assert runner.about.inputs[0].filled == "values of a file"
    np.save(values, np.ones((1, 16), "float32"))
    with pytest.raises(BadSpec, match="has 1x16 float32, not 4x16 float32"):
        ready(order(onnx_file(tmp_path / "a.onnx"))._replace(values={"x": str(values)}))
    values.write_bytes(b"no array")
    with pytest.raises(BadSpec, match=r"has no values.*give a \.npy file"):
        ready(order(onnx_file(tmp_path / "a.onnx"))._replace(values={"x": str(values)}))


def test_made_up_values_are_the_same_each_time(tmp_path: Path) -> None:
    one, other = (ready(order(onnx_file(tmp_path / "a.onnx"))) for _ in range(2))
    assert np.array_equal(one._feeds["x"], other._feeds["x"])


@pytest.mark.parametrize(
    ("rows", "shape", "said"),
    [
        (4, (8, 16), "fixed at 4x16, and 8x16 was asked for"),
        (4, (4, 16, 1), "fixed at 4x16, and 4x16x1 was asked for"),
        ("n", (8, 32), "fixed at ?x16, and 8x32 was asked for"),
    ],
)
def test_a_batch_that_the_file_forbids_is_refused_before_the_runtime_does(
    rows: int | str, shape: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    with pytest.raises(MeasureError) as caught:
        ready(order(onnx_file(tmp_path / "a.onnx", rows), {"x": (shape, "float32")}))
    assert said in str(caught.value)
    assert "leave the batch and the shapes as they are in the file" in str(caught.value)


def test_a_size_that_nobody_gave_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadSpec, match=r"the size of input x is open.*give its shape with --input"):
        ready(order(onnx_file(tmp_path / "a.onnx", "n")))


def test_a_provider_that_is_not_here_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(BadSpec, match=r"no NoneExecutionProvider here; there is .*CPUExecutionProvider"):
        ready(order(onnx_file(tmp_path / "a.onnx"), mode="NoneExecutionProvider"))


def test_a_file_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(b"\x08\x08\x1b[2J")
    with pytest.raises(MeasureError, match="onnxruntime refuses it: ") as caught:
        ready(order(path))
    assert "\x1b" not in str(caught.value)


def test_the_profile_counts_the_calls_of_each_operator(tmp_path: Path) -> None:
    found = ready(order(onnx_file(tmp_path / "a.onnx"))).profile(3)
    assert found.runs == 3
    assert {one.operators: one.calls for one in found.classes} == {"MatMul": 1, "Relu": 1}
    assert [one.time_s for one in found.classes] == sorted((one.time_s for one in found.classes), reverse=True)


def test_the_profile_is_the_median_of_the_runs_but_the_first() -> None:
    def run(begin: int, *operators: tuple[str, int]) -> list[dict[str, object]]:
        events: list[dict[str, object]] = []
        at = begin
        for name, microseconds in operators:
            args = {"op_name": name}
            events.append({"cat": "Node", "name": f"{name}_kernel_time", "ts": at, "dur": microseconds, "args": args})
            at += microseconds
        return [*events, {"cat": "Session", "name": "model_run", "ts": begin, "dur": at - begin + 1}]

    runs = [("Conv", 900)], [("Conv", 10), ("Conv", 20), ("Relu", 1)], [("Conv", 12), ("Conv", 24), ("Relu", 3)]
    events = [event for number, one in enumerate(runs) for event in run(1000 * number, *one)]
    found = _profile(list(reversed(events)), 2)
    assert (found.runs, found.total_s) == (2, pytest.approx(36e-6))
    assert [(one.operators, one.calls) for one in found.classes] == [("Conv", 2), ("Relu", 1)]
    assert [one.time_s for one in found.classes] == pytest.approx([33e-6, 2e-6])
