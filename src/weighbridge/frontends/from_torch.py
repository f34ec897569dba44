"""PyTorch modules as graphs: what the module does is recorded while a copy of it runs, and nothing of the user's is touched."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from weighbridge.errors import WeighbridgeError, said_by
from weighbridge.frontends.aten_call import AtenTensor, Program
from weighbridge.frontends.aten_graph import build
from weighbridge.frontends.torch_capture import Recorder, ValuesWritten
from weighbridge.frontends.torch_copy import meta_copy, real_copy
from weighbridge.frontends.torch_forward import (
    Failed,
    check_arguments,
    check_result,
    explained,
    first_line,
    parameters_of_forward,
    tensors_in,
)
from weighbridge.frontends.torch_overlap import shared
from weighbridge.frontends.torch_processor import mark_fast_paths
from weighbridge.frontends.torch_scope import Scopes
from weighbridge.frontends.torch_state import untouched
from weighbridge.graph import Graph, Role
from weighbridge.named_tuple import NamedTuple

__all__ = ["capture", "load_torch"]

_TRACED: Final = "traced on the meta device: no value was computed, the counts hold for these input sizes"
_RAN: Final = (
    "ran once with values, as the module cannot run without them ({reason}): where it decides by values, "
    "the counts hold for that input"
)
_GRADIENTS: Final = re.compile(r"grad_fn|require(s)? grad|inference tensor|autograd", re.IGNORECASE)
"""What PyTorch says where a module takes derivatives in its forward pass."""


def load_torch(
    model: nn.Module, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None, *, name: str = ""
) -> Graph:
    """The graph of a module for its inputs; ``args`` and ``kwargs`` are what ``forward`` takes, as tensors or in structures.

    Raises ``BadModel`` where the module cannot be copied or run, ``NeedsShape`` where ``forward`` lacks arguments.
    """
    return build(capture(model, args, dict(kwargs or {}), name=name))


def capture(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, name: str = "") -> Program:
    """The calls that a module makes: on a copy without values, or where that cannot be, on a copy that has them."""
    model = getattr(model, "_orig_mod", model)
    check_arguments(model, args, kwargs)
    name = name or type(model).__name__
    with untouched():
        torch.backends.mha.set_fastpath_enabled(False)
        attempt: _Attempt | None = _Attempt(meta_copy, _TRACED, is_meta=True)
        failures: list[Failed] = []
        while attempt is not None:
            try:
                return _run(attempt, model, args, kwargs, name)
            except Failed as failed:
                failures.append(failed)
                attempt = attempt.after(failed.error)
    has_values = not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    raise explained(model, failures[-1 if has_values else 0]) from None


class _Attempt(NamedTuple):
    """A way to run a module: how it and its inputs are copied, and what the report says of it.

    ``keeps_values`` lets whole numbers made from nothing have values; with ``gradients`` the module may take derivatives,
    and what it runs is recorded in smaller parts.
    """

    copied: Callable[..., tuple[Any, ...]]
    says: str
    is_meta: bool
    keeps_values: bool = True
    gradients: bool = False

    def after(self, error: BaseException) -> _Attempt | None:
        """What to try after this ended in an error; None where nothing is left."""
        if isinstance(error, WeighbridgeError):
            return None
        if isinstance(error, ValuesWritten):
            return self._replace(keeps_values=False)
        if not self.gradients and _GRADIENTS.search(said_by(error)):
            return self._replace(gradients=True)
        if self.is_meta:
            return _Attempt(real_copy, _RAN.format(reason=first_line(error)), is_meta=False)
        return None


def _run(attempt: _Attempt, model: nn.Module, args: Any, kwargs: Any, name: str) -> Program:
    with torch.set_grad_enabled(True) if attempt.gradients else torch.inference_mode():
        try:
            copied, *given = attempt.copied(model, args, kwargs)
        except Exception as error:
            raise Failed(error, while_copying=True) from None
        scopes = Scopes(copied)
        recorder = Recorder(scopes, is_meta=attempt.is_meta, keeps_values=attempt.keeps_values)
        _declare(recorder, copied)
        _initialise_unseen(recorder, copied)
        mark_fast_paths(copied, recorder.storages)
        inputs = [recorder.declare(tensor, path, Role.INPUT) for path, tensor in _named_inputs(copied, *given)]
        try:
            with recorder:
                result = copied(*given[0], **given[1])
            check_result(result)
            outputs = tuple(dict.fromkeys(recorder.id_of(tensor) for tensor in tensors_in(result)))
        except Exception as error:
            raise Failed(error, *scopes.failing(error.__traceback__)) from None
        finally:
            said = recorder.finish()
    calls = recorder.recording.finished(outputs)
    tensors = tuple(recorder.recording.tensors.values())
    held, notes = recorder.storages.record()
    notes = (*said, *notes, *_frozen_notes(model, tensors))
    read = tuple(dict.fromkeys(inputs))
    return Program(name, tensors, calls, read, outputs, attempt.says, notes, held, scopes.blocks())


def _frozen_notes(model: nn.Module, tensors: Iterable[AtenTensor]) -> Iterator[str]:
    """What ``torch.jit.freeze`` did to a module: nothing tells its parameters from its other constants."""
    if isinstance(model, torch.jit.ScriptModule) and next(model.parameters(), None) is None:
        sizes = [prod(one.type.shape) for one in tensors if one.role is Role.CONSTANT and one.type.shape]
        if sizes:
            yield (
                f"this TorchScript module has no parameters, as a frozen one has none: {len(sizes)} constants with "
                f"{sum(sizes):,} values stand beside the parameters and are not among them"
            )


def _declare(recorder: Recorder, model: nn.Module) -> None:
    stored = [
        part
        for named, role in ((model.named_parameters, Role.PARAMETER), (model.named_buffers, Role.BUFFER))
        for path, tensor in named(remove_duplicate=False)
        if not is_lazy(tensor)
        for part in _as_stored(path, tensor, role)
    ]
    paths = {id(one): path for path, one, _ in reversed(stored)}
    for role in (Role.PARAMETER, Role.BUFFER):
        for those in shared(one for _, one, its_role in stored if its_role is role):
            first = those.tensors[0] if those.whole is None else those.whole
            recorder.declare_shared(those, paths[id(first)], role)
    for path, one, role in stored:
        recorder.declare(one, path, role)


def _as_stored(path: str, tensor: torch.Tensor, role: Role) -> Iterator[tuple[str, torch.Tensor, Role]]:
    """A tensor that wraps others (torchao's quantised weights) as these: its values, and scales and zero points as buffers.

    Where the first of them has not a value for each of its own, as two share a byte, it stays what it says it is.
    """
    names = tensor.__tensor_flatten__()[0] if is_traceable_wrapper_subclass(tensor) else ()
    parts = [(name, getattr(tensor, name)) for name in names]
    if not parts or parts[0][1].numel() != tensor.numel():
        yield path, tensor, role
        return
    for place, (name, one) in enumerate(parts):
        yield (path, one, role) if place == 0 else (f"{path}.{name}", one, Role.BUFFER)


def _initialise_unseen(recorder: Recorder, model: nn.Module) -> None:
    """Let lazy modules size and fill their parameters outside the record: that is no work of the network."""

    def unseen(initialise: Callable[..., Any], module: nn.Module, *given: Any) -> Any:
        with torch.utils._python_dispatch._disable_current_modes():  # noqa: SLF001 - PyTorch has no public one
            made = initialise(module, *given)
        _declare(recorder, model)
        return made

    for module in model.modules():
        handle = vars(module).get("_initialize_hook")
        if handle is not None:
            hooks = module._forward_pre_hooks  # noqa: SLF001
            hooks[handle.id] = partial(unseen, hooks[handle.id])


def _named_inputs(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor among the inputs, named after the argument of ``forward``."""
    names = [
        name for name, one in parameters_of_forward(model).items() if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    positional = [(names[place] if place < len(names) else f"input{place}", value) for place, value in enumerate(args)]
    for name, value in (*positional, *kwargs.items()):
        for place, tensor in enumerate(tensors_in(value)):
            yield name if tensor is value else f"{name}.{place}", tensor
