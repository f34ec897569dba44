"""``weighbridge compare`` of PyTorch models: files at a revision with what they import, and a module beside its ONNX export."""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.revisions.scratch import Scratch
from weighbridge import BadSpec, Comparison, TensorSpec, compare, weigh
from weighbridge.cli.main import main

NET = """
from torch import nn

from layers import WIDTH
from package.head import CLASSES


class Net(nn.Module):
    def __init__(self, scale: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, WIDTH * scale, 3, bias=False)
        self.fc = nn.Linear(WIDTH * scale, CLASSES, bias=False)

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3)))
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """A network whose width is in a file beside its own, and its classes in a package at the top; both differ on ``main``."""
    made = Scratch(tmp_path / "repository")
    made.commit({"models/net.py": NET, "models/layers.py": "WIDTH = 4", "package/head.py": "CLASSES = 10"})
    made.git("tag", "before")
    made.commit({"models/layers.py": "WIDTH = 8", "package/head.py": "CLASSES = 20"})
    monkeypatch.chdir(made.folder)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return made


def weights(width: int, classes: int) -> int:
    return 3 * 9 * width + width * classes


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> Comparison:
    assert main(["compare", *arguments, "--json", "-"]) == 0, capsys.readouterr().err
    return Comparison.from_json(capsys.readouterr().out)


def test_a_python_file_imports_what_was_there_at_its_revision(
    repository: Scratch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["models/net.py:Net@before", "models/net.py:Net", "models/net.py:Net:scale=2@before"]
    modules, path = set(sys.modules), sys.path[:]
    found = compared(capsys, *names, "--input", "1x3x16x16")
    assert found.metric("weights").values == (weights(4, 10), weights(8, 20), weights(8, 10))
    assert [model.source for model in found.models] == [model.report.network.source for model in found.models] == names
    assert str(tmp_path) not in found.to_json()
    assert not {name for name in sys.modules if name not in modules} & {"net", "layers", "package", "package.head"}
    assert sys.path == path
    assert list((tmp_path / "temporary").glob("weighbridge-*")) == []
    assert repository.git("status", "--short") == ""


def test_from_a_folder_below_and_with_the_top_on_the_path_of_python(
    repository: Scratch, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(repository.folder))
    monkeypatch.chdir(repository.folder / "models")
    found = compared(capsys, "net.py:Net@before", "net.py:Net", "--input", "1x3x16x16")
    assert found.metric("weights").values == (weights(4, 10), weights(8, 20))


def test_a_module_that_only_the_working_tree_has_is_not_taken_in_its_place(
    repository: Scratch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"models/net.py": NET.replace("from layers", "from added"), "models/layers.py": None})
    repository.git("tag", "broken")
    repository.commit({"added.py": "WIDTH = 2"})
    assert main(["compare", "models/net.py:Net@broken", "models/net.py:Net", "--input", "1x3x16x16"]) == 2
    said = capsys.readouterr().err
    assert "models/net.py@broken: it imports added, which that revision does not have and the working tree does" in said
    assert tempfile.gettempdir() not in said


def test_errors_in_a_file_of_a_revision_have_its_name(repository: Scratch, capsys: pytest.CaptureFixture[str]) -> None:
    repository.commit({"models/net.py": "import torch\n\n1 / 0\n"})
    assert main(["compare", "models/net.py:Net@main", "models/net.py:Net@before", "--input", "1x3x16x16"]) == 2
    assert "error: models/net.py@main:3: the file cannot be imported: ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(BadSpec, match=r"models/net.py@main:Net: a Python file is imported by the command line alone"):
        compare(["models/net.py:Net@main", "mlp"])


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def exported(module: nn.Module, batch: bool = False) -> bytes:
    """The module as ONNX, by PyTorch's exporter; with an open batch where that is asked for."""
    content = io.BytesIO()
    axes = {"x": {0: "batch"}} if batch else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, torch.zeros(1, 3, 16, 16), content, dynamo=False, input_names=["x"], dynamic_axes=axes
        )
    return content.getvalue()


def test_a_module_and_its_onnx_export_are_one_network(tmp_path: Path) -> None:
    """Shapes without a name are the module's, the file says its own; every layer is matched, and no figure of the network differs."""
    module = Small().eval()
    path = tmp_path / "small.onnx"
    path.write_bytes(exported(module))
    found = compare([module, path], inputs=(1, 3, 16, 16))
    assert [model.name for model in found.models] == ["Small", "small.onnx"]
    for name in ("macs", "weights", "deployed_parameters", "activations.total", "peak_bytes.live"):
        assert found.metric(name).ratios == (1, 1), name
    (difference,) = found.differences
    assert difference.same == len(found.models[0].report.nodes)
    assert difference.layers == ()


def test_an_open_batch_is_the_file_s_and_shapes_are_the_module_s(tmp_path: Path) -> None:
    module = Small().eval()
    path = tmp_path / "small.onnx"
    path.write_bytes(exported(module, batch=True))
    found = compare([module, str(path)], inputs=[TensorSpec((4, 3, 16, 16))], batch=4)
    assert found.metric("macs").ratios == (1, 1)
    found = compare({"module": module, "file": path}, inputs={"x": (4, 3, 16, 16)})
    assert [model.name for model in found.models] == ["module", "file"]
    assert found.metric("macs").ratios == (1, 1)
    with pytest.raises(BadSpec, match="the inputs of a module say their sizes"):
        compare([module, module], inputs=(1, 3, 16, 16), batch=4)


def test_a_report_keeps_its_own_sizes() -> None:
    report = weigh(Small(), inputs=(2, 3, 16, 16))
    found = compare([report, Small()], inputs=(1, 3, 16, 16))
    assert found.metric("macs").ratios == (1, 0.5)


def test_training_is_by_one_rule_on_all_sides(tmp_path: Path) -> None:
    """What PyTorch holds is known of modules alone: beside a file both are by the rule of the literature."""
    path = tmp_path / "small.onnx"
    path.write_bytes(exported(Small().eval()))
    found = compare([Small(), path], inputs=(1, 3, 16, 16), train="adam")
    assert {model.report.memory.training.rule for model in found.models} == {"paper"}
    found = compare([Small(), Small()], inputs=(1, 3, 16, 16), train="adam")
    assert {model.report.memory.training.rule for model in found.models} == {"autograd"}
