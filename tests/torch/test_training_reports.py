"""Training memory of PyTorch models in reports: which rule is taken, what the optimisers of PyTorch and torchao really keep."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import weighbridge
from weighbridge import BadSpec
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.memory.training.records import TrainingPlan


def plan(source: object, **options: object) -> TrainingPlan:
    found = weighbridge.weigh(source, **options).memory.training  # type: ignore[arg-type]
    assert found is not None
    return found


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)).mean((2, 3)))


IMAGE = (2, 3, 8, 8)


def test_a_module_is_followed_by_autograd_and_the_rest_by_the_rule_of_papers() -> None:
    assert plan(Small(), inputs=IMAGE, train="adam").rule == "autograd"
    assert plan(Small(), inputs=IMAGE, train={"rule": "paper"}).rule == "paper"
    assert plan(Small(), inputs=IMAGE, train={"update": "stem=1/2"}).rule == "paper"
    assert plan(Small(), inputs=IMAGE, train="adam", weight_bits=8).rule == "paper"


@pytest.mark.parametrize("options", [{"weight_bits": 8}, {"train": {"rule": "autograd", "update": "stem=1/2"}}])
def test_what_autograd_cannot_say_is_refused_where_it_was_asked_for(options: dict[str, object]) -> None:
    with pytest.raises(BadSpec, match="the rule autograd cannot say"):
        plan(Small(), inputs=IMAGE, **{"train": {"rule": "autograd"}, **options})


@pytest.mark.parametrize(
    ("how", "trained"),
    [
        ({}, 216 + 8 + 16 + 576 + 8 + 36),
        ({"update": "biases"}, 8 + 8 + 8 + 4),
        ({"update": "last-1"}, 36),
        ({"update": "body"}, 16 + 576 + 8),
        ({"freeze": "stem"}, 16 + 576 + 8 + 36),
        ({"lora": "head=2"}, 2 * (8 + 4)),
        ({"checkpoint": "body"}, 216 + 8 + 16 + 576 + 8 + 36),
    ],
)
def test_ways_of_training(how: dict[str, object], trained: int) -> None:
    found = plan(Small(), inputs=IMAGE, train={"optimiser": "adam", **how})
    assert found.rule == "autograd"
    assert found.trained_parameters == trained
    assert found.gradient_bytes == 4 * trained
    assert found.optimiser_bytes == 8 * trained
    assert sum(layer.saved_bytes for layer in found.layers) == found.saved_bytes
    assert found.total_bytes is not None
    assert found.total_bytes >= (found.parameter_bytes or 0) + found.optimiser_bytes + found.peak_activation_bytes


def test_checkpoints_and_frozen_layers_keep_less() -> None:
    whole = plan(Small(), inputs=IMAGE, train="sgd").saved_bytes
    assert plan(Small(), inputs=IMAGE, train={"checkpoint": "body"}).saved_bytes < whole
    assert plan(Small(), inputs=IMAGE, train={"update": "last-1"}).saved_bytes < whole


def test_the_user_s_module_is_left_as_it_is() -> None:
    module = Small().eval()
    module.stem.weight.requires_grad_(False)
    before = {name: one.clone() for name, one in module.state_dict().items()}
    weighbridge.weigh(module, inputs=IMAGE, train={"optimiser": "adam", "update": "biases", "checkpoint": "body"})
    assert not module.training
    assert [name for name, one in module.named_parameters() if not one.requires_grad] == ["stem.weight"]
    assert all(one.grad is None for one in module.parameters())
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items())


def test_one_network_in_two_formats_keeps_the_same_by_the_rule_of_papers() -> None:
    for ours, theirs in (("resnet18", "torchvision:resnet18"), ("vgg16", "torchvision:vgg16"), ("mobilenet_v2",) * 2):
        source = theirs if ":" in theirs else f"torchvision:{theirs}"
        here, there = plan(ours, batch=2, train={"rule": "paper"}), plan(source, batch=2, train={"rule": "paper"})
        assert here.saved_bytes == there.saved_bytes
        assert here.peak_activation_bytes == there.peak_activation_bytes
        assert here.gradient_bytes == there.gradient_bytes


STEPS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, 0.1),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 0.1),
    "adafactor": lambda parameters: torch.optim.Adafactor(parameters, 0.1),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("shape", [(7,), (64, 48), (16, 8, 3, 5), (128, 64), (1, 5), (4, 1, 3, 3)])
def test_states_are_those_of_pytorch_s_optimisers(name: str, shape: tuple[int, ...]) -> None:
    """But for the counter of steps, which is a number a tensor."""
    parameter = nn.Parameter(torch.ones(shape))
    parameter.grad = torch.ones(shape)
    optimiser = STEPS[name]([parameter])
    optimiser.step()
    held = sum(
        value.numel() * value.element_size()
        for key, value in optimiser.state[parameter].items()
        if isinstance(value, torch.Tensor) and key != "step"
    )
    assert OPTIMISERS[name].state_bytes(shape) == held


@pytest.mark.parametrize("shape", [(64, 64), (128, 256), (63, 65), (512,)])
def test_8_bit_states_are_those_of_a_library_for_a_block_of_its_size(shape: tuple[int, ...]) -> None:
    """torchao's have blocks of any size, also the 2,048 of the paper, and a table of 256 values for each tensor beside them."""
    from torchao.optim import Adam8bit
    from torchao.optim.subclass_8bit import OptimState8bit

    parameter = nn.Parameter(torch.ones(shape))
    made = Adam8bit([parameter], block_size=2048)._new_buffer(parameter, signed=True)
    elements = parameter.numel()
    if elements < 4096:
        assert not isinstance(made, OptimState8bit)
        assert OPTIMISERS["adam8bit"].state_bytes(shape) == 2 * 4 * elements
    elif elements % 2048 == 0:
        assert isinstance(made, OptimState8bit)
        held = made.codes.numel() * made.codes.element_size() + made.scale.numel() * made.scale.element_size()
        assert OPTIMISERS["adam8bit"].state_bytes(shape) == 2 * held


def test_hooks_of_the_user_reach_copies_of_what_is_theirs() -> None:
    seen: list[str] = []
    module = Small()
    module.head.register_full_backward_hook(lambda *_: seen.append("backward"))
    module.head.register_full_backward_pre_hook(lambda *_: seen.append("before it"))
    module.head.register_forward_hook(lambda *_: seen.append("forward"))
    module.head.weight.register_hook(lambda _: seen.append("gradient"))
    module.head.weight.register_post_accumulate_grad_hook(lambda _: seen.append("sum"))
    weighbridge.weigh(module, inputs=IMAGE, train="sgd")
    assert seen == []
