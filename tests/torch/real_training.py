"""A step of training as PyTorch takes it, and what its own tools see of that: what ours is held against."""

from __future__ import annotations

import copy
import gc
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker

from weighbridge.frontends.torch_forward import tensors_in
from weighbridge.frontends.torch_training import training_run
from weighbridge.memory.training.run import AutogradRun

IGNORED = (
    "ignore:Full backward hook is firing:UserWarning",
    "ignore:LSTM with projections is not supported with oneDNN:UserWarning",
    "ignore:enable_nested_tensor is True:UserWarning",
    "ignore:None of the inputs have requires_grad=True:UserWarning",
)
"""What PyTorch says of the tracker's hooks and of models that users have."""


class Seen(NamedTuple):
    """Bytes that the hooks were given, parameters and buffers left out, and the peak that the tracker saw."""

    saved: int
    peak: int


class _Tracker(MemTracker):
    """PyTorch's own cannot hang its hooks, which tell gradients from temporaries, on frozen parameters."""

    def _track_module_params_and_buffers(self, module: nn.Module, install_grad_hooks: bool = True) -> tuple[int, int]:
        all_trained = all(parameter.requires_grad for parameter in module.parameters())
        return super()._track_module_params_and_buffers(module, install_grad_hooks and all_trained)


def loss_of(result: Any) -> Tensor:
    """The sum of all that has a gradient."""
    sums = [
        (torch.view_as_real(one) if one.is_complex() else one).sum() for one in tensors_in(result) if one.requires_grad
    ]
    loss = sums[0]
    for one in sums[1:]:
        loss = loss + one
    return loss


def saved_bytes(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """What ``saved_tensors_hooks`` collects in a forward pass with its loss."""
    own = {one.untyped_storage()._cdata for one in (*model.parameters(), *model.buffers())}
    kept: dict[int, Any] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage  # held, so that no other takes its place
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss_of(model(*args, **kwargs))
    return sum(storage.nbytes() for key, storage in kept.items() if key not in own)


def tracked_bytes(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """The most that ``MemTracker`` sees in a step, told of the model and its inputs."""
    tracker = _Tracker()
    tracker.track_external(model, *tensors_in((args, kwargs)))
    gc.disable()  # it would free what lies in circles at moments of its own
    try:
        with tracker:
            result = model(*args, **kwargs)
            loss = loss_of(result)
            loss.backward()
    finally:
        gc.enable()
    return int(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"])


def seen(model: nn.Module, *args: Any, **kwargs: Any) -> Seen:
    """Both, each on a copy: the second step of a model is not its first."""
    saved = saved_bytes(copy.deepcopy(model), args, kwargs)
    return Seen(saved, tracked_bytes(copy.deepcopy(model), args, kwargs))


def ours(model: nn.Module, *args: Any, **kwargs: Any) -> AutogradRun:
    """Our record of the step, which may not contradict itself."""
    run = training_run(model, args, kwargs)
    assert sum(run.at_peak) == run.peak_bytes
    assert run.at_peak.parameter_bytes == sum({id(one): one.nbytes for one in model.parameters()}.values())
    assert not any("ran with values" in note for note in run.notes), run.notes
    return run


def assert_equal(model: nn.Module, *args: Any, **kwargs: Any) -> AutogradRun:
    """Hold ours against the real step of a model in train mode; returns ours."""
    run = ours(model, *args, **kwargs)
    assert Seen(run.saved_bytes, run.peak_bytes) == seen(model, *args, **kwargs)
    return run
