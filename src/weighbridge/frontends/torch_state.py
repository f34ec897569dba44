"""What a model may turn while it runs, and nobody wants turned by weighing it: generators of random numbers, switches."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final

import torch

__all__ = ["untouched"]

_BACKENDS: Final = torch.backends
_SWITCHES: Final[tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    (_BACKENDS.mha.get_fastpath_enabled, _BACKENDS.mha.set_fastpath_enabled),
    (_BACKENDS.cuda.flash_sdp_enabled, _BACKENDS.cuda.enable_flash_sdp),
    (_BACKENDS.cuda.mem_efficient_sdp_enabled, _BACKENDS.cuda.enable_mem_efficient_sdp),
    (_BACKENDS.cuda.math_sdp_enabled, _BACKENDS.cuda.enable_math_sdp),
)
"""How each is asked for and set.  Whether gradients are on is restored by ``torch.inference_mode`` itself."""
_CUDNN: Final = ("enabled", "benchmark", "deterministic", "allow_tf32")


@contextmanager
def untouched() -> Iterator[None]:
    """Random numbers of PyTorch, Python and NumPy, and PyTorch's switches, afterwards as they were.

    NumPy is looked for among what the user has imported: it is not needed here.
    """
    python, states = random.getstate(), torch.get_rng_state()
    numpy = getattr(sys.modules.get("numpy"), "random", None)
    arrays = numpy.get_state() if numpy is not None else None
    switches = [_Switch(read, turn) for read, turn in _SWITCHES]
    switches += [_Switch(*_attribute(_BACKENDS.cudnn, name)) for name in _CUDNN]
    try:
        with _uncompiled():
            yield
    finally:
        for switch in switches:
            switch.back()
        torch.set_rng_state(states)
        random.setstate(python)
        if numpy is not None:
            numpy.set_state(arrays)


def _uncompiled() -> AbstractContextManager[None]:
    """Functions that the model compiles run as they are written; where nothing can have compiled any, there is nothing to do."""
    if "torch._dynamo" not in sys.modules and "torch.nn.attention.flex_attention" not in sys.modules:
        return nullcontext()
    stance: AbstractContextManager[None] = torch.compiler.set_stance("force_eager")
    return stance


class _Switch:
    """A switch of PyTorch and its position now; one that cannot be read in the user's settings is left alone."""

    def __init__(self, read: Callable[[], Any], turn: Callable[[Any], Any]) -> None:
        self._read = read
        self._turn = turn
        self._before: Any = None
        with suppress(RuntimeError):
            self._before = read()

    def back(self) -> None:
        if self._before is None:
            return
        with suppress(RuntimeError):
            if self._read() != self._before:
                self._turn(self._before)


def _attribute(owner: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value)
