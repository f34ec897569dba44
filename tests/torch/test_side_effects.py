"""Weighing a model leaves no trace: on the model, its inputs, what hooks write to, PyTorch's switches, or random numbers."""

from __future__ import annotations

import random
from collections import UserDict
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from tests.torch.snapshot import snapshot
from weighbridge.counts import count
from weighbridge.errors import BadModel
from weighbridge.frontends.from_torch import load_torch


class Case(NamedTuple):
    """A model, what it is called with, and what else may be written to."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    others: tuple[Any, ...] = ()
    fails: bool = False


class Net(nn.Module):
    """A linear layer, and what the test's function does around it."""

    def __init__(self, function: Callable[..., Any], **members: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.function = function
        for name, member in members.items():
            setattr(self, name, member)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


def x() -> torch.Tensor:
    return torch.randn(2, 4)


def stores_tensors() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        self.seen = given
        self.history.append(self.layer(given))
        self.by_name["last"] = self.history[-1]
        self.steps += 1
        self.plain = self.plain + 1
        return self.history[-1]

    return Case(Net(run, history=[], by_name={}, steps=0, plain=torch.zeros(4)), (x(),))


def registers_members() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        self.register_buffer("mean", given.mean(0))
        self.register_parameter("gain", nn.Parameter(torch.ones(4)))
        self.add_module("late", nn.Linear(4, 4))
        self.late.register_forward_hook(lambda *given: None)
        del self.spare
        return self.late(self.layer(given - self.mean) * self.gain)

    return Case(Net(run, spare=nn.Linear(4, 4)), (x(),))


def draws() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        scale = random.random() + float(np.random.rand())
        return self.layer(given) * scale + torch.rand(2, 4) + torch.randn_like(given)

    return Case(Net(run), (x(),))


def drops() -> Case:
    return Case(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)).train(), (x(),))


def writes_to_inputs() -> Case:
    def run(self: Net, given: torch.Tensor, *, also: torch.Tensor) -> torch.Tensor:
        given.add_(1)
        given[0] = 0
        also.requires_grad_(True)
        self.layer.weight.mul_(2)
        self.layer.bias.data = torch.ones(4)
        self.layer.weight.requires_grad_(False)
        return self.layer(given)

    return Case(Net(run), (x(),), {"also": x()})


class Own(UserDict[str, Any]):
    """A mapping of a class that PyTorch does not know, as tokenisers return it."""


@dataclass
class Batch:
    pixels: torch.Tensor
    labels: list[int]


def writes_to_structures() -> Case:
    def run(self: Net, batch: dict[str, Any], more: list[Any], own: Own, record: Batch) -> torch.Tensor:
        more.append(batch.pop("pixels"))
        own["pixels"].add_(1)
        own["more"] = 1
        record.pixels.add_(1)
        record.pixels = own["pixels"]
        record.labels.clear()
        return self.layer(more[-1] + record.pixels)

    return Case(Net(run), ({"pixels": x()}, [x()], Own(pixels=x()), Batch(x(), [1, 2])))


def turns_switches() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        self.eval()
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark
        torch.backends.mha.set_fastpath_enabled(True)
        torch.set_float32_matmul_precision("high")
        return self.layer(given)

    return Case(Net(run), (x(),))


def raises_midway() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        self.seen = self.layer(given.add_(1))
        torch.set_grad_enabled(False)
        np.random.rand()
        raise ValueError("no further")

    return Case(Net(run), (x(),), fails=True)


def wrong_shape() -> Case:
    return Case(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(5, 4)), (x(),), fails=True)


def needs_values() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        self.seen = self.layer(given.add_(1))
        self.layer.bias.add_(1)
        if float(self.seen.sum()) > 0:
            np.random.rand()
        return self.seen

    return Case(Net(run), (x(),))


def lazy() -> Case:
    return Case(
        nn.Sequential(nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)),
        (torch.randn(1, 3, 8, 8),),
    )


def parametrised() -> Case:
    class Symmetric(nn.Module):
        def forward(self, w: torch.Tensor) -> torch.Tensor:
            return w.triu() + w.triu(1).transpose(-1, -2)

    first = parametrizations.weight_norm(nn.Linear(4, 4))
    second = parametrizations.spectral_norm(nn.Linear(4, 4))
    third = nn.Linear(4, 4)
    parametrize.register_parametrization(third, "weight", Symmetric())
    return Case(nn.Sequential(first, second, third, parametrizations.orthogonal(nn.Linear(4, 4))).train(), (x(),))


def hooked_norms() -> Case:
    with pytest.warns(FutureWarning, match="weight_norm"):
        first = nn.utils.weight_norm(nn.Linear(4, 4))
    pruned = nn.Linear(4, 4)
    prune.l1_unstructured(pruned, "weight", amount=0.5)
    return Case(nn.Sequential(first, nn.utils.spectral_norm(nn.Linear(4, 4)), pruned).train(), (x(),))


MODEL = nn.Sequential()
FORWARD: Callable[..., Any] = MODEL.forward
WRITTEN: dict[str, Any] = {}


