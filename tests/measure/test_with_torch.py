"""PyTorch models by name and exported programs in PyTorch.  No test compiles on a graphics processor: none is here."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch

from tests.measure.orders import order
from weighbridge.errors import BadSpec, MeasureError
from weighbridge.measure.runners import with_torch
from weighbridge.measure.runners.with_torch import outermost, ready, summed

NAME = "torchvision:squeezenet1_1"
SMALL = {"x": ((2, 3, 64, 64), "float32")}


class Twice(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any, *, y: Any) -> Any:
        return torch.relu(x) + y


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "twice.pt2"
    torch.export.save(torch.export.export(Twice(), (torch.ones(2, 3),), {"y": torch.ones(3)}), path)
    return path


def test_a_model_by_name_is_run_with_values_that_are_made_up() -> None:
    runner = ready(order(NAME, SMALL))
    assert len(runner.samples(3, 2)) == 3
    about = runner.about
    assert (about.version, about.mode, about.accelerator) == (torch.__version__, "eager", None)
    assert [(one.name, one.shape, one.dtype) for one in about.inputs] == [("x", (2, 3, 64, 64), "float32")]
    assert {"python", "numpy", "torchvision", "onednn"} == set(about.libraries)
    assert any("weights are made up" in note for note in about.notes)


def test_it_is_in_evaluation_mode_and_follows_no_gradients() -> None:
    runner = ready(order(NAME, SMALL))
    seen: list[Any] = []
    runner._call.register_forward_hook(lambda module, _, result: seen.append((module.training, result.is_inference())))
    runner.samples(1, 2)
    assert seen == [(False, True)] * 2


def test_the_threads_are_those_asked_for() -> None:
    before = torch.get_num_threads()
    try:
        ready(order(NAME, SMALL)._replace(threads=1))
        assert torch.get_num_threads() == 1
        ready(order(NAME, SMALL)._replace(threads=2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_an_exported_program_is_called_by_position_and_by_keyword(exported: Path) -> None:
    runner = ready(order(exported, {"x": ((2, 3), "float32"), "y": ((3,), "float32")}))
    args, kwargs = runner._tensors
    assert ([tuple(one.shape) for one in args], {name: tuple(one.shape) for name, one in kwargs.items()}) == (
        [(2, 3)],
        {"y": (3,)},
    )
    assert len(runner.samples(1, 1)) == 1


def test_a_batch_that_the_program_forbids_is_refused_in_one_line(exported: Path) -> None:
    with pytest.raises(MeasureError, match="pytorch refuses it: ") as caught:
        ready(order(exported, {"x": ((5, 3), "float32"), "y": ((3,), "float32")}))
    assert "\n" not in str(caught.value)


def test_inputs_that_cannot_be_told_apart_are_refused(exported: Path) -> None:
    with pytest.raises(MeasureError, match="the program takes 2 values, of which 1 are tensors"):
        ready(order(exported, {"x": ((2, 3), "float32")}))
    with pytest.raises(MeasureError, match="its inputs a, b cannot be told apart"):
        ready(order(NAME, {"a": ((1, 3, 64, 64), "float32"), "b": ((1,), "float32")}))


def test_nothing_in_an_exported_program_is_unpickled(exported: Path, tmp_path: Path) -> None:
    """An archive whose weights are a pickle that would write a file."""
    told = tmp_path / "told"

    class Writes:
        def __reduce__(self) -> Any:
            return Path.touch, (told,)

    hostile = tmp_path / "hostile.pt2"
    pickled = io.BytesIO()
    torch.save(Writes(), pickled)
    with zipfile.ZipFile(exported) as source, zipfile.ZipFile(hostile, "w") as target:
        for name in source.namelist():
            is_data = "/data/" in name and not name.endswith(".json")
            target.writestr(name, pickled.getvalue() if is_data else source.read(name))
    try:
        ready(order(hostile, {"x": ((2, 3), "float32"), "y": ((3,), "float32")}))
    except MeasureError as error:
        assert "pytorch refuses it" in str(error)
    assert not told.exists()
    assert pickle.loads is not None


def test_the_readers_of_pickles_are_shut_while_a_program_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from torch.export.pt2_archive import _package as package

    path = tmp_path / "a.pt2"
    path.touch()
    seen: list[str] = []

    def load(_: str) -> None:
        for read in (lambda: package.pickle.loads(b""), lambda: torch._C._pickle_load_obj(b"")):
            with pytest.raises(ValueError, match="could run any code"):
                read()
            seen.append("refused")
        saved = io.BytesIO()
        torch.save(SimpleNamespace(a=1), saved)
        saved.seek(0)
        with pytest.raises(pickle.UnpicklingError):
            torch.load(saved, weights_only=False)
        seen.append("refused")
        raise ValueError("enough")

    monkeypatch.setattr(torch.export, "load", load)
    with pytest.raises(MeasureError, match="pytorch refuses it: enough"):
        ready(order(path))
    assert seen == ["refused"] * 3
    assert package.pickle is pickle


@pytest.mark.parametrize("mode", ["fast", "eager cuda"])
def test_a_mode_that_is_not_here_is_refused_with_those_that_are(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadSpec, match=f"pytorch has no mode {mode} here; there is eager, compile"):
        ready(order(NAME, SMALL, mode))


def test_a_compiled_model_is_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def compile_(module: Any) -> Any:
        calls.append("compile")
        return lambda *args, **kwargs: calls.append("run") or module(*args, **kwargs)

    monkeypatch.setattr(torch, "compile", compile_)
    runner = ready(order(NAME, SMALL, "compile"))
    runner.samples(1, 2)
    assert calls == ["compile", "run", "run", "run"]
    assert any(note.startswith("compiling and the first run took") for note in runner.about.notes)
    assert "names no loop that was compiled" in runner.profile(1).method


def test_a_graphics_processor_is_waited_for_around_each_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is only begun by a run: once before the samples, once at the end of each."""
    runner = ready(order(NAME, SMALL))
    calls: list[str] = []
    monkeypatch.setattr(runner, "_device", "cuda")
    monkeypatch.setattr(runner, "_call", lambda *_, **__: calls.append("run"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append("wait"))
    runner.samples(2, 3)
    assert calls == ["wait", *["run"] * 3, "wait", *["run"] * 3, "wait"]


def test_memory_that_pytorch_does_not_get_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: Any, **__: Any) -> Any:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(torch.nn.Module, "to", built)
    with pytest.raises(MeasureError, match=r"there is not enough memory for it in pytorch.*try a smaller batch"):
        ready(order(NAME, SMALL))


