"""Programs that torch.export.save wrote: the same as the module itself, read without PyTorch, and nothing in them runs."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.pt2.build import POISON, written
from weighbridge.counts import NetworkFacts, count
from weighbridge.errors import BadSpec, NeedsShape, UnsupportedFormat
from weighbridge.frontends.aten_archive import load_pt2, read_pt2
from weighbridge.frontends.from_torch import load_torch
from weighbridge.frontends.sniff import expect, identify
from weighbridge.graph import Graph
from weighbridge.memory import plan
from weighbridge.passes import deploy


def exported(model: nn.Module, args: tuple[Any, ...], path: Path, *, core: bool = False, **choices: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.export.export(model, args, **choices)
        torch.export.save(made.run_decompositions() if core else made, path)
    return path


def facts(graph: Graph) -> tuple[NetworkFacts, dict[str, int | None]]:
    """Network facts and peaks in bytes; without ``eager`` and ``held``, as an export does not say which calls hold arguments."""
    deployed = deploy(graph)
    memory = plan(deployed)
    elements = {
        policy: peak for policy, peak in memory.peak_elements.items() if not policy.startswith(("eager", "held"))
    }
    peaks = {policy: peak for policy, peak in memory.peak_bytes.items() if not policy.startswith(("eager", "held"))}
    return count(graph, deployed, peak_elements=elements), peaks


def alike(found: NetworkFacts, *, named: bool = True) -> NetworkFacts:
    """All facts but what the file calls a node and its operator; without names, too, as a layer under two names has both in an export."""
    words = {"origin": ""} if named else {"origin": "", "name": "", "scope": ""}
    nodes = tuple([one._replace(file_node=None, **words) for one in found.nodes])
    return found._replace(notes=(), nodes=nodes)


class Convolutional(nn.Module):
    """Convolutions in groups, running statistics, a counter written in place, a constant, and a branch on the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, groups=8)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 5))
        self.register_buffer("seen", torch.zeros(1))
        self.scale = torch.ones(5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(1)
        y = nn.functional.relu(self.bn(self.conv(x)), inplace=True)
        y = self.depthwise(y) * 2
        return torch.as_tensor(self.head(y) * self.scale)


class Tied(nn.Module):
    """An embedding and a head that are one matrix, and a layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.layer = nn.Linear(8, 8)
        self.again = self.layer
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.table.weight
        self.unused = nn.Linear(3, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.head(self.again(torch.tanh(self.layer(self.table(ids))))))


class Attention(nn.Module):
    """A transformer's encoder, and attention called by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.to_qkv = nn.Linear(16, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.to_qkv(self.encoder(x)).chunk(3, -1)
        return nn.functional.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)


