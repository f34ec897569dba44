"""TensorFlow Lite files in LiteRT."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.measure.orders import order
from weighbridge.errors import BadSpec, MeasureError

pytest.importorskip("ai_edge_litert")

from weighbridge.measure.runners import with_litert
from weighbridge.measure.runners.with_litert import ready


@pytest.fixture(scope="session")
def faces(shared: Path) -> Path:
    """The int8 network of visual wake words of MLPerf Tiny, batch open."""
    return shared / "data" / "tflite" / "mlperf_tiny" / "vww_96_int8.tflite"


def test_a_file_is_run_under_conditions_that_are_said(faces: Path) -> None:
    runner = ready(order(faces))
    assert len(runner.samples(4, 2)) == 4
    about = runner.about
    assert about.mode == "xnnpack"
    assert [(one.shape, one.dtype, one.filled) for one in about.inputs] == [((1, 96, 96, 3), "int8", "ones")]
    assert about.version[0].isdigit()
    assert set(about.libraries) == {"python", "numpy"}
    assert any(note.startswith("XNNPACK takes the operators in ") for note in about.notes)


def test_it_has_no_profile_and_says_so(faces: Path) -> None:
    runner = ready(order(faces))
    assert runner.profile(3) is None  # type: ignore[func-returns-value]
    assert "LiteRT's package for Python has no profiler" in runner.about.notes


def test_its_own_kernels_run_where_they_are_asked_for(faces: Path) -> None:
    runner = ready(order(faces, mode="builtin"))
    assert runner.about.mode == "builtin"
    assert "DELEGATE" not in {one["op_name"] for one in runner._interpreter._get_ops_details()}
    own = ready(order(faces))
    assert "DELEGATE" in {one["op_name"] for one in own._interpreter._get_ops_details()}


def test_an_open_batch_is_the_one_asked_for(faces: Path) -> None:
    runner = ready(order(faces, {"input_1_int8": ((3, 96, 96, 3), "int8")}))
    assert runner.about.inputs[0].shape == (3, 96, 96, 3)
    assert runner._interpreter.get_output_details()[0]["shape"][0] == 3


def test_a_size_that_the_file_fixes_is_refused(faces: Path) -> None:
    said = r"its input input_1_int8 is fixed at \?x96x96x3, and 1x48x96x3 was asked for; leave the batch and the shapes"
    with pytest.raises(MeasureError, match=said):
        ready(order(faces, {"input_1_int8": ((1, 48, 96, 3), "int8")}))


def test_inputs_by_other_names_are_taken_in_their_order(faces: Path) -> None:
    assert ready(order(faces, {"image": ((2, 96, 96, 3), "int8")})).about.inputs[0].shape == (2, 96, 96, 3)


def test_a_mode_that_does_not_exist_is_refused(faces: Path) -> None:
    with pytest.raises(BadSpec, match="litert has no mode gpu; there is xnnpack, builtin"):
        ready(order(faces, mode="gpu"))


def test_an_operator_that_it_lacks_is_refused_in_one_line(shared: Path) -> None:
    path = shared / "data" / "tflite" / "litert" / "simple_add_op_google_tensor_p25_precompiled.tflite"
    with pytest.raises(
        MeasureError, match="litert refuses it: Encountered unresolved custom op: DISPATCH_OP"
    ) as caught:
        ready(order(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tflite"
    path.write_bytes(b"\x1b[2J")
    with pytest.raises(MeasureError, match="litert refuses it: ") as caught:
        ready(order(path))
    assert "\x1b" not in str(caught.value)


def test_the_threads_are_told_to_the_interpreter(faces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    real = with_litert.Interpreter

    def told(path: str, **options: Any) -> Any:
        seen.update(options)
        return real(path, **options)

    monkeypatch.setattr(with_litert, "Interpreter", told)
    ready(order(faces)._replace(threads=2))
    assert seen["num_threads"] == 2


def test_a_signature_is_called_by_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No small file with signatures is at hand: a runner stands in for that of the library."""
    calls: list[dict[str, Any]] = []

    class Called:
        def get_input_details(self) -> dict[str, Any]:
            return {"x": {"name": "serving_x:0", "shape": [1, 2], "shape_signature": [-1, 2], "dtype": np.float32}}

        def __call__(self, **feeds: Any) -> None:
            calls.append(feeds)

    made = SimpleNamespace(get_signature_runner=lambda name: Called())
    monkeypatch.setattr(with_litert, "Interpreter", lambda path, **_: made)
    runner = ready(order("a.tflite:encode", {"serving_x:0": ((5, 2), "float32")}))
    runner.samples(2, 3)
    assert len(calls) == 7
    assert calls[0]["x"].shape == (5, 2)
    assert any("copies the inputs and outputs" in note for note in runner.about.notes)


def test_strings_cannot_be_made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    details = [{"name": "text", "index": 0, "shape": [1], "dtype": np.bytes_}]
    made = SimpleNamespace(get_input_details=lambda: details)
    monkeypatch.setattr(with_litert, "Interpreter", lambda path, **_: made)
    path = tmp_path / "a.tflite"
    path.touch()
    with pytest.raises(MeasureError, match="its input text is bytes, which cannot be filled"):
        ready(order(path))
