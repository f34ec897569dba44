"""Weights of PyTorch modules, states and files of them; nothing is unpickled that is no weight."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import weighbridge
from weighbridge.cli.main import main
from weighbridge.frontends.weights_torch import tensors_of_module, tensors_of_state


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4, bias=False)
        self.tied = nn.Linear(8, 4, bias=False)
        self.tied.weight = self.head.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError  # it is not needed


@pytest.mark.parametrize("make", [lambda net: net, lambda net: net.state_dict()], ids=["module", "state"])
def test_a_module_and_its_state(make) -> None:
    torch.manual_seed(0)
    found = weighbridge.compress(make(Net()), keep=0.5, codebook=3)
    assert [(layer.name, layer.elements, layer.biases) for layer in found.layers] == [("conv", 216, 8), ("head", 32, 0)]
    assert [layer.kept for layer in found.layers] == [108, 16]
    assert found.others.elements == 16  # the normalisation; its statistics are no parameters
    assert found.is_exact


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8]
)
def test_values(dtype: torch.dtype) -> None:
    numbers = (torch.randn(6, 5) * 20).abs().to(dtype)
    for one in (numbers, numbers.t(), numbers[::2]):
        (tensor,) = tensors_of_state({"w": one})
        assert tensor.stored.read is not None
        expected = one.to(torch.float64).reshape(-1).numpy()
        np.testing.assert_array_equal(tensor.stored.read().astype(np.float64), expected)


@pytest.mark.filterwarnings("ignore")
def test_quantised_tensors_have_a_zero_of_their_own() -> None:
    numbers = torch.quantize_per_tensor(torch.tensor([[0.0, 1.0], [0.0, -1.0]]), 0.5, 10, torch.quint8)
    (tensor,) = tensors_of_state({"w": numbers})
    assert tensor.stored.zero == 10
    assert tensor.stored.read().tolist() == [10, 12, 10, 8]


def test_what_has_no_values_is_told() -> None:
    with torch.device("meta"):
        found = weighbridge.compress(Net())
    assert {layer.basis for layer in found.layers} == {"not read"}
    assert any("meta device" in note for note in found.notes)
    assert weighbridge.compress(Net().to("meta"), ratios_only=True, keep=0.5).total.kept == 124 + 16  # tied no more


def fake() -> torch.Tensor:
    with FakeTensorMode():
        return torch.empty(4, 4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "bits"),
    [
        (lambda: torch.ones(4, 4).to_sparse(), 32),
        (lambda: torch.ones(4, 4).to_sparse_csr(), 32),
        (lambda: torch.ones(4, 4).to(torch.float8_e4m3fn), 8),
        (lambda: torch.ones(4, 4, dtype=torch.complex64), 64),
        (lambda: torch.empty(4, 4, dtype=torch.complex32), 32),
        (lambda: torch.empty(4, 4, dtype=torch.uint4), 8),
        (lambda: torch.empty(4, 4, dtype=torch.uint7), 8),
        (lambda: torch.empty(4, 4, dtype=torch.bits16), 16),
        (lambda: torch.ones(4, 4, dtype=torch.bool), 8),
        (
            lambda: torch.quantize_per_channel(
                torch.ones(4, 4), torch.ones(4), torch.zeros(4), axis=0, dtype=torch.quint4x2
            ),
            4,
        ),
        (fake, 32),
    ],
)
def test_what_cannot_be_read_counts_as_it_is_held(make, bits: int) -> None:
    """Also where no type here is as wide, and whichever error PyTorch has for it."""
    for options in ({}, {"keep": 0.5, "codebook": 2}):
        found = weighbridge.compress({"w": make()}, **options)
        assert [(layer.basis, layer.bits) for layer in found.layers] == [("not read", 16 * bits)]
        assert not found.is_exact


def test_views_that_hold_a_sign_are_read() -> None:
    (tensor,) = tensors_of_state({"w": torch._neg_view(torch.ones(2, 2))})
    assert tensor.stored.read is not None
    assert tensor.stored.read().tolist() == [-1.0] * 4


def test_what_memory_does_not_hold() -> None:
    with pytest.raises(weighbridge.BadModel, match="does not fit into the memory of this machine"):
        weighbridge.compress({"w": torch.ones(1, 1).expand(2**24, 2**24)})


def nested(layout: torch.layout) -> dict[str, torch.Tensor]:
    return {"w": torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [lambda: nn.LazyLinear(4), lambda: nested(torch.strided), lambda: nested(torch.jagged)],
    ids=["lazy", "nested", "jagged"],
)
def test_what_has_no_shape_is_refused(make) -> None:
    source = make()
    with pytest.raises(weighbridge.BadModel, match="this tensor has no shape"):
        weighbridge.compress(source)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [lambda net: net, lambda net: net.state_dict()], ids=["module", "state"])
def test_the_weights_of_quantised_modules_are_no_parameters_and_counted(make) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 8))
    quantised = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
    found = weighbridge.compress(make(quantised))
    assert [(layer.elements, layer.dtype) for layer in found.layers] == [(108, "float32"), (128, "int8")]
    assert found.is_exact


@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"epoch": 3, "state_dict": state}])
@pytest.mark.parametrize("legacy", [False, True])
def test_files(tmp_path: Path, wrap, legacy: bool) -> None:
    net = Net()
    path = tmp_path / "model.pth"
    torch.save(wrap(net.state_dict()), path, _use_new_zipfile_serialization=not legacy)
    found = weighbridge.compress(path, codebook=3)
    assert found.layers == weighbridge.compress(net, codebook=3).layers


class _Runs:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("it_ran",)


@pytest.mark.parametrize("name", ["model.pth", "model.pt", "model.bin"])
@pytest.mark.parametrize("kind", ["torch", "legacy", "pickle", "module"])
def test_code_in_a_file_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    if kind == "pickle":
        path.write_bytes(pickle.dumps({"w": _Runs()}))
    elif kind == "module":
        torch.save(nn.Linear(2, 2), path)
    else:
        torch.save({"w": _Runs()}, path, _use_new_zipfile_serialization=kind == "torch")
    assert main(["compress", str(path)]) == 2
    said = capsys.readouterr()
    assert not (tmp_path / "it_ran").exists()
    assert said.out == ""
    assert "no file of weights alone" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("content", [3, {}, {"a": 3}, [torch.ones(2, 2)], {"state_dict": {"model": {}}}])
def test_files_without_a_state(tmp_path: Path, content: object) -> None:
    path = tmp_path / "model.pt"
    torch.save(content, path)
    with pytest.raises(weighbridge.BadModel, match="no state_dict"):
        weighbridge.compress(path)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(Net().state_dict(), path)
    whole = path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(weighbridge.WeighbridgeError):
            weighbridge.compress(path)


def test_a_python_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.py"
    path.write_text("from torch import nn\n\n\ndef net(width=4):\n    return nn.Linear(width, 3)\n", encoding="utf-8")
    assert main(["compress", f"{path}:net:width=8", "--codebook", "2"]) == 0
    assert "24" in capsys.readouterr().out


def test_inputs_are_not_needed() -> None:
    with pytest.raises(weighbridge.BadSpec, match="without its forward"):
        weighbridge.compress(Net(), inputs=(1, 3, 8, 8))
    assert next(iter(tensors_of_module(Net()))).name == "conv.weight"
