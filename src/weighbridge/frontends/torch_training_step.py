"""What one step of training holds: every storage from the call that makes it until nothing refers to it, and what autograd saves.

The frames of the module and the graph of autograd are PyTorch's own, so a storage lives as long as it does in any run: only
weak references to it are kept here.  A *moment* is one call of an operator below autograd, and the bytes of a moment are
those that are alive when the call returns: so ``MemTracker`` of ``torch.distributed._tools`` counts, too.
"""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import torch
from torch.utils import checkpoint
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

from weighbridge.errors import BadModel
from weighbridge.frontends.torch_processor import AUXILIARY
from weighbridge.frontends.torch_scope import Scopes
from weighbridge.frontends.torch_storage import LIFT
from weighbridge.memory.training.run import HeldAtPeak, SavedStorage

__all__ = ["Step"]

_aten = torch.ops.aten
_KERNELS: Final = {
    _aten._scaled_dot_product_flash_attention_for_cpu.default: "flash",  # noqa: SLF001 - as the operator is called
    _aten._safe_softmax.default: "math",  # noqa: SLF001 - the softmax of the attention that is made of other operators
}
_KINDS: Final = {"outside": "constant", **{kind: kind for kind in ("parameter", "buffer", "input", "constant")}}
"""What is in no total of what is saved or has a kind of its own there; all else is an activation."""
_REWRITTEN: Final = "a tensor that the backward pass needs is overwritten after it was saved"


class _Span:
    """The moments in which one storage lives, its bytes and its kind: ``last`` is -1 until it goes."""

    __slots__ = ("bytes", "first", "kind", "last", "saved")

    def __init__(self, size: int, first: int, kind: str) -> None:
        self.bytes, self.first, self.last, self.kind = size, first, -1, kind
        self.saved: _Saved | None = None


class _Life(weakref.ref[torch.UntypedStorage]):
    """A storage that is there, and its size when it was last seen, which is not in ``span`` where it does not count."""

    __slots__ = ("key", "size", "span")
    key: int
    size: int
    span: _Span


class _Saved:
    """A storage that was saved: where first, and by which operation of autograd, which tells its name when it reads it."""

    __slots__ = ("by", "bytes", "scope", "span")

    def __init__(self, size: int, scope: str, by: str, span: _Span) -> None:
        self.bytes, self.scope, self.by, self.span = size, scope, by, span


class _Packed:
    """What the graph of autograd holds in the place of a tensor, and how often that had been written by then.

    ``saved`` is what this was the first to save, if anything.
    """

    __slots__ = ("saved", "tensor", "version")

    def __init__(self, tensor: torch.Tensor, saved: _Saved | None) -> None:
        self.tensor, self.saved, self.version = tensor, saved, tensor._version  # noqa: SLF001


