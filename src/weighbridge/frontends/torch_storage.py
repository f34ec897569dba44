"""When the storages of a run are made and when they go: what PyTorch itself holds, moment by moment.

The frames of the module that runs are real, so a storage lives as long as it does in any run, provided that nothing of
ours holds it: only weak references do.  A *moment* is one call of an operator below all composite ones, as the tracker of
``torch.distributed._tools`` counts them.  A composite operator runs so that what it makes inside is seen; on tensors
without values that happens once for equal arguments, and its storages are noted again from memory after that.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from weighbridge.frontends.torch_processor import AUXILIARY, KERNELS
from weighbridge.graph import Allocation
from weighbridge.named_tuple import NamedTuple

__all__ = ["LIFT", "Storages"]

_COMPOSITE: Final = torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001
LIFT: Final = torch.ops.aten.lift_fresh.default
"""What PyTorch calls on a tensor that Python has just made of numbers, before anybody sees it."""
_PLAIN: Final = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
_KNOWN: Final = (int, float, bool, str, torch.dtype, torch.layout, torch.device, torch.memory_format, type(None))


class _Span:
    """The moments in which one storage lives: ``last`` is -1 until it goes."""

    __slots__ = ("bytes", "first", "last", "node")

    def __init__(self, size: int, first: int, last: int, node: str = "") -> None:
        self.bytes, self.first, self.last, self.node = size, first, last, node


class _Life(weakref.ref[torch.UntypedStorage]):
    """A storage that is there, and its size when it was last seen, which is not in ``span`` where it does not count."""

    __slots__ = ("key", "size", "span")
    key: int
    size: int
    span: _Span


class _Made(NamedTuple):
    """A tensor that a call gives, with a storage of its own, by what makes another like it."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    bytes: int
    first: int


class _Template(NamedTuple):
    """What a call made: results, storages that are gone when it returns as (bytes, first, last), how many moments it took."""

    results: tuple[_Made, ...]
    is_one: bool
    inner: tuple[tuple[int, int, int], ...]
    moments: int