def test_the_profile_names_what_the_model_called() -> None:
    found = ready(order(NAME, SMALL)).profile(2)
    calls = {one.operators: one.calls for one in found.classes}
    assert (found.runs, calls["aten::conv2d"], calls["aten::max_pool2d"], calls["aten::cat"]) == (2, 26, 3, 8)
    assert "aten::convolution" not in calls
    assert sum(one.time_s for one in found.classes) <= found.total_s


def test_an_operator_that_another_calls_is_in_the_time_of_that() -> None:
    def event(name: str, above: Any = None) -> Any:
        return SimpleNamespace(name=name, cpu_parent=above, cpu_time_total=1e6)

    (module,) = [event("nn.Module: Twice_0")]
    outer = event("aten::linear", module)
    found = outermost([module, outer, event("addmm", outer), event("aten::addmm", event("x", outer))], "cpu_time_total")
    assert found == {"aten::linear": (1.0, 1)}


def test_the_profile_is_a_median_and_what_a_run_lacks_is_nothing_in_it() -> None:
    runs = [(3.0, {"a": (1.0, 1)}), (5.0, {"a": (2.0, 1), "b": (3.0, 2)}), (4.0, {"a": (9.0, 1), "b": (1.0, 2)})]
    found = summed(runs, "m")
    assert (found.total_s, found.method) == (4, "m")
    assert [(one.operators, one.time_s, one.calls) for one in found.classes] == [("a", 2, 1), ("b", 1, 2)]


def test_half_precision_is_filled_by_rounding() -> None:
    tensor, how = with_torch._filled("x", (2, 2), "bfloat16", order("a"))
    assert (tensor.dtype, how) == (torch.bfloat16, "normal numbers")
    with pytest.raises(MeasureError, match="its input x is complex32, which cannot be filled"):
        with_torch._filled("x", (1,), "complex32", order("a"))


def test_the_first_run_under_the_profiler_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes what the others find there."""
    seen = iter([(100.0, {"aten::x": (90.0, 1)}), *((float(one), {"aten::x": (one / 2, 1)}) for one in (1, 2, 3))])
    monkeypatch.setattr(with_torch, "_profiled", lambda run, device: next(seen))
    runner = object.__new__(with_torch.PyTorch)
    runner._device, runner._is_compiled = "cpu", False
    found = runner.profile(3)
    assert (found.runs, found.total_s, found.classes[0].time_s) == (3, 2, 1)
