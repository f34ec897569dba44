"""Frozen parameters, adapters, checkpoints and 16-bit training: against modules that are written so."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.torch.real_training import IGNORED, Seen, seen
from weighbridge.errors import BadModel, BadSpec, NeedsShape, WeighbridgeError
from weighbridge.frontends.torch_training import training_run

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

IMAGES = torch.randn(2, 3, 16, 16)
WORDS = torch.randn(2, 6, 16)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.mlp(self.norm(x))


def transformer() -> nn.Sequential:
    return nn.Sequential(Block(), Block(), nn.Linear(16, 4))


def convolutions() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(8 * 36, 4)),
    )


def _frozen(model: nn.Module, names: frozenset[str]) -> nn.Module:
    model = copy.deepcopy(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in names)
    return model


@pytest.mark.parametrize(
    "is_trained",
    [
        lambda name: name.endswith("bias"),
        lambda name: name.startswith("6."),
        lambda name: name.startswith(("3.", "6.")),
        lambda name: name == "0.weight",
    ],
    ids=["biases", "last", "last two", "first"],
)
def test_some_parameters_are_trained(is_trained: Callable[[str], bool]) -> None:
    model = convolutions()
    names = frozenset(name for name, _ in model.named_parameters() if is_trained(name))
    run = training_run(model, (IMAGES,), {}, trained=names)
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(_frozen(model, names), IMAGES)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_convolution_whose_bias_alone_is_trained_saves_as_much() -> None:
    """Autograd does not ask which of its gradients a convolution has to make."""
    model = convolutions()
    for names, saves_less in (({"0.bias", "3.bias"}, False), ({"6.weight", "6.bias"}, True)):
        run = training_run(model[:5] if "3.bias" in names else model, (IMAGES,), {}, trained=frozenset(names))
        whole = training_run(model[:5] if "3.bias" in names else model, (IMAGES,), {})
        assert (run.saved_bytes < whole.saved_bytes) == saves_less


class Adapted(nn.Module):
    """A layer with an adapter as its papers draw it, without scaling and dropout."""

    def __init__(self, layer: nn.Module, down: nn.Module, up: nn.Module) -> None:
        super().__init__()
        self.layer, self.down, self.up = layer, down, up

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + self.up(self.down(x))


def test_adapters_of_linear_layers() -> None:
    model = transformer()
    run = training_run(model, (WORDS,), {}, lora={"*.mlp.*": 3, "2": 2})
    by_hand = _frozen(model, frozenset())
    for block in (by_hand[0], by_hand[1]):
        block.mlp[0] = Adapted(block.mlp[0], nn.Linear(16, 3, bias=False), nn.Linear(3, 64, bias=False))
        block.mlp[2] = Adapted(block.mlp[2], nn.Linear(64, 3, bias=False), nn.Linear(3, 16, bias=False))
    by_hand[2] = Adapted(by_hand[2], nn.Linear(16, 2, bias=False), nn.Linear(2, 4, bias=False))
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(by_hand, WORDS)
    assert list(dict(model.named_modules())) == list(dict(transformer().named_modules()))


def test_adapters_of_convolutions_beside_trained_biases() -> None:
    model = convolutions()
    biases = frozenset(name for name, _ in model.named_parameters() if name.endswith("bias"))
    run = training_run(model, (IMAGES,), {}, lora={"3": 4}, trained=biases)
    by_hand = _frozen(model, biases)
    by_hand[3] = Adapted(by_hand[3], nn.Conv2d(8, 4, 3, stride=2, bias=False), nn.Conv2d(4, 8, 1, bias=False))
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(by_hand, IMAGES)


def test_no_adapter_where_nobody_calls_the_layer() -> None:
    """The projection behind an attention is a linear layer of which the attention reads the weight."""
    model = transformer()
    run = training_run(model, (WORDS,), {}, lora={"*": 2})
    assert any("no adapter in 0.attention.out_proj and 1 more" in note for note in run.notes)
    named = training_run(model, (WORDS,), {}, lora={"*.mlp.*": 2, "2": 2})
    assert (run.saved, run.peak_bytes) == (named.saved, named.peak_bytes)


class Kept(nn.Module):
    """A module that runs under a checkpoint."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.inner, x, use_reentrant=False)


@pytest.mark.parametrize("pattern", [("0", "1"), ("[01]",), ("[01]*",), ("[01]", "0.mlp")])
def test_checkpoints(pattern: tuple[str, ...]) -> None:
    """Only the outermost modules that match: what lies in them is computed again as it is."""
    model = transformer()
    run = training_run(model, (WORDS,), {}, checkpoint=pattern)
    by_hand = copy.deepcopy(model)
    by_hand[0], by_hand[1] = Kept(by_hand[0]), Kept(by_hand[1])
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(by_hand, WORDS)
    assert {(one.scope, one.by) for one in run.saved if one.scope != "2"} == {("0", "checkpoint"), ("1", "checkpoint")}
    assert run.saved_bytes < training_run(model, (WORDS,), {}).saved_bytes


def test_mixed_precision() -> None:
    for model, values in ((transformer(), WORDS), (convolutions(), IMAGES)):
        run = training_run(model, (values,), {}, mixed=True)
        halved = copy.deepcopy(model).to(torch.bfloat16)
        assert Seen(run.saved_bytes, run.peak_bytes) == seen(halved, values.to(torch.bfloat16))
        assert all(parameter.dtype is torch.float32 for parameter in model.parameters())


def test_mixed_precision_of_a_module_that_needs_values() -> None:
    class Decides(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) if x.isfinite().all() else x

    model = Decides()
    run = training_run(model, (WORDS,), {}, mixed=True)
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(copy.deepcopy(model).bfloat16(), WORDS.bfloat16())


