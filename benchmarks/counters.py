"""Counts the same networks with weighbridge and with five other counters, and prints the table of docs/coming-from.md.

Each counter is called as its own documentation says, on a fresh copy of the network on the CPU, and what it prints is given as
multiply-accumulates: ``FlopCounterMode`` counts two operations each, so its figure is halved.

    python benchmarks/counters.py [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import torch
import torchvision
from torch import nn
from torch.nn import functional

__all__ = ["COUNTERS", "NETWORKS", "Network", "measured"]


class Network(NamedTuple):
    """A network to build, the shape of its input, and whether gradients are on while it is counted."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    grad: bool = True


class Attention(nn.Module):
    """One head of attention between two projections, as transformers write it: no module does the products."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).unsqueeze(1).chunk(3, dim=-1)
        return self.out(functional.scaled_dot_product_attention(q, k, v).squeeze(1))


class SelfAttention(nn.Module):
    """``nn.MultiheadAttention``, which has a fused path of its own where no gradient is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.attention(x, x, x, need_weights=False)[0]
        return result


class Functional(nn.Module):
    """Parameters and functions, no submodule: a convolution, a matrix product written with ``@``, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(16, 3, 3, 3))
        self.matrix = nn.Parameter(torch.empty(16, 32))
        self.head = nn.Parameter(torch.empty(10, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.conv2d(x, self.kernel, padding=1).mean((2, 3))
        return functional.linear(x @ self.matrix, self.head)


_IMAGE: Final = (1, 3, 224, 224)
NETWORKS: Final[Mapping[str, Network]] = {
    "torchvision resnet50": Network(torchvision.models.resnet50, _IMAGE),
    "torchvision mobilenet_v2": Network(torchvision.models.mobilenet_v2, _IMAGE),
    "torchvision vit_b_16": Network(torchvision.models.vit_b_16, _IMAGE),
    "torchvision vit_b_16, no_grad": Network(torchvision.models.vit_b_16, _IMAGE, grad=False),
    "torchvision swin_t": Network(torchvision.models.swin_t, _IMAGE),
    "nn.LSTM(32, 64), 10 steps": Network(lambda: nn.LSTM(32, 64, batch_first=True), (1, 10, 32)),
    "scaled_dot_product_attention": Network(Attention, (1, 100, 64)),
    "nn.MultiheadAttention": Network(SelfAttention, (1, 100, 64)),
    "nn.MultiheadAttention, no_grad": Network(SelfAttention, (1, 100, 64), grad=False),
    "functions only": Network(Functional, (1, 3, 32, 32)),
}


class Counted(NamedTuple):
    macs: int | None
    parameters: int | None = None


def _weighbridge(model: nn.Module, x: torch.Tensor) -> Counted:
    import weighbridge

    facts = weighbridge.weigh(model, inputs=x).facts
    if not facts.exact:
        raise ValueError(f"not exact: {facts.uncounted[:3]}")
    return Counted(facts.macs, facts.parameters)


def _torchinfo(model: nn.Module, x: torch.Tensor) -> Counted:
    from torchinfo import summary

    found = summary(model, input_data=x, verbose=0)
    return Counted(found.total_mult_adds, found.total_params)


def _fvcore(model: nn.Module, x: torch.Tensor) -> Counted:
    from fvcore.nn import FlopCountAnalysis, parameter_count

    return Counted(int(FlopCountAnalysis(model, x).total()), parameter_count(model)[""])


def _ptflops(model: nn.Module, x: torch.Tensor, backend: str) -> Counted:
    from ptflops import get_model_complexity_info

    macs, parameters = get_model_complexity_info(
        model, tuple(x.shape[1:]), as_strings=False, print_per_layer_stat=False, backend=backend
    )
    return Counted(None if macs is None else int(macs), parameters)


def _thop(model: nn.Module, x: torch.Tensor) -> Counted:
    from thop import profile

    macs, parameters = profile(model, inputs=(x,), verbose=False)
    return Counted(int(macs), int(parameters))


def _flop_counter_mode(model: nn.Module, x: torch.Tensor) -> Counted:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as mode:
        model(x)
    flops, odd = divmod(mode.get_total_flops(), 2)
    assert not odd
    return Counted(flops)


COUNTERS: Final[Mapping[str, Callable[[nn.Module, torch.Tensor], Counted]]] = {
    "weighbridge": _weighbridge,
    "torchinfo": _torchinfo,
    "fvcore": _fvcore,
    "ptflops, pytorch": lambda model, x: _ptflops(model, x, "pytorch"),
    "ptflops, aten": lambda model, x: _ptflops(model, x, "aten"),
    "thop": _thop,
    "FlopCounterMode / 2": _flop_counter_mode,
}


def measured(network: Network, counter: Callable[[nn.Module, torch.Tensor], Counted]) -> Counted:
    """What a counter says of a fresh copy of a network in eval mode; None where it fails."""
    model, x = network.build().eval(), torch.zeros(network.shape)
    logging.disable(logging.WARNING)
    with (
        torch.set_grad_enabled(network.grad),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            return counter(model, x)
        except (RuntimeError, ValueError, TypeError, AttributeError, AssertionError, KeyError, IndexError):
            return Counted(None)


def left_behind(counter: Callable[[nn.Module, torch.Tensor], Counted]) -> str:
    """What a counter has changed about a model in training after it is done with it."""
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Sequential(nn.BatchNorm2d(8), nn.SiLU()), nn.Flatten(), nn.Linear(288, 2)
    )
    modules, keys, statistics = list(model.modules()), set(model.state_dict()), model[1][0].running_mean.clone()
    usual = [set(vars(module)) for module in modules]
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counter(model.train(), torch.ones(2, 3, 8, 8))
    added = sorted(set(model.state_dict()) - keys)
    attributes = sorted(set().union(*(set(vars(one)) - names for one, names in zip(modules, usual, strict=True))))
    found = {
        "entries in state_dict": ", ".join(added),
        "forward hooks": sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in modules),  # noqa: SLF001
        "modules in eval mode": sum(not one.training for one in modules),
        "changed running statistics": not torch.equal(statistics, model[1][0].running_mean),
        "attributes": ", ".join(attributes),
    }
    return "; ".join(f"{what}: {value}" for what, value in found.items() if value) or "nothing"


def shares(results: Mapping[str, Mapping[str, Counted]]) -> str:
    """A Markdown table: networks down, counters across; every counter's MACs as a share of weighbridge's."""
    others = [counter for counter in COUNTERS if counter != "weighbridge"]
    lines = [f"| network | weighbridge | {' | '.join(others)} |", f"|---|{'---:|' * len(COUNTERS)}"]
    for name, found in results.items():
        ours = found["weighbridge"].macs or 0
        cells = [_share(found[counter].macs, ours) for counter in others]
        lines.append(f"| {name} | {ours:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _share(value: int | None, ours: int) -> str:
    """``=`` where nothing differs, so that a small difference is not rounded away."""
    if value is None:
        return "fails"
    return "=" if value == ours else "0" if not value else f"{value / ours:.2%}"


def table(results: Mapping[str, Mapping[str, Counted]], part: Callable[[Counted], int | None]) -> str:
    """A Markdown table of exact figures: networks down, counters across."""
    lines = [f"| network | {' | '.join(COUNTERS)} |", f"|---|{'---:|' * len(COUNTERS)}"]
    for name, found in results.items():
        cells = ["–" if (value := part(found[counter])) is None else f"{value:,}" for counter in COUNTERS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    results = {
        name: {label: measured(network, counter) for label, counter in COUNTERS.items()}
        for name, network in NETWORKS.items()
    }
    print("Multiply-accumulates, as shares of weighbridge's\n")
    print(shares(results))
    print("Multiply-accumulates\n")
    print(table(results, lambda found: found.macs))
    print("Parameters\n")
    print(table(results, lambda found: found.parameters))
    print("What a call leaves behind on a model in training\n")
    print("| counter | left behind |\n|---|---|")
    for label, counter in COUNTERS.items():
        print(f"| {label} | {left_behind(counter)} |")
    if options.json:
        plain = {name: {label: one._asdict() for label, one in found.items()} for name, found in results.items()}
        options.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
