"""PyTorch modules in training: what autograd saves and holds in one step, found without values.

A copy of the module takes one step of training on tensors that say they are on the processor and have no values
(``FakeTensorMode``): PyTorch picks the kernels of a processor, its own autograd saves and frees, and nothing is computed.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final, cast

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import is_lazy

from weighbridge.errors import BadModel, BadSpec, WeighbridgeError, said_by
from weighbridge.frontends.torch_copy import fake_copy, meta_copy, real_copy
from weighbridge.frontends.torch_forward import (
    Failed,
    check_arguments,
    check_result,
    explained,
    first_line,
    tensors_in,
)
from weighbridge.frontends.torch_scope import Scopes
from weighbridge.frontends.torch_state import untouched
from weighbridge.frontends.torch_training_changes import Changes
from weighbridge.frontends.torch_training_step import Step
from weighbridge.memory.training.run import AutogradRun
from weighbridge.named_tuple import NamedTuple

__all__ = ["ATTENTION", "training_run"]

ATTENTION: Final = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
"""The kernels of scaled dot product attention that a processor has, by the names they are asked for."""
_RAN: Final = "one step of training ran with values, as the module cannot run without them ({reason})"
_TRAIN: Final = "the module was given in eval mode; a step of training runs all of it in train mode"
_AUTOCAST: Final = "torch.autocast is on, and is not followed: the step has the element types of the module"
_WORKSPACE: Final = (
    "the peak has no workspace, which kernels take while they run, and nothing that an allocator rounds up: "
    "the documentation's page on autograd's memory has measured figures"
)
_MOST_SHOWN: Final = 3
_UNTRAINED: Final = "let parameters require gradients, or name those to train"


def training_run(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    trained: frozenset[str] | None = None,
    lora: Mapping[str, int] = {},
    checkpoint: Sequence[str] = (),
    attention: str = "",
    mixed: bool = False,
) -> AutogradRun:
    """What autograd saves, and the most that is alive at once, in one step of training on a processor.

    The step is ``result = model(*args, **kwargs)``, the sum of all floating and complex tensors of the result as the loss,
    and ``loss.backward()``, from gradients that are None; result and loss are held to the end, as by the variables of a
    training loop.  Saved is what ``torch.autograd.graph.saved_tensors_hooks`` around the forward pass and the loss are given:
    each storage once and whole, be it of an activation or an input of the network.

    ``trained`` are names of ``named_parameters()``: these require gradients and no others; None leaves the module's choice.
    ``lora`` maps paths or patterns of linear layers and convolutions to the rank of an adapter, ``y + B(A(x))``; the
    module's own parameters are then frozen unless ``trained`` names them.  The outermost modules that ``checkpoint`` names
    run under ``torch.utils.checkpoint`` (``use_reentrant=False``).  ``attention`` is ``"math"`` or ``"flash"``, "" for what
    a processor picks.  ``mixed`` makes the module and floating inputs bfloat16; master weights are the optimiser's.

    Raises ``BadSpec`` for a name, pattern, rank or kernel that there is not and where nothing is trained, ``BadModel`` where
    the module cannot be copied or run or its result has no gradient, ``NeedsShape`` where ``forward`` lacks arguments.
    """
    model = getattr(model, "_orig_mod", model)
    if attention and attention not in ATTENTION:
        raise BadSpec(f"there is no attention kernel {attention!r}", where="attention", hint="it is math or flash")
    check_arguments(model, args, kwargs)
    dtype = torch.bfloat16 if mixed else None
    attempt = _Attempt(
        is_fake=True, dtype=dtype, changes=Changes(trained, lora, tuple(checkpoint)), attention=attention
    )
    autocast = [_AUTOCAST] if torch._C._is_any_autocast_enabled() else []  # noqa: SLF001 - PyTorch asks for one device
    with untouched(), _prepared():
        try:
            run = attempt.run(model, args, dict(kwargs))
            return run._replace(notes=(*autocast, *run.notes))
        except Failed as failed:
            if isinstance(failed.error, WeighbridgeError):
                raise _ours(model, failed) from None
            first = failed
        try:
            run = attempt._replace(is_fake=False).run(model, args, dict(kwargs))
        except Failed as failed:
            has_values = not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
            raise _ours(model, failed if has_values else first) from None
    return run._replace(notes=(*autocast, _RAN.format(reason=_reason(first.error)), *run.notes))


def _reason(error: BaseException) -> str:
    """Why a step without values could not be taken."""
    operator = getattr(error, "func", None)
    return first_line(error) if operator is None else f"what {operator} gives depends on them"


def _ours(model: nn.Module, failed: Failed) -> WeighbridgeError:
    return failed.error if isinstance(failed.error, BadSpec) else explained(model, failed)


@contextmanager
def _prepared() -> Iterator[None]:
    """Gradients are on and what the caller has turned for computing with values is off; all is afterwards as it was.

    Python's collector waits, as it would free storages that lie in circles at moments of its own choosing.
    """
    log = logging.getLogger("torch._subclasses.fake_tensor")
    was_silent, collects = log.disabled, gc.isenabled()
    log.disabled = True  # what PyTorch says of operators without rules comes as an error as well
    gc.disable()
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False), _unnoticed():
            yield
    finally:
        log.disabled = was_silent
        if collects:
            gc.enable()


@contextmanager
def _unnoticed() -> Iterator[None]:
    """Hide from the transformers library that tensors have no values: its models would make other masks of attention for them.

    The library is looked for among what the user has imported: it is not needed here.
    """
    module: Any = sys.modules.get("transformers.utils.import_utils")
    asked = getattr(module, "is_fake_tensor", None)
    if asked is None:
        yield
        return
    module.is_fake_tensor = lambda _: False
    try:
        yield
    finally:
        module.is_fake_tensor = asked


class _Attempt(NamedTuple):
    """A way to take the step: on a copy without values, or on one with them; ``dtype`` is that of ``mixed``."""

    is_fake: bool
    dtype: torch.dtype | None
    changes: Changes
    attention: str

    def run(
        self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], without: frozenset[str] = frozenset()
    ) -> AutogradRun:
        """The step's record; ``without`` are the modules that an earlier try showed to have no use for an adapter."""
        mode: Any = FakeTensorMode(allow_non_fake_inputs=True) if self.is_fake else nullcontext()
        try:
            copied, *given = self._copied(mode, self._sized(model, args, kwargs), args, kwargs)
        except Exception as error:
            raise Failed(error, while_copying=True) from None
        with mode:
            if not model.training:
                copied.train()
            changed = self.changes.made_to(copied, without)
            try:
                run = _taken(copied, given[0], given[1], self.attention, is_fake=self.is_fake)
            except Failed as failed:
                if not isinstance(failed.error, BadModel) or not changed.idle(changed.adapters):
                    raise
        idle = changed.idle(changed.adapters)
        if idle:
            return self.run(model, args, kwargs, without | idle)
        notes = [] if model.training else [_TRAIN]
        notes += changed.notes(without)
        return run._replace(notes=(*notes, *run.notes))

    def _sized(self, model: nn.Module, args: Any, kwargs: Any) -> nn.Module:
        """The model, or a copy of it whose lazy modules have got their sizes from a first call, as an optimiser needs them."""
        lazy = [path for path, one in model.named_parameters() if is_lazy(one) and one.requires_grad]
        if not lazy:
            return model
        copied, *given = (meta_copy if self.is_fake else real_copy)(model, args, kwargs)
        with torch.no_grad():
            copied(*given[0], **given[1])
        for path in lazy:
            copied.get_parameter(path).requires_grad_(True)
        return cast(nn.Module, copied.train(model.training))

    def _copied(self, mode: Any, model: nn.Module, args: Any, kwargs: Any) -> tuple[Any, ...]:
        if self.is_fake:
            copied, *given = fake_copy(mode, model, args, kwargs, dtype=self.dtype)
            if not all(isinstance(one, FakeTensor) for one in (*copied.parameters(), *copied.buffers())):
                raise TypeError("it holds parameters of a kind that only exists with values")
            return copied, *given
        with torch.no_grad():  # a copy of a TorchScript module would have the original's parameters behind its own
            copied, *given = real_copy(model, args, kwargs)
        for parameter, original in zip(copied.parameters(), model.parameters(), strict=True):
            parameter.requires_grad_(original.requires_grad)
            parameter.grad = None
        if self.dtype is None:
            return copied, *given
        return copied.to(self.dtype), *(_cast(one, self.dtype) for one in given)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """A structure of inputs with its floating tensors in another element type."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype.is_floating_point else value
    if type(value) in (tuple, list):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return type(value)((key, _cast(item, dtype)) for key, item in value.items())
    return value


def _taken(model: nn.Module, args: Any, kwargs: Any, attention: str, *, is_fake: bool) -> AutogradRun:
    """Take the step with a module that may be spoilt."""
    scopes = Scopes(model)
    step = Step(scopes, is_fake=is_fake)
    parameters = dict(model.named_parameters())
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise BadSpec("no parameter of the module is trained", where=type(model).__name__, hint=_UNTRAINED)
    for path, parameter in parameters.items():
        step.declare(parameter, "parameter", path)
    for kind, tensors in (("buffer", model.buffers()), ("input", tensors_in((args, kwargs)))):
        for tensor in tensors:
            step.declare(tensor, kind)
    kernels = sdpa_kernel(ATTENTION[attention]) if attention else nullcontext()
    try:
        with step, kernels:
            with step.saving():
                result = model(*args, **kwargs)
                check_result(result)
                loss = _loss(result)
            with step.backward():
                loss.backward()
    except Exception as error:
        raise Failed(_meant(error, attention), *scopes.failing(error.__traceback__)) from None
    gradients = {path: one.grad for path, one in parameters.items() if one.grad is not None}
    without = [path for path, one in parameters.items() if one.requires_grad and one.grad is None]
    return AutogradRun(
        step.saved(),
        step.peak_bytes,
        step.peak_phase,
        step.peak_scope,
        step.at_peak(gradients.values()),
        "+".join(sorted(step.attention)),
        tuple(_said(step, without, attention)),
    )


def _loss(result: Any) -> torch.Tensor:
    """The sum of all numbers in a result that have a gradient; a complex one is the sum of its parts."""
    loss: torch.Tensor | None = None
    for tensor in {id(one): one for one in tensors_in(result) if one.requires_grad}.values():
        one = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).sum()
        loss = one if loss is None else loss + one
    if loss is None:
        hint = (
            "give the module that computes what is trained: results of whole numbers and detached ones have no gradient"
        )
        raise BadModel("no tensor of the result depends on a trained parameter in a way that has a gradient", hint=hint)
    return loss


def _meant(error: Exception, attention: str) -> Exception:
    """An error of PyTorch's as one of ours, where the user's choice of a kernel is its cause."""
    if attention and "No available kernel" in said_by(error):
        what = f"the {attention} kernel cannot do an attention of this module"
        return BadSpec(
            what, hint="a processor's flash kernel takes no dropout; leave the choice to PyTorch, or take math"
        )
    return error


def _said(step: Step, without: Sequence[str], attention: str) -> Iterator[str]:
    if without:
        shown = ", ".join(without[:_MOST_SHOWN]) + (" …" if len(without) > _MOST_SHOWN else "")
        yield f"{len(without)} trained parameters got no gradient, as the result does not depend on them: {shown}"
    if step.dropped_bytes:
        yield f"{step.dropped_bytes:,} B of what was saved were free again before the backward pass: no result needs them"
    if attention and not step.attention:
        yield f"the module calls no scaled dot product attention: there is nothing to take the {attention} kernel for"
    yield _WORKSPACE