def test_shared_weights_stay_one_under_mixed_precision() -> None:
    layer = nn.Linear(16, 16)
    run = training_run(nn.Sequential(layer, nn.ReLU(), layer), (WORDS,), {}, mixed=True)
    assert run.at_peak.parameter_bytes == 2 * (16 * 16 + 16)


@pytest.mark.parametrize("attention", ["math", "flash"])
def test_attention_that_is_asked_for(attention: str) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    model = transformer()
    run = training_run(model, (WORDS,), {}, attention=attention)
    assert run.attention == attention
    backend = SDPBackend.MATH if attention == "math" else SDPBackend.FLASH_ATTENTION
    with sdpa_kernel(backend):
        assert Seen(run.saved_bytes, run.peak_bytes) == seen(model, WORDS)


def test_without_attention() -> None:
    run = training_run(convolutions(), (IMAGES,), {}, attention="math")
    assert run.attention == ""
    assert any("no scaled dot product attention" in note for note in run.notes)


class Detached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).detach()


class Overwrites(Detached):
    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x).exp()
        return y.add_(1)


class DropsAttention(Detached):
    def forward(self, x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(self.layer(x), self.layer(x), self.layer(x), dropout_p=0.1)


class Fails(Detached):
    def forward(self, x: Tensor) -> Tensor:
        raise KeyError("out of order")


class Generates(Detached):
    def forward(self, x: Tensor) -> Any:
        yield self.layer(x)


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16)])

    def forward(self, x: Tensor) -> Any:
        return self.layers[0](x)


BAD: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], type[WeighbridgeError], str]] = {
    "kernel": (transformer, {"attention": "fast"}, BadSpec, "math or flash"),
    "kernel that cannot": (DropsAttention, {"attention": "flash"}, BadSpec, "takes no dropout"),
    "parameter": (transformer, {"trained": frozenset({"2.wieght"})}, BadSpec, "2.weight"),
    "nothing trained": (transformer, {"trained": frozenset()}, BadSpec, "no parameter of the module is trained"),
    "no parameters": (nn.ReLU, {}, BadSpec, "no parameter of the module is trained"),
    "checkpoint": (transformer, {"checkpoint": ["1.atention"]}, BadSpec, "did you mean 1.attention"),
    "checkpoint of nothing": (Lists, {"checkpoint": ["layers"]}, BadSpec, "nobody calls layers"),
    "adapter": (transformer, {"lora": {"0.mpl.0": 2}}, BadSpec, "0.mlp.0"),
    "adapter of nothing": (transformer, {"lora": {"*.norm": 2}}, BadSpec, "LayerNorm"),
    "adapter that nobody calls": (transformer, {"lora": {"*.out_proj": 2}}, BadSpec, "would do nothing"),
    "rank": (transformer, {"lora": {"2": 0}}, BadSpec, "whole number from 1"),
    "no gradient": (Detached, {}, BadModel, "no tensor of the result"),
    "overwritten": (Overwrites, {}, BadModel, "overwritten after it was saved"),
    "failure": (Fails, {}, BadModel, "out of order"),
    "generator": (Generates, {}, BadModel, "generator"),
    "width": (lambda: nn.Linear(15, 2), {}, BadModel, "2x6x16"),
    "one value a channel": (lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(96)), {}, BadModel, "more than 1 value"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    made, options, kind, says = BAD[name]
    values = WORDS[:1] if name == "one value a channel" else WORDS
    with pytest.raises(kind) as caught:
        training_run(made(), (values,), {}, **options)
    assert says in str(caught.value)


def test_arguments_are_missing() -> None:
    with pytest.raises(NeedsShape):
        training_run(transformer(), (), {})


def test_nothing_of_the_users_is_touched() -> None:
    model = nn.Sequential(transformer(), nn.Dropout(0.5)).eval()
    model[0][0].mlp.train()
    (model(WORDS).sum()).backward()
    tensors = {name: one.clone() for name, one in model.state_dict().items()}
    gradients = {name: one.grad.clone() for name, one in model.named_parameters()}
    modes = {name: one.training for name, one in model.named_modules()}
    random_state = torch.get_rng_state()
    values = WORDS.clone().requires_grad_()
    for options in (
        {},
        {"lora": {"*": 1}},
        {"checkpoint": ["0.*"]},
        {"mixed": True},
        {"trained": frozenset({"0.2.bias"})},
    ):
        training_run(model, (values,), {}, **options)
    with pytest.raises(BadModel):
        training_run(model, (WORDS[..., :3],), {})
    assert torch.equal(torch.get_rng_state(), random_state)
    assert modes == {name: one.training for name, one in model.named_modules()}
    assert all(torch.equal(one, tensors[name]) for name, one in model.state_dict().items())
    assert all(torch.equal(one.grad, gradients[name]) for name, one in model.named_parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert values.grad is None
    assert not any(one._forward_hooks or "forward" in vars(one) for one in model.modules())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)])
def test_the_callers_modes_do_not_reach_in(mode: Callable[[], Any]) -> None:
    model = transformer()
    plain = training_run(model, (WORDS,), {})
    with mode():
        run = training_run(model, (WORDS,), {})
        assert torch.is_grad_enabled() == (mode not in (torch.no_grad, torch.inference_mode))
    assert (run.saved, run.peak_bytes) == (plain.saved, plain.peak_bytes)


def test_no_memory_is_taken() -> None:
    """A module and a batch of many terabytes."""
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(1 << 20, 1 << 20), nn.ReLU(), nn.Linear(1 << 20, 1))
    run = training_run(model, (torch.empty(1 << 16, 1 << 20, device="meta"),), {})
    assert run.saved_bytes == 2 * 4 << 36