class Step(TorchDispatchMode):
    """The record of one step; ``is_fake`` says that tensors have no values.

    Under it the module runs, with ``saving()`` around the forward pass and ``backward()`` around the backward pass.
    ``dropped_bytes`` is what was saved and gone again by then: the graph that held it was, as nobody used its result.
    """

    supports_higher_order_operators = True

    def __init__(self, scopes: Scopes, *, is_fake: bool) -> None:
        super().__init__()
        self.attention: Counter[str] = Counter()
        self.dropped_bytes = 0
        self.peak_bytes = 0
        self.peak_phase = ""
        self.peak_scope = ""
        self._scopes = scopes
        self._is_fake = is_fake
        self._moment = 0
        self._peak_moment = 0
        self._held = 0
        self._alive: dict[int, _Life] = {}
        self._spans: list[_Span] = []
        self._saved: list[_Saved] = []
        self._phase = "forward"
        self._is_packing = False
        self._scope_of: dict[int, str] = {}
        self._scope_of_leaf: dict[int, str] = {}

    def declare(self, tensor: torch.Tensor, kind: str, path: str = "") -> None:
        """A tensor from before the step, in the first kind that it is declared in; ``path`` is a parameter's."""
        if kind == "parameter":
            self._scope_of_leaf[id(tensor)] = path.rpartition(".")[0]
        self._see(tensor, kind)
        self._measure()

    def saving(self) -> AbstractContextManager[None]:
        """Around the forward pass: what is saved is noted."""
        hooks: AbstractContextManager[None] = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        return hooks

    @contextmanager
    def backward(self) -> Iterator[None]:
        """Around the backward pass."""
        self.dropped_bytes = sum(one.bytes for one in self._saved if one.span.last >= 0)
        self._phase = "backward"
        yield

    # The record

    def saved(self) -> tuple[SavedStorage, ...]:
        """What was saved, in that order."""
        return tuple(
            SavedStorage(one.bytes, one.scope, one.by, _KINDS.get(one.span.kind, "activation"))
            for one in self._saved
            if one.bytes
        )

    def at_peak(self, gradients: Iterable[torch.Tensor]) -> HeldAtPeak:
        """The bytes at the peak by kind; ``gradients`` are those of the parameters, after the step."""
        for gradient in gradients:
            for storage in _storages(gradient):
                life = self._alive.get(storage._cdata)  # noqa: SLF001
                if life is not None and life.span.kind in ("activation", "temporary"):
                    life.span.kind = "gradient"
        held: Counter[str] = Counter()
        for span in self._spans:
            if span.first <= self._peak_moment and (span.last < 0 or span.last >= self._peak_moment):
                held[span.kind] += span.bytes
        return HeldAtPeak(
            held["parameter"],
            held["buffer"] + held["constant"],
            held["input"],
            held["gradient"],
            held["activation"],
            held["temporary"],
        )

    # Calls

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._is_packing:
            return func(*args, **kwargs)
        if self._phase == "forward":
            self._scope_of[torch._C._autograd._get_sequence_nr() - 1] = self._scopes.current()  # noqa: SLF001
        if func in _KERNELS:
            self.attention[_KERNELS[func]] += 1
        result = func(*args, **kwargs)
        if self._is_fake and isinstance(result, tuple):
            result = _apart(result)
        sizes = AUXILIARY.get(func) if self._is_fake else None
        self._note(func, result, None if sizes is None else sizes(args, kwargs, result))
        return result

    def _note(self, func: Any, result: Any, sizes: tuple[int | None, ...] | None) -> None:
        self._moment += 1
        kind = self._kind(func)
        for place, one in enumerate(result if isinstance(result, list | tuple) else (result,)):
            for tensor in one if isinstance(one, list | tuple) else (one,):
                if isinstance(tensor, torch.Tensor):
                    self._see(tensor, kind, None if sizes is None else sizes[place])
        self._measure()

    def _kind(self, func: Any) -> str:
        """What a storage is that is first seen as the result of this call."""
        schema = getattr(func, "_schema", None)
        if schema is not None and func is not LIFT and any(one.alias_info for one in schema.returns):
            return "constant"  # a view of something that no call made
        return "activation" if self._phase == "forward" or self._scopes.current() else "temporary"

    def _measure(self) -> None:
        if self._held > self.peak_bytes:
            self.peak_bytes, self._peak_moment = self._held, self._moment
            self.peak_phase, self.peak_scope = self._phase, self._scope()

    def _scope(self) -> str:
        """The path of the module that runs, or whose call the backward pass has come to."""
        scope = self._scopes.current()
        node = torch._C._current_autograd_node()  # noqa: SLF001 - PyTorch has no public one
        if scope or self._phase == "forward" or node is None:
            return scope
        variable = getattr(node, "variable", None)
        if variable is not None:
            return self._scope_of_leaf.get(id(variable), "")
        return self._scope_of.get(node._sequence_nr(), "")  # noqa: SLF001

    # Storages

    def _see(self, tensor: torch.Tensor, kind: str, size: int | None = None) -> None:
        for storage in _storages(tensor):
            found = self._alive.get(storage._cdata)  # noqa: SLF001 - the one identity a storage has
            if found is None:
                self._born(storage, kind, storage.nbytes() if size is None else size)
            elif found.size != storage.nbytes() or found.span.kind == "outside":
                self._ended(found.span, self._moment - 1)
                found.size = storage.nbytes()
                kind = "constant" if found.span.kind == "outside" else found.span.kind
                self._started(found, kind, found.size, found.span.saved)

    def _born(self, storage: torch.UntypedStorage, kind: str, size: int) -> _Life:
        life = _Life(storage, self._died)
        life.key, life.size = storage._cdata, storage.nbytes()  # noqa: SLF001
        self._alive[life.key] = life
        self._started(life, kind, size)
        return life

    def _started(self, life: _Life, kind: str, size: int, saved: _Saved | None = None) -> None:
        life.span = _Span(size, self._moment, kind)
        life.span.saved = saved
        if saved is not None:
            saved.span = life.span
        self._spans.append(life.span)
        self._held += size

    def _ended(self, span: _Span, moment: int) -> None:
        span.last = moment
        self._held -= span.bytes

    def _died(self, life: Any) -> None:
        self._ended(life.span, self._moment)
        del self._alive[life.key]

    # What autograd saves

    def _pack(self, tensor: torch.Tensor) -> _Packed:
        saved = None
        for storage in _storages(tensor):
            life = self._alive.get(storage._cdata)  # noqa: SLF001
            if life is None:
                life = self._born(storage, "outside", 0)
            if life.span.saved is None:
                size = storage.nbytes() if life.span.kind == "outside" else life.span.bytes
                by = "checkpoint" if _is_checkpoint() else ""
                life.span.saved = _Saved(size, self._scopes.current(), by, life.span)
                self._saved.append(life.span.saved)
                saved = life.span.saved
        self._is_packing = True
        try:  # a result of the operation that saves it would hold that operation, and be held by it
            return _Packed(tensor if tensor.grad_fn is None else tensor.detach(), saved)
        finally:
            self._is_packing = False

    def _unpack(self, packed: _Packed) -> torch.Tensor:
        node = torch._C._current_autograd_node()  # noqa: SLF001
        name = "" if node is None else node.name().partition("Backward")[0]
        if packed.tensor._version != packed.version:  # noqa: SLF001 - PyTorch itself looks at it where there are no hooks
            raise BadModel(
                _REWRITTEN, where=name, hint="PyTorch refuses this backward pass as well: do not write in place"
            )
        if packed.saved is not None and not packed.saved.by:
            packed.saved.by = name
        return packed.tensor