class Recurrent(nn.Module):
    """Two kinds of recurrent layers, one of them in two directions."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, _ = self.lstm(x)
        z, h = self.gru(y)
        return z.topk(2, -1)[0], h


def _small() -> dict[str, tuple[nn.Module, tuple[Any, ...]]]:
    return {
        "convolutional": (Convolutional().eval(), (torch.zeros(2, 3, 12, 12),)),
        "tied": (Tied().eval(), (torch.zeros(3, 7, dtype=torch.int64),)),
        "attention": (Attention().eval(), (torch.zeros(2, 5, 16),)),
        "recurrent": (Recurrent().eval(), (torch.zeros(2, 5, 6),)),
    }


SMALL = ("convolutional", "tied", "attention", "recurrent")


@pytest.mark.parametrize("name", SMALL)
def test_an_export_is_the_module(name: str, tmp_path: Path) -> None:
    model, args = _small()[name]
    ours, peaks = facts(load_torch(model, args))
    theirs, their_peaks = facts(load_pt2(exported(model, args, tmp_path / f"{name}.pt2")))
    assert ours.exact
    assert alike(theirs, named=name != "tied") == alike(ours, named=name != "tied")
    assert their_peaks == peaks


@pytest.mark.parametrize("name", [name for name in SMALL if name != "recurrent"])
def test_an_export_in_core_operators_has_the_same_macs_and_parameters(name: str, tmp_path: Path) -> None:
    model, args = _small()[name]
    ours, _ = facts(load_torch(model, args))
    theirs, _ = facts(load_pt2(exported(model, args, tmp_path / f"{name}.pt2", core=True)))
    assert theirs.exact, theirs.uncounted
    assert (theirs.macs, theirs.parameters) == (ours.macs, ours.parameters)
    assert theirs.deployed_parameters == ours.deployed_parameters


@pytest.mark.parametrize("name", [name for name in SMALL if name != "tied"])
def test_names_and_scopes_are_those_of_the_module(name: str, tmp_path: Path) -> None:
    model, args = _small()[name]
    path = exported(model, args, tmp_path / f"{name}.pt2")
    ours, theirs = load_torch(model, args), load_pt2(path)
    assert [one.id for one in theirs.stored() if one.role == "parameter"] == [
        one.id for one in ours.stored() if one.role == "parameter"
    ]
    assert {one.scope for one in theirs.nodes if one.operator in ("conv", "linear", "lstm", "gru", "attention")} == {
        one.scope for one in ours.nodes if one.operator in ("conv", "linear", "lstm", "gru", "attention")
    }


def _torchvision(name: str) -> nn.Module:
    torchvision = pytest.importorskip("torchvision")
    with torch.device("meta"):
        model: nn.Module = getattr(torchvision.models, name)()
    return model.eval()


@pytest.mark.parametrize(
    ("name", "parameters", "gmacs", "forms"),
    [
        ("resnet18", 11_689_512, 1.814, ("whole", "core")),
        ("mobilenet_v2", 3_504_872, 0.301, ("whole",)),  # taking its 52 batch norms apart takes most of a minute
        ("vit_b_16", 86_567_656, 17.564, ("whole", "core")),
    ],
)
def test_torchvision_with_an_open_batch(
    name: str, parameters: int, gmacs: float, forms: tuple[str, ...], tmp_path: Path
) -> None:
    """Against the module, and the figures that torchvision prints beside its weights; before and after decomposition."""
    model, x = _torchvision(name), torch.zeros(2, 3, 224, 224, device="meta")
    made = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for form in forms:
        torch.export.save(made if form == "whole" else made.run_decompositions(), tmp_path / f"{form}.pt2")
    ours, peaks = facts(load_torch(model, (x,)))
    with pytest.raises(
        NeedsShape, match=r"dimension 0 \(s\d+\) of the input 'x?(input)?' .* is open; give it: --batch 4"
    ):
        load_pt2(tmp_path / "whole.pt2")
    for form in forms:
        theirs, their_peaks = facts(load_pt2(tmp_path / f"{form}.pt2", batch=2))
        assert theirs.exact
        assert (theirs.macs, theirs.parameters) == (ours.macs, ours.parameters) == (theirs.macs, parameters)
        assert round(theirs.macs / 2e9, 3) == gmacs
        if form == "whole" or name != "vit_b_16":  # the core operators have attention in parts
            assert alike(theirs)._replace(nodes=()) == alike(ours)._replace(nodes=())
            assert form != "whole" or alike(theirs) == alike(ours)
            assert their_peaks == peaks


class Sizes(nn.Module):
    """Sizes that follow from those of the inputs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cat([x, x[:, : x.shape[0]]], 1)
        y = y.reshape(y.shape[0] // 2, 2, -1)
        return y @ y.transpose(1, 2)


@pytest.mark.parametrize("sizes", [(4, 6), (6, 20), (12, 13)])
def test_sizes_follow_from_those_of_the_inputs(sizes: tuple[int, int], tmp_path: Path) -> None:
    rows = torch.export.Dim("rows", max=8)
    shapes = ({0: 2 * rows, 1: torch.export.Dim("columns", min=5)},)
    path = exported(Sizes(), (torch.zeros(8, 10),), tmp_path / "sizes.pt2", dynamic_shapes=shapes)
    ours, _ = facts(load_torch(Sizes(), (torch.zeros(sizes),)))
    theirs, _ = facts(load_pt2(path, inputs={"x": sizes}))
    assert ours.macs == sizes[0] // 2 * 4 * (sizes[0] + sizes[1])
    assert alike(theirs) == alike(ours)
    with pytest.raises(BadSpec, match="outside the range"):
        load_pt2(path, inputs={"x": (18, 20)})


class Nonzero(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].exp()


def test_a_size_that_depends_on_data_is_asked_for(tmp_path: Path) -> None:
    path = exported(Nonzero(), (torch.ones(8),), tmp_path / "nonzero.pt2")
    with pytest.raises(NeedsShape, match=r"the size (u\d+) .* depends on the data; give it: --dim \1=128"):
        load_pt2(path)


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            x = x * 2
        return torch.as_tensor(torch.cond(x.sum() > 0, lambda y: y @ y, lambda y: y + 1, (x,)))


def test_control_flow_is_named_as_not_counted(tmp_path: Path) -> None:
    theirs, _ = facts(load_pt2(exported(Branch(), (torch.ones(4, 4),), tmp_path / "branch.pt2")))
    assert not theirs.exact
    assert [one.operator for one in theirs.uncounted] == ["higher_order.cond"]


def _poisoned(path: Path) -> Path:
    """The same archive with a harmful pickle in the place of all that is no JSON."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    poisoned = {
        name: POISON.ljust(len(content), b"\0") if "/data/" in name and not name.endswith(".json") else content
        for name, content in files.items()
    }
    path.write_bytes(written(poisoned))
    return path


def test_no_pickle_is_opened_and_pytorch_is_not_imported(tmp_path: Path) -> None:
    model, args = _small()["convolutional"]
    ours, _ = facts(load_torch(model, args))
    folder = tmp_path / "empty"
    folder.mkdir()
    _poisoned(exported(model, args, folder / "net.pt2"))
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from weighbridge.frontends.aten_archive import load_pt2\n"
        "from weighbridge.counts import count\n"
        "graph = load_pt2(Path('net.pt2'))\n"
        "facts = count(graph, graph)\n"
        "print(json.dumps([facts.macs, facts.parameters, 'torch' in sys.modules, 'pickle' in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[:3] == [ours.macs, ours.parameters, False]
    assert [one.name for one in folder.iterdir()] == ["net.pt2"]


def test_a_report_says_where_the_program_is_from(tmp_path: Path) -> None:
    model, args = _small()["tied"]
    found = read_pt2(exported(model, args, tmp_path / "tied.pt2"))
    assert found.inputs == ("ids",)
    assert f"written by PyTorch {torch.__version__[:30]}, format 8." in found.capture


@pytest.mark.parametrize(
    ("save", "kind"),
    [
        (lambda path: torch.save(nn.Linear(2, 2).state_dict(), path), "torch"),
        (lambda path: torch.save(nn.Linear(2, 2), path), "torch"),
        (lambda path: torch.save({"a": torch.ones(2)}, path, _use_new_zipfile_serialization=False), "pickle"),
        (lambda path: torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)), path), "torchscript"),
        (lambda path: torch.export.save(torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),)), path), "pt2"),
    ],
    ids=["weights", "module", "before-1.6", "torchscript", "export"],
)
@pytest.mark.filterwarnings("ignore")
def test_pytorch_writes_files_of_four_kinds(save: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    for suffix in (".pt", ".pt2", ".bin"):
        path = tmp_path / f"model{suffix}"
        with path.open("wb") as file:
            save(file)  # type: ignore[arg-type]
        assert identify(path) == kind
        if kind != "pt2":
            with pytest.raises(UnsupportedFormat, match="can run code"):
                expect(path, "onnx")


@pytest.mark.filterwarnings("ignore")
def test_the_example_of_the_documentation_is_what_its_script_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(__file__).resolve().parents[2] / "docs" / "examples"
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(folder / "small_net.py"))
    theirs, _ = facts(load_pt2(folder / "small_net.pt2", batch=4))
    ours, _ = facts(load_pt2(tmp_path / "small_net.pt2", batch=4))
    assert alike(theirs) == alike(ours)
