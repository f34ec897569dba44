"""The networks that expected times are held to: light and heavy convolutions, depthwise ones, transformers, recurrent networks.

All are built with weights that are made up; nothing is downloaded.  Each is there for PyTorch (by name, or as an exported program) and,
exported from the same module, as an ONNX file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

NAMED = (
    "torchvision:alexnet",
    "torchvision:vgg11",
    "torchvision:resnet18",
    "torchvision:resnet50",
    "torchvision:densenet121",
    "torchvision:squeezenet1_1",
    "torchvision:mobilenet_v2",
    "torchvision:mobilenet_v3_large",
    "torchvision:efficientnet_b0",
    "torchvision:shufflenet_v2_x1_0",
    "torchvision:regnet_y_400mf",
    "torchvision:convnext_tiny",
    "torchvision:swin_t",
    "timm:vit_tiny_patch16_224",
)
IMAGE = (1, 3, 224, 224)


class Recurrent(nn.Module):
    """Features of 100 moments through two LSTM layers, and a class from the last."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(80, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(self.lstm(x)[0][:, -1])
        return found


class Encoder(nn.Module):
    """A small text encoder: 128 tokens, six layers of width 256."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8192, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(self.embedding(tokens))
        return found


OWN: Mapping[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "lstm_2x256": (Recurrent, lambda: torch.randn(1, 100, 80)),
    "encoder_6x256": (Encoder, lambda: torch.ones(1, 128, dtype=torch.int64)),
}


def name_of(source: str) -> str:
    """What a network is called, by name or by file."""
    return Path(source.rpartition(":")[2]).name.removesuffix(".onnx").removesuffix(".pt2")


def in_pytorch(folder: Path) -> list[str]:
    """What ``weighbridge measure`` takes for each of them in PyTorch."""
    return [*NAMED, *(str(_program(name, folder)) for name in OWN)]


def in_onnx(folder: Path) -> list[str]:
    """The ONNX file of each of them."""
    found = [_onnx(one, *_named(one), folder) for one in NAMED]
    return [str(one) for one in found + [_onnx(name, *_own(name), folder) for name in OWN]]


def exported_at_any_batch(source: str, folder: Path) -> Path:
    """An ONNX file whose batch is open."""
    module, _ = _named(source)
    path = folder / f"{name_of(source)}.onnx"
    image, batch = torch.randn(2, *IMAGE[1:]), torch.export.Dim("batch")
    names = {"input_names": ["input"], "dynamic_shapes": ({0: batch},)}
    torch.onnx.export(module, (image,), dynamo=True, verbose=False, **names).save(str(path))
    return path


def _named(source: str) -> tuple[Any, torch.Tensor]:
    from weighbridge.frontends.torch_sources import built_named

    return built_named(source, batch=1, sequence=None)[0].eval(), torch.randn(IMAGE)


def _own(name: str) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    build, example = OWN[name]
    return build().eval(), example()


def _program(name: str, folder: Path) -> Path:
    module, example = _own(name)
    path = folder / f"{name}.pt2"
    torch.export.save(torch.export.export(module, (example,)), path)
    return path


def _onnx(source: str, module: Any, example: torch.Tensor, folder: Path) -> Path:
    path = folder / f"{name_of(source)}.onnx"
    if not path.exists():
        program = torch.onnx.export(module, (example,), dynamo=True, input_names=["input"], verbose=False)
        program.save(str(path))
    return path
