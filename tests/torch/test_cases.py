"""Small networks with counts worked out by hand, kept beside the repository: exact in every mode in which they may be met."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from weighbridge import weigh

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Cases(NamedTuple):
    """What the file has, each case built once: weighing changes nothing."""

    build: Mapping[str, Callable[[], Built]]
    built: Mapping[str, Built]
    expected: Mapping[str, tuple[int, int]]


@pytest.fixture(scope="module")
def cases(shared: Path) -> Cases:
    spec = importlib.util.spec_from_file_location("torch_cases", shared / "cases" / "torch_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.CASES) == 29
    build = {name: case[0] for name, case in module.CASES.items()}
    expected = {name: (macs, parameters) for name, (_, macs, parameters) in module.CASES.items()}
    return Cases(build, {name: one() for name, one in build.items()}, expected)


Found = dict[str, tuple[int, int]]


def weighed(built: Iterable[tuple[str, Built]]) -> Found:
    """MACs and parameters by case, every one of which must be exact."""
    found = {}
    for name, (model, inputs) in built:
        facts = weigh(model, inputs=inputs).facts
        assert facts.exact, (name, facts.uncounted)
        found[name] = (facts.macs, facts.parameters)
    return found


AROUND: dict[str, Callable[[], Any]] = {
    "grad": torch.enable_grad,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}


@pytest.mark.parametrize("around", AROUND)
def test_whatever_is_on_around_it(cases: Cases, around: str) -> None:
    with AROUND[around]():
        assert weighed(cases.built.items()) == cases.expected


def test_inputs_made_in_inference_mode(cases: Cases) -> None:
    with torch.inference_mode():
        inside = {name: (model, tuple(one.clone() for one in inputs)) for name, (model, inputs) in cases.built.items()}
    assert all(one.is_inference() for _, inputs in inside.values() for one in inputs)
    assert weighed(inside.items()) == cases.expected


def test_models_made_in_inference_mode(cases: Cases) -> None:
    with torch.inference_mode():
        inside = {name: build() for name, build in cases.build.items()}
    assert weighed(inside.items()) == cases.expected


def test_inputs_that_want_gradients(cases: Cases) -> None:
    wanting = {
        name: (model, tuple(one.clone().requires_grad_(one.is_floating_point()) for one in inputs))
        for name, (model, inputs) in cases.built.items()
    }
    assert weighed(wanting.items()) == cases.expected


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_train_and_eval(cases: Cases, training: bool) -> None:
    """Also where training drops values, in transformer_frozen alone: that costs no multiply-accumulates."""
    for model, _ in cases.built.values():
        model.train(training)
    assert weighed(cases.built.items()) == cases.expected
    assert {name for name, (model, _) in cases.built.items() if drops(model)} == {"transformer_frozen"}


def drops(model: nn.Module) -> bool:
    return any(isinstance(module, nn.Dropout) and module.p > 0 for module in model.modules())


def test_all_parameters_frozen(cases: Cases) -> None:
    wanted = {
        parameter: parameter.requires_grad for model, _ in cases.built.values() for parameter in model.parameters()
    }
    try:
        for parameter in wanted:
            parameter.requires_grad_(requires_grad=False)
        assert weighed(cases.built.items()) == cases.expected
    finally:
        for parameter, requires_grad in wanted.items():
            parameter.requires_grad_(requires_grad)


def test_on_the_meta_device(cases: Cases) -> None:
    """Built there; PyTorch cannot quantise a layer without values."""
    with torch.device("meta"):
        built = {name: build() for name, build in cases.build.items() if name != "dynamic_int8"}
    assert all(parameter.is_meta for model, _ in built.values() for parameter in model.parameters())
    assert weighed(built.items()) == {name: cases.expected[name] for name in built}


def test_moved_to_the_meta_device(cases: Cases) -> None:
    """Moving unties tied weights: of PyTorch's doing, and the report says what is there."""
    moved = {name: (build()[0].to("meta"), cases.built[name][1]) for name, build in cases.build.items()}
    wanted = {**cases.expected, "tied_embedding": (8_000, 3_200)}
    assert weighed(moved.items()) == wanted


def test_scripted(cases: Cases) -> None:
    """TorchScript takes no module that passes any number of arguments on."""
    able = {name: built for name, built in cases.built.items() if type(built[0]).__name__ != "Calls"}
    assert len(able) == 14
    scripted = {name: (torch.jit.script(model), inputs) for name, (model, inputs) in able.items()}
    assert weighed(scripted.items()) == {name: cases.expected[name] for name in able}


def test_a_frozen_module_says_where_its_parameters_are(cases: Cases) -> None:
    for name, constants, values in (("conv_bias", 2, 224), ("embedding", 1, 64_000)):
        model, inputs = cases.built[name]
        report = weigh(torch.jit.freeze(torch.jit.script(model.eval())), inputs=inputs)
        assert (report.facts.macs, report.facts.parameters) == (cases.expected[name][0], 0)
        assert report.facts.constant_bytes == 4 * values
        assert any(f"{constants} constants with {values:,} values stand beside" in note for note in report.notes)


def test_traced(cases: Cases) -> None:
    """A traced module cannot pack a sequence in a copy of it."""
    traced = {name: (trace(*built), built[1]) for name, built in cases.built.items() if name != "lstm_packed"}
    assert weighed(traced.items()) == {name: cases.expected[name] for name in traced}


def trace(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> nn.Module:
    with warnings.catch_warnings(action="ignore", category=torch.jit.TracerWarning):
        traced: nn.Module = torch.jit.trace(model, inputs, check_trace=False)
    return traced


def compiled(model: nn.Module) -> Any:
    return torch.compile(model)


def compiled_in_place(model: nn.Module) -> nn.Module:
    model.compile()
    return model


class Around(nn.Module):
    """A model within a model."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.inner(*inputs)


@pytest.mark.parametrize(
    "compile_", [compiled, compiled_in_place, lambda model: Around(compiled(model))], ids=["whole", "in_place", "inner"]
)
def test_compiled(cases: Cases, compile_: Callable[[nn.Module], nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is ever compiled: that takes seconds, and the count is that of the model."""

    def compiles(*given: Any, **named: Any) -> Any:
        raise AssertionError("the compiler was called")

    monkeypatch.setattr(torch._dynamo.convert_frame, "_compile", compiles)
    wrapped = {name: (compile_(model), inputs) for name, (model, inputs) in cases.built.items()}
    try:
        assert weighed(wrapped.items()) == cases.expected
    finally:
        for model, _ in cases.built.values():
            model._compiled_call_impl = None
