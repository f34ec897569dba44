"""What reaches a recorded run past the operators: other threads, arrays, tensors of an earlier run, storages that overlap."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import weighbridge
from weighbridge.errors import BadModel, BadSpec
from weighbridge.frontends.from_torch import load_torch
from weighbridge.report import Report


def weighed(model: nn.Module, *inputs: torch.Tensor) -> Report:
    return weighbridge.weigh(load_torch(model, inputs))


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any], *layers: nn.Module) -> None:
        super().__init__()
        self._function = function
        self.layers = nn.ModuleList(layers)
        self.plain = torch.ones(8)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._function(self, *inputs)


def in_a_thread(self: Calls, x: torch.Tensor) -> torch.Tensor:
    made = []

    def run() -> None:
        with torch.no_grad():
            made.append(self.layers[0](x))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    return self.layers[1](made[0])


def in_a_pool(self: Calls, x: torch.Tensor) -> torch.Tensor:
    def run(layer: nn.Module) -> torch.Tensor:
        with torch.no_grad():
            return layer(x)

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(run, self.layers))


def in_a_thread_with_values(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return in_a_thread(self, x) if x.sum() > 0 else x


def in_an_array(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return self.layers[0](torch.from_numpy(x.numpy() @ np.ones((8, 8), np.float32)))


def by_protocol(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return self.layers[0](torch.from_dlpack(x.numpy() * 2))


@pytest.mark.parametrize("function", [in_a_thread, in_a_pool, in_a_thread_with_values, in_an_array, by_protocol])
def test_what_is_computed_where_nobody_sees_it_is_not_exact(function: Callable[..., Any]) -> None:
    facts = weighed(Calls(function, nn.Linear(8, 8), nn.Linear(8, 8)), torch.ones(4, 8)).facts
    assert not facts.exact
    assert {missing.operator for missing in facts.uncounted} == {"weighbridge.unseen"}


TABLE = torch.ones(8)


def of_numbers(self: Calls, x: torch.Tensor) -> torch.Tensor:
    scale = torch.tensor([1.0] * 8, device=x.device) + torch.tensor([2.0] * 8) + torch.Tensor([3.0] * 8)
    return self.layers[0](x * scale * TABLE.to(x.device) * self.plain)


def of_numbers_with_values(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return of_numbers(self, x) if x.sum() > 0 else x


def of_arrays(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return self.layers[0](x * torch.from_numpy(np.ones(8, np.float32)))


@pytest.mark.parametrize("function", [of_numbers, of_numbers_with_values, of_arrays])
def test_constants_are_none_of_these(function: Callable[..., Any]) -> None:
    facts = weighed(Calls(function, nn.Linear(8, 8)), torch.ones(4, 8)).facts
    assert (facts.macs, facts.exact) == (4 * 8 * 8, True)


OUTSIDE = nn.Linear(8, 8)


@cache
def mask(size: int, device: torch.device) -> torch.Tensor:
    return torch.ones(size, size, device=device).tril()


def from_a_cache(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return self.layers[0](mask(4, x.device) @ x)


def from_outside(self: Calls, x: torch.Tensor) -> torch.Tensor:
    return OUTSIDE(TABLE.add_(1) * self.layers[0](x))


@pytest.mark.parametrize("function", [from_a_cache, from_outside])
def test_tensors_that_outlive_a_run_mean_nothing_to_the_next(function: Callable[..., Any]) -> None:
    """Else an id of the first run would stand for something else in the second."""
    outside = [TABLE, *OUTSIDE.parameters()]
    before = [dict(vars(tensor)) for tensor in outside]
    first = weighed(Calls(function, nn.Linear(8, 8)), torch.ones(4, 8))
    other = weighed(Calls(lambda self, x: function(self, x + self.plain) * 2, nn.Linear(8, 8)), torch.ones(4, 8))
    again = weighed(Calls(function, nn.Linear(8, 8)), torch.ones(4, 8))
    assert first.facts.exact
    assert {one.facts.macs for one in (first, other, again)} == {first.facts.macs}
    assert {one.facts.parameters for one in (first, other, again)} == {first.facts.parameters}
    assert [vars(tensor) for tensor in outside] == before


def two(first: torch.Tensor, second: torch.Tensor) -> nn.Module:
    def run(self: Calls, x: torch.Tensor) -> torch.Tensor:
        return sum(layer(x[:, : layer.weight.shape[1]]).sum() for layer in self.layers)

    layers = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    for layer, weight in zip(layers, (first, second), strict=True):
        layer.weight = nn.Parameter(weight)
    return Calls(run, *layers)


def table(rows: int, columns: int) -> torch.Tensor:
    return torch.rand(rows, columns)


@pytest.mark.parametrize(
    ("build", "elements"),
    [
        (lambda w: (w, w), 128),
        (lambda w: (w, w.t()), 128),
        (lambda w: (w.t(), w[:4]), 128),
        (lambda w: (w[:4], w[4:]), 128),
        (lambda w: (w[:, :4], w[:, 4:]), 128),
        (lambda w: (w[:, :5], w[:, 4:]), 128),
        (lambda w: (w[:10], w[6:]), 128),
        (lambda w: (w[:3], w[9:]), 24 + 56),
        (lambda w: (w[::2], w[::4]), 64),
        (lambda w: (w.view(8, 16), w.view(32, 4)), 128),
        (lambda w: (w[:1].expand(8, 8), w[8:]), 8 + 64),
        (lambda w: (w[0, :1].expand(8, 8), w[0, :1].expand(2, 8)), 1),
        (lambda w: (w[:0], w[:4]), 32),
    ],
)
def test_each_element_of_a_storage_counts_once(build: Callable[..., Any], elements: int) -> None:
    """However its parameters lie on each other."""
    model = two(*build(table(16, 8)))
    facts = weighed(model, torch.rand(3, 16)).facts
    assert (facts.parameters, facts.weights, facts.exact) == (elements, elements, True)
    assert facts.macs == 3 * sum(parameter.numel() for parameter in model.parameters())


def test_a_call_like_an_earlier_one_is_another_where_the_default_type_changed() -> None:
    def halves(self: Calls, x: torch.Tensor) -> torch.Tensor:
        first = x / 2
        torch.set_default_dtype(torch.float64)
        return first, x / 2

    graph = load_torch(Calls(halves), (torch.ones(4, dtype=torch.int64),))
    assert graph.capture.startswith("traced")
    assert [graph.tensors[tensor].dtype.name for tensor in graph.outputs] == ["float32", "float64"]


def test_a_generator_has_computed_nothing() -> None:
    with pytest.raises(BadModel, match="generator"):
        weighed(Calls(lambda self, x: (layer(x) for layer in self.layers), nn.Linear(8, 8)), torch.ones(4, 8))


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot even say it")


def test_an_exception_that_cannot_say_what_it_is_is_named() -> None:
    def fail(self: Calls, x: torch.Tensor) -> torch.Tensor:
        raise Mute

    with pytest.raises(BadModel, match="raised Mute when called with 4x8 float32"):
        weighed(Calls(fail), torch.ones(4, 8))


def test_element_types_of_autocast_are_not_claimed() -> None:
    model = nn.Linear(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        report = weighed(model, torch.ones(4, 8))
    assert report.facts.macs == weighed(model, torch.ones(4, 8)).facts.macs
    assert any("autocast" in note for note in report.notes)
    assert not any("autocast" in note for note in weighed(model, torch.ones(4, 8)).notes)


def test_an_input_of_more_bytes_than_can_be_counted_is_refused() -> None:
    with pytest.raises(BadSpec, match="no tensor as large as 1000000000x1000000000x1000"):
        weighbridge.weigh(nn.Linear(8, 8), inputs=(10**9, 10**9, 1000))