class Storages:
    """The storages of one run.  ``unknown`` says why the record cannot be relied on, where it cannot."""

    def __init__(self, *, has_values: bool) -> None:
        self.unknown: list[str] = []
        self._has_values = has_values
        self._moment = 0
        self._alive: dict[int, _Life] = {}
        self._spans: list[_Span] = []
        self._named = 0
        self._depth = 0
        self._kernels = 0
        self._templates: dict[tuple[Any, ...], _Template | None] = {}
        self._repeats: dict[Any, bool] = {}

    def exists(self, tensor: torch.Tensor, *, counts: bool = False) -> None:
        """A tensor from before the run: stored with the model, or (``counts``) given to it."""
        self._see(tensor, None if counts else 0)

    def is_same(self, made: torch.Tensor, tensor: torch.Tensor) -> None:
        """``made`` stands for ``tensor`` on another device, and takes no room beside it."""
        if tensor.numel():
            self._see(made, 0)

    @property
    def is_inside(self) -> bool:
        """Whether a composite operator is running, whose parts are no calls of the model's own."""
        return self._depth > 0

    def run(
        self, mode: TorchDispatchMode, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], is_composite: bool
    ) -> Any:
        """What an operator gives; ``mode`` is told of the calls that a composite one consists of."""
        key = self._key(func, args, kwargs)
        if key is not None:
            template = self._templates.get(key)
            if template is not None:
                return self._again(template)
        first, moment = len(self._spans), self._moment
        self._depth += 1
        try:
            result = self._result(mode, func, args, kwargs, is_composite)
        finally:
            self._depth -= 1
        sizes = AUXILIARY.get(func) if not self._has_values else None
        self.note(result, None if sizes is None else sizes(args, kwargs, result))
        if func is LIFT:
            storage = result.untyped_storage()
            self._anew(self._alive[storage._cdata], storage)  # noqa: SLF001
        marks = key is None and torch.is_inference_mode_enabled()
        if marks and args and isinstance(args[0], torch.Tensor) and args[0].requires_grad:
            _require_gradients(result, args[0])
        if key is not None and key not in self._templates:
            self._templates[key] = self._template(first, moment, result)
        return result

    def _result(
        self, mode: TorchDispatchMode, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], is_composite: bool
    ) -> Any:
        kernel = None if self._has_values else KERNELS.get(func)
        if kernel is not None:
            result = kernel(self, mode, args, kwargs)
            if result is not NotImplemented:
                return result
        if not is_composite:
            return func(*args, **kwargs)
        with mode:
            return func._op_dk(_COMPOSITE, *args, **kwargs)  # noqa: SLF001 - what C++ calls, which decompose() may not be

    def note(self, result: Any, sizes: tuple[int | None, ...] | None = None) -> None:
        """Look at what a call gave; ``sizes`` are the bytes of its results where a processor makes others than ``result`` has."""
        self._moment += 1
        if isinstance(result, torch.Tensor):
            self._see(result, None if sizes is None else sizes[0])
        elif isinstance(result, list | tuple):
            for place, one in enumerate(result):
                if isinstance(one, torch.Tensor):
                    self._see(one, None if sizes is None else sizes[place])
                elif isinstance(one, list | tuple):
                    for tensor in one:
                        if isinstance(tensor, torch.Tensor):
                            self._see(tensor, None)

    def name(self, node: str) -> None:
        """All since the last call that was named belongs to ``node``, which stands in the record even if it made nothing."""
        if self._named == len(self._spans):
            self._spans.append(_Span(0, self._moment, self._moment))
        for span in self._spans[self._named :]:
            span.node = node
        self._named = len(self._spans)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Around calls that are none of the model's, whose storages count."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def one_kernel(self) -> Iterator[None]:
        """Around calls that a processor does in one kernel: of what they make there is only what is left at the end."""
        self._kernels += 1
        start = len(self._spans)
        try:
            yield
        finally:
            self._kernels -= 1
        if self._kernels == 0:
            self._moment += 1
            for span in self._spans[start:]:
                if span.last < 0:
                    span.first = self._moment
                else:
                    span.bytes = 0

    def record(self) -> tuple[tuple[Allocation, ...], tuple[str, ...]]:
        """All storages that took room, in the order in which they were made, and notes; what is left lives to the last moment.

        The notes say why there is no record, where there is none.
        """
        if self.unknown:
            reasons = ", ".join(dict.fromkeys(self.unknown))
            return (), (f"what PyTorch holds in eager mode is not known, as this is not: {reasons}",)
        found: list[Allocation] = []
        nodes: set[str] = {""}
        for span in self._spans:
            if span.bytes or span.node not in nodes:
                nodes.add(span.node)
                last = self._moment if span.last < 0 else span.last
                found.append(Allocation(span.bytes, span.first, last, span.node))
        return tuple(found), ()

    def _see(self, tensor: torch.Tensor, size: int | None) -> None:
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return  # sparse and wrapped tensors have none of their own
        found = self._alive.get(storage._cdata)  # noqa: SLF001 - the one identity a storage has
        if found is None:
            self._born(storage, storage.nbytes() if size is None else size, self._moment)
        elif found.size != storage.nbytes():
            self._anew(found, storage)

    def _anew(self, life: _Life, storage: torch.UntypedStorage) -> None:
        """A storage got another size, or counts from now on."""
        life.span.last = self._moment - 1
        life.size = storage.nbytes()
        life.span = _Span(life.size, self._moment, -1)
        self._spans.append(life.span)

    def _born(self, storage: torch.UntypedStorage, size: int, moment: int) -> None:
        life = _Life(storage, self._died)
        life.key, life.size = storage._cdata, storage.nbytes()  # noqa: SLF001
        life.span = _Span(size, moment, -1)
        self._alive[life.key] = life
        self._spans.append(life.span)

    def _died(self, life: Any) -> None:
        life.span.last = self._moment
        del self._alive[life.key]

    # Calls that are like an earlier one

    def _key(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """What decides about the results of an operator without values; None where it must run."""
        repeats = self._repeats.get(func)
        if repeats is None:
            repeats = self._repeats[func] = not self._has_values and _makes_its_results(func)
        if not repeats:
            return None
        parts: list[Any] = [func, torch.get_default_dtype()]
        if not _add_parts(args, parts):
            return None
        for name, value in kwargs.items():
            parts.append(name)
            if not _add_parts((value,), parts):
                return None
        return tuple(parts)

    def _template(self, first: int, moment: int, result: Any) -> _Template | None:
        """None where the results are not all new tensors without values, each alone in its storage."""
        tensors = (result,) if isinstance(result, torch.Tensor) else result
        if not isinstance(tensors, tuple):
            return None
        spans = self._spans[first:]
        left = {id(span) for span in spans if span.last < 0}
        made = []
        for tensor in tensors:
            if type(tensor) not in _PLAIN or not _is_whole(tensor):
                return None
            life = self._alive.get(tensor.untyped_storage()._cdata)  # noqa: SLF001
            if life is None or id(life.span) not in left:
                return None
            left.remove(id(life.span))
            span = life.span
            made.append(_Made(tuple(tensor.shape), tensor.stride(), tensor.dtype, span.bytes, span.first - moment))
        if left:
            return None
        inner = tuple(
            (span.bytes, span.first - moment, span.last - moment) for span in spans if span.bytes and span.last >= 0
        )
        return _Template(tuple(made), isinstance(result, torch.Tensor), inner, self._moment - moment)

    def _again(self, template: _Template) -> Any:
        moment = self._moment
        for size, first, last in template.inner:
            self._spans.append(_Span(size, moment + first, moment + last))
        results = []
        for made in template.results:
            tensor = torch.empty_strided(made.size, made.stride, dtype=made.dtype, device="meta")
            self._born(tensor.untyped_storage(), made.bytes, moment + made.first)
            results.append(tensor)
        self._moment = moment + template.moments
        return results[0] if template.is_one else tuple(results)


def _is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor without values takes up its storage, so that another one of its sizes is like it."""
    if not tensor.is_meta or tensor.dtype.is_complex or tensor.is_quantized or tensor.storage_offset():
        return False
    like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return bool(like.untyped_storage().nbytes() == tensor.untyped_storage().nbytes())


def _require_gradients(result: Any, parameter: torch.Tensor) -> None:
    """Let views of a parameter require gradients as it does: so they do under ``no_grad``, and products choose their way by it."""
    place = parameter.untyped_storage()._cdata  # noqa: SLF001
    for one in result if isinstance(result, list | tuple) else (result,):
        is_float = isinstance(one, torch.Tensor) and one.dtype.is_floating_point
        if is_float and one.untyped_storage()._cdata == place:  # noqa: SLF001
            one.requires_grad_(True)


def _makes_its_results(func: Any) -> bool:
    """Whether an operator takes tensors, writes none of them, and gives no views of them, by its schema."""
    schema = func._schema  # noqa: SLF001 - PyTorch gives no other way to a schema
    every = (*schema.arguments, *schema.returns)
    takes_tensors = any("Tensor" in str(argument.type) for argument in schema.arguments)
    return takes_tensors and all(one.alias_info is None for one in every)


def _add_parts(values: Any, parts: list[Any]) -> bool:
    """Add what decides about a call's results to ``parts``; False where that cannot be told."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if type(value) not in _PLAIN or value.layout is not torch.strided or not (value.is_meta or not value.dim()):
                return False
            parts += (value.shape, value.stride(), value.dtype, value.is_meta, value.requires_grad)
            if not (value.is_meta or value.dtype.is_floating_point or value.dtype.is_complex):
                parts.append(value.item())  # sizes follow from whole numbers
        elif isinstance(value, list | tuple):
            parts.append(len(value))
            if not _add_parts(value, parts):
                return False
        elif isinstance(value, _KNOWN):
            parts += (type(value), value)  # 1 and 1.0 are equal, and give other element types
        else:
            return False
    return True