def to_module_level(module: nn.Module, args: Any, result: torch.Tensor) -> None:
    WRITTEN["last"] = result


def hooks() -> Case:
    features: dict[str, torch.Tensor] = {}
    shapes: list[Any] = []
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    class Collector:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, module: nn.Module, args: Any) -> None:
            self.calls += 1

        def note(self, module: nn.Module, args: Any, result: Any) -> Any:
            self.calls += 1
            return result * 2

    collector = Collector()
    model[0].register_forward_hook(lambda module, args, result: features.update(last=result))
    model[0].register_forward_hook(to_module_level)
    model[1].register_forward_pre_hook(lambda module, args: shapes.append(args[0].shape))
    model[1].register_forward_hook(collector.note)
    model.register_forward_pre_hook(collector)
    model.register_full_backward_hook(lambda *given: None)
    model.register_state_dict_pre_hook(lambda *given: None)
    return Case(model, (x(),), others=(features, shapes, collector, WRITTEN))


def graph_leaves() -> Case:
    """Parameters with gradients and hooks of their own, inputs that are results, a tied pair."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    model(x()).sum().backward()
    model[0].weight.register_hook(lambda grad: grad)
    made = torch.randn(2, 4, requires_grad=True) * 2
    made.retain_grad()
    return Case(model, (made,))


def results_on_module() -> Case:
    """A module that holds a result of a computation, which PyTorch itself refuses to copy."""
    return Case(
        Net(lambda self, given: self.layer(given) + self.kept, kept=torch.randn(2, 4, requires_grad=True) * 2), (x(),)
    )


def replaced_forward() -> Case:
    """A ``forward`` on the instance, which reaches the model through its closure and its module's names."""
    global MODEL, FORWARD  # noqa: PLW0603 - where the names of a script are
    MODEL = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    FORWARD, inner = MODEL.forward, MODEL.forward
    seen: list[torch.Tensor] = []

    def around(given: torch.Tensor) -> torch.Tensor:
        seen.append(given)
        return FORWARD(inner(MODEL[1](given.add_(1))))

    MODEL.forward = around
    return Case(MODEL, (x(),), others=(seen,))


def scripted() -> Case:
    return Case(torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU())), (x(),))


def inner_inference() -> Case:
    def run(self: Net, given: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(mode=False), torch.enable_grad(), torch.autocast("cpu"):
            return self.layer(given)

    return Case(Net(run), (x(),))


CASES = [
    stores_tensors,
    registers_members,
    draws,
    drops,
    writes_to_inputs,
    writes_to_structures,
    turns_switches,
    raises_midway,
    wrong_shape,
    needs_values,
    lazy,
    parametrised,
    hooked_norms,
    hooks,
    graph_leaves,
    results_on_module,
    replaced_forward,
    scripted,
    inner_inference,
]
AROUND: dict[str, Callable[[], Any]] = {
    "plain": nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu"),
}


def weighed(case: Case) -> None:
    if case.fails:
        with pytest.raises(BadModel):
            load_torch(case.model, case.args, case.kwargs)
    else:
        load_torch(case.model, case.args, case.kwargs)


@pytest.fixture(scope="module", autouse=True)
def _all_is_imported() -> None:
    """PyTorch imports some of its modules when they are first used; none of them is the user's."""
    for build in CASES:
        case = build()
        with suppress(BadModel):
            load_torch(case.model, case.args, case.kwargs)
    WRITTEN.clear()


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_weighing_leaves_no_trace(build: Callable[[], Case], around: str) -> None:
    case = build()
    with AROUND[around]():
        before = snapshot(case)
        weighed(case)
        after = snapshot(case)
    assert {
        name: (before.get(name), after.get(name)) for name in before | after if before.get(name) != after.get(name)
    } == {}


def test_what_hangs_on_a_model_means_the_copy_of_it() -> None:
    case = replaced_forward()
    graph = load_torch(case.model, case.args)
    facts = count(graph, graph)
    assert facts.exact
    assert facts.macs == 2 * 2 * 4 * 4
    assert facts.parameters == 20 + 8


def test_the_model_works_afterwards_as_before() -> None:
    """Train a step after weighing: the same loss and gradients as without it."""

    def step(weigh: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        given = torch.randn(16, 4)
        if weigh:
            load_torch(model, (given,))
        model(given).square().mean().backward()
        return [*[parameter.grad for parameter in model.parameters()], *model.state_dict().values()]

    for ours, theirs in zip(step(weigh=True), step(weigh=False), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    "build", [stores_tensors, writes_to_inputs, draws, hooks, turns_switches], ids=lambda build: build.__name__
)
def test_running_such_a_model_does_leave_traces(build: Callable[[], Case]) -> None:
    """What proves that the snapshot sees what it is there to see."""
    case = build()
    before = snapshot(case)
    state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with torch.no_grad():
            case.model(*case.args, **case.kwargs)
        assert snapshot(case) != before
    finally:
        random.setstate(state[0])
        np.random.set_state(state[1])
        torch.set_rng_state(state[2])
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.benchmark = False
        torch.set_float32_matmul_precision("highest")
        WRITTEN.clear()