def _apart(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a call, each a tensor of its own: kernels make several where the rule of one without values gives one twice."""
    if len({id(one) for one in results if one is not None}) == sum(one is not None for one in results):
        return results
    seen: set[int] = set()
    apart = []
    for one in results:
        again = isinstance(one, torch.Tensor) and id(one) in seen
        apart.append(torch.empty_like(one) if again else one)
        seen.add(id(one))
    return tuple(apart)


def _storages(tensor: torch.Tensor) -> list[torch.UntypedStorage]:
    """The storages of a tensor: several of one that wraps others or has elements in some places alone."""
    if is_traceable_wrapper_subclass(tensor):
        parts = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        return [storage for part in parts if isinstance(part, torch.Tensor) for storage in _storages(part)]
    if tensor.layout is torch.sparse_coo:
        return [*_storages(tensor._indices()), *_storages(tensor._values())]  # noqa: SLF001 - sums may be due
    try:
        return [tensor.untyped_storage()]
    except (NotImplementedError, RuntimeError):
        return []


def _is_checkpoint() -> bool:
    """Whether the call that saves is one by which ``torch.utils.checkpoint`` keeps what goes into a module."""
    frame = sys._getframe(2)  # noqa: SLF001
    return bool(frame.f_code.co_filename == checkpoint.__file__)
