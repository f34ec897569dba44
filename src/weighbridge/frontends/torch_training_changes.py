"""What a user changes about a network before training it, done to a copy: which parameters are trained, adapters, checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple

__all__ = ["Changed", "Changes"]

_ADAPTED: Final = (nn.Linear, nn.Conv2d)


class Changes(NamedTuple):
    """What ``training_run`` is asked for beside the step itself."""

    trained: frozenset[str] | None
    lora: Mapping[str, int]
    checkpoint: tuple[str, ...]

    def made_to(self, model: nn.Module, without: frozenset[str] = frozenset()) -> Changed:
        """Change ``model``, a copy of the user's; the modules at the paths ``without`` get no adapter.

        Raises ``BadSpec`` for a name that no parameter has, a pattern that no module matches, and a rank below 1.
        """
        paths = {path: module for path, module in model.named_modules() if path}
        adapters = {path: rank for path, rank in _adapted(paths, self.lora).items() if path not in without}
        if without and not adapters:
            what = f"nobody calls {_some(without)}, so that an adapter there would do nothing"
            raise BadSpec(
                what, where="lora", hint="name layers that are called: the weights of these are read by others"
            )
        checkpoints = _outermost(
            path for pattern in self.checkpoint for path in _matching(paths, pattern, "checkpoint")
        )
        _train(model, frozenset() if self.trained is None and self.lora else self.trained)
        changed = Changed(frozenset(adapters), checkpoints, Counter())
        for path, rank in adapters.items():
            _adapt(paths[path], rank, partial(changed.calls.update, (path,)))
        for path in checkpoints:
            _checkpoint(paths[path], partial(changed.calls.update, (path,)))
        return changed


class Changed(NamedTuple):
    """What was changed: the paths of modules with an adapter and of those under a checkpoint, and how often each was called."""

    adapters: frozenset[str]
    checkpoints: frozenset[str]
    calls: Counter[str]

    def idle(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of ``paths`` whose forward nobody called: containers, and layers whose weights others read."""
        return frozenset(path for path in paths if not self.calls[path])

    def notes(self, without: frozenset[str]) -> Iterator[str]:
        """What to say of the run; ``without`` are modules that should have had an adapter, and were called by nobody.

        Raises ``BadSpec`` where there was no checkpoint.
        """
        if without and not self.adapters:
            what = f"no module calls {_some(without)}, so that an adapter there would do nothing"
            raise BadSpec(
                what, where="lora", hint="name layers that are called, and whose weights nobody reads from outside"
            )
        if without:
            yield f"no adapter in {_some(without)}: nobody calls these modules, others read their weights"
        idle = self.idle(self.checkpoints)
        if idle and idle == self.checkpoints:
            what = f"nobody calls {_some(idle)}, so that nothing is saved by a checkpoint there"
            raise BadSpec(what, where="checkpoint", hint=f"name the modules inside: {min(idle)}.*")
        if idle:
            yield f"no checkpoint at {_some(idle)}: nobody calls these modules"


def _some(paths: frozenset[str]) -> str:
    """The first of ``paths``, and how many more there are."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{min(paths)}{more}"


def _train(model: nn.Module, trained: frozenset[str] | None) -> None:
    """Let the parameters of these names require gradients, and no others; None leaves them as they are."""
    if trained is None:
        return
    named = dict(model.named_parameters(remove_duplicate=False))
    for name in sorted(trained):
        if name not in named:
            hint = _near(name, named) or "the names are those of named_parameters()"
            raise BadSpec(f"the module has no parameter {name!r}", where="trained", hint=hint)
        if not (named[name].is_floating_point() or named[name].is_complex()):
            raise BadSpec(f"{name!r} has whole numbers, which no gradient moves", where="trained")
    ids = {id(named[name]) for name in trained}
    for parameter in named.values():
        parameter.requires_grad_(id(parameter) in ids)


def _adapted(paths: Mapping[str, nn.Module], lora: Mapping[str, int]) -> dict[str, int]:
    """The rank for each module that gets an adapter: that of the last pattern that matches it."""
    found = {}
    for pattern, rank in lora.items():
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise BadSpec(f"the rank of an adapter is a whole number from 1, not {rank!r}", where=f"lora {pattern!r}")
        matching = _matching(paths, pattern, "lora")
        able = [path for path in matching if isinstance(paths[path], _ADAPTED) and _is_simple(paths[path])]
        if not able:
            kinds = ", ".join(sorted({type(paths[path]).__name__ for path in matching}))
            what = f"matches no linear layer and no convolution without groups, but {kinds}"
            raise BadSpec(what, where=f"lora {pattern!r}", hint=f"name layers: {pattern.removesuffix('.*')}.*")
        found.update(dict.fromkeys(able, rank))
    return found


def _is_simple(module: Any) -> bool:
    return isinstance(module, nn.Linear) or (module.groups == 1 and module.padding_mode == "zeros")


def _matching(paths: Mapping[str, nn.Module], pattern: str, option: str) -> list[str]:
    found = [path for path in paths if path == pattern or fnmatchcase(path, pattern)]
    if not found:
        hint = _near(pattern, paths) or "the paths are those of named_modules(), and * stands for any part of one"
        raise BadSpec(f"no module matches {pattern!r}", where=option, hint=hint)
    return found


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, 3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _outermost(paths: Iterable[str]) -> frozenset[str]:
    """Those of ``paths`` that lie below no other of them."""
    found = set(paths)
    return frozenset(path for path in found if not any(above in found for above in _above(path)))


def _above(path: str) -> Iterator[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _adapt(module: Any, rank: int, called: Any) -> None:
    """Add ``B(A(x))`` to what the module gives, with A of ``rank`` outputs; scaling and dropout of adapters are left out."""
    place = {"bias": False, "device": module.weight.device, "dtype": module.weight.dtype}
    if isinstance(module, nn.Linear):
        down: nn.Module = nn.Linear(module.in_features, rank, **place)
        up: nn.Module = nn.Linear(rank, module.out_features, **place)
    else:
        window = {name: getattr(module, name) for name in ("stride", "padding", "dilation")}
        down = nn.Conv2d(module.in_channels, rank, module.kernel_size, **window, **place)
        up = nn.Conv2d(rank, module.out_channels, 1, **place)
    forward = module.forward
    module.add_module("lora_a", down.train(module.training))
    module.add_module("lora_b", up.train(module.training))

    def adapted(values: torch.Tensor) -> torch.Tensor:
        called()
        return forward(values) + module.lora_b(module.lora_a(values))

    module.__dict__["forward"] = adapted


def _checkpoint(module: nn.Module, called: Any) -> None:
    forward = module.forward

    def kept(*args: Any, **kwargs: Any) -> Any:
        called()
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    module.__dict__["forward"] = kept
