"""Module paths as the user wrote them, read off the frames of the calls that are running.

PyTorch calls every module through ``Module._call_impl``; whose frames are on the stack when an operator runs tells which
module it runs for.  No hook is registered.  Only those frames' own arguments are looked at: reading the variables of a
``forward`` would keep its tensors alive.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Final

from torch import nn

__all__ = ["Scopes"]

_CALL: Final = nn.Module._call_impl.__code__  # noqa: SLF001 - the one place where a module's call can be seen


class Scopes:
    """The paths of the modules below a root, by identity."""

    def __init__(self, root: nn.Module) -> None:
        self._root = root
        self._paths: dict[int, str] = {}
        self._leaves: set[str] = set()
        self._blocks: set[str] = set()
        times: Counter[int] = Counter()
        for path, module in root.named_modules(remove_duplicate=False):
            self._paths.setdefault(id(module), path)
            times[id(module)] += 1
            if not module._modules:  # noqa: SLF001
                self._leaves.add(path)
            elif path and not isinstance(module, nn.ModuleList | nn.ModuleDict) and not _is_sequence(module):
                self._blocks.add(path)
        self._shared = {key for key, count in times.items() if count > 1}

    def current(self) -> str:
        """The path of the innermost module that runs."""
        return self._path(_running(sys._getframe(1)))  # noqa: SLF001

    def parameter(self, parameter: nn.Parameter) -> str:
        """The path of a parameter, also of one that was made while the model runs; "" for one that belongs to no module."""
        return next((path for path, one in self._root.named_parameters() if one is parameter), "")

    def blocks(self) -> frozenset[str]:
        """The paths of modules that have modules in them and a ``forward`` of their own; the root is not among them."""
        return frozenset(self._blocks)

    def is_leaf(self, path: str) -> bool:
        """Whether the module at a path has no modules in it."""
        return path in self._leaves

    def failing(self, traceback: TracebackType | None) -> tuple[str, tuple[Any, ...]]:
        """The path of the innermost module in which an error arose, and the arguments that it was called with."""
        found: list[FrameType] = []
        while traceback is not None:
            if traceback.tb_frame.f_code is _CALL:
                found.append(traceback.tb_frame)
            traceback = traceback.tb_next
        if not found:
            return "", ()
        modules = [frame.f_locals["self"] for frame in reversed(found)]
        return self._path(iter(modules)), found[-1].f_locals.get("args", ())

    def _path(self, modules: Iterator[nn.Module]) -> str:
        """The path of the first of ``modules``, of which each was called by the next."""
        for module in modules:
            path = self._paths.get(id(module))
            if path is None:
                continue  # made while the model runs: it belongs to the module that made it
            if id(module) not in self._shared:
                return path
            caller = next((one for one in modules if id(one) in self._paths), None)
            return path if caller is None else self._as_child(module, caller, modules, path)
        return ""

    def _as_child(self, module: nn.Module, caller: nn.Module, modules: Iterator[nn.Module], path: str) -> str:
        """The path of a module that stands in several places, below the one that called it."""
        inner = next((name for name, one in caller.named_modules(remove_duplicate=False) if one is module), None)
        if not inner:
            return path
        outer = self._paths[id(caller)]
        if id(caller) in self._shared:
            above = next((one for one in modules if id(one) in self._paths), None)
            if above is not None:
                outer = self._as_child(caller, above, modules, outer)
        joined = f"{outer}.{inner}" if outer else inner
        for known in (self._leaves, self._blocks):
            if path in known:
                known.add(joined)
        return joined


def _is_sequence(module: nn.Module) -> bool:
    """Whether a module does nothing but to call the modules in it one after the other."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _running(frame: FrameType | None) -> Iterator[nn.Module]:
    """The modules whose calls are on the stack, innermost first."""
    while frame is not None:
        if frame.f_code is _CALL:
            yield frame.f_locals["self"]
        frame = frame.f_back
