"""The tensors of a PyTorch state: a module's parameters, a ``state_dict``, or a file of one.

A file is opened by ``torch.load(weights_only=True)``, which makes tensors and plain containers and refuses everything else; nothing
is unpickled in any other way.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel, MissingExtra, said_by
from weighbridge.frontends.weights import NamedTensor, Stored, compress_extra
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["is_state", "tensors_of_file", "tensors_of_module", "tensors_of_state"]

_INSTALL: Final = 'pip install "weighbridge[compress,torch]"'
_KEYS: Final = ("state_dict", "model_state_dict", "model", "module", "net", "weights")
"""Where checkpoints of trainings keep the weights."""
_MOST_DEPTH: Final = 8
_PACKED_BITS: Final = {"quint4x2": 4, "quint2x4": 2}
"""Of the types of which a byte holds several values."""


class _Named(NamedTuple):
    name: str
    tensor: Any


def is_state(source: object) -> bool:
    """Whether this is a mapping from names to PyTorch tensors."""
    import sys

    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is None or not isinstance(source, Mapping):
        return False
    return bool(source) and any(isinstance(one, tensor) for one in source.values())


def tensors_of_module(module: Any) -> list[NamedTensor]:
    """The parameters of a ``torch.nn.Module``, tied ones once, and what it has in its state that is neither parameter nor buffer.

    That is where quantised modules have their weights.  Raises ``BadModel`` for a parameter that has no shape yet.
    """
    named = [_Named(name, one) for name, one in module.named_parameters()]
    known = {name for name, _ in (*module.named_parameters(remove_duplicate=False), *_buffers(module))}
    return _tensors([*named, *(one for one in _flat(_state_of(module)) if one.name not in known)])


def _buffers(module: Any) -> Iterable[tuple[str, Any]]:
    found: Iterable[tuple[str, Any]] = module.named_buffers(remove_duplicate=False)
    return found


def _state_of(module: Any) -> Mapping[str, Any]:
    """The state of a module, nothing where its own code for that fails."""
    try:
        return dict(module.state_dict())
    except Exception:  # a module's own code runs
        return {}


def tensors_of_state(state: Mapping[str, Any]) -> list[NamedTensor]:
    """The tensors of a ``state_dict`` and of the lists in it, each storage once; what is no tensor is left out.

    Raises ``BadModel`` for a tensor without a shape.
    """
    return _tensors(_flat(state))


def _flat(state: Mapping[str, Any]) -> Iterator[_Named]:
    """The tensors of a state; those in a list, as quantised linear layers have theirs, by their places."""
    import torch

    for name, value in state.items():
        if isinstance(value, torch.Tensor):
            yield _Named(str(name), value)
        elif isinstance(value, list | tuple):
            tensors = enumerate(value)
            yield from (_Named(f"{name}.{place}", one) for place, one in tensors if isinstance(one, torch.Tensor))


def tensors_of_file(path: Path) -> list[NamedTensor]:
    """The tensors of a ``state_dict`` that ``torch.save`` wrote.

    Raises ``BadModel`` for a file that holds anything beside tensors and plain containers, or that is damaged, and
    ``MissingExtra`` where PyTorch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("reading a file of PyTorch needs PyTorch", hint=_INSTALL) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:
        said = " ".join(said_by(error).split())
        what = f"this is no file of weights alone: {said.partition('. ')[0][:160] or type(error).__name__}"
        hint = (
            'a pickle can run code and is never opened: save a state_dict, torch.save(model.state_dict(), "model.pt")'
        )
        raise BadModel(what, where=path.name, hint=hint) from None
    state = _state_in(found)
    if state is None:
        hint = 'save a state_dict: torch.save(model.state_dict(), "model.pt")'
        raise BadModel("there is no state_dict in it", where=path.name, hint=hint)
    return tensors_of_state(state)


def _state_in(found: Any) -> Mapping[str, Any] | None:
    """The mapping that has tensors in it: the whole, or what it has under a name that trainings use."""
    for _ in range(_MOST_DEPTH):
        if is_state(found):
            return dict(found)
        if not isinstance(found, Mapping):
            return None
        found = next((found[key] for key in _KEYS if key in found), None)
    return None


def _tensors(named: Iterable[_Named]) -> list[NamedTensor]:
    try:
        from weighbridge.frontends.weights_values import is_decodable
    except ImportError as error:
        raise compress_extra(error) from None
    found, seen = [], set()
    for name, tensor in named:
        shape = _shape(name, tensor)
        key = _storage(tensor)
        if key is not None and key in seen:
            continue
        seen.add(key)
        dtype = _dtype(tensor)
        if tensor.is_meta:
            stored = Stored(None, reason="it has no values: it is on the meta device")
        elif str(tensor.layout) != "torch.strided" or not is_decodable(dtype):
            stored = Stored(None, reason=f"values of {_kind(tensor)} are not read")
        else:
            stored = Stored(partial(_values, tensor), _zero(tensor))
        found.append(NamedTensor(name, shape, dtype, stored))
    return found


def _storage(tensor: Any) -> object:
    """What tells storages apart; None where that is not known."""
    if tensor.is_meta or str(tensor.layout) != "torch.strided":
        return None
    pointer = tensor.data_ptr()
    return (pointer, tuple(tensor.shape), tuple(tensor.stride())) if pointer else None


def _shape(name: str, tensor: Any) -> Shape:
    try:
        return tuple(int(size) for size in tensor.shape)
    except Exception:  # which error it is differs from type to type
        hint = "run the module once, if it is lazy; nested tensors have none"
        raise BadModel("this tensor has no shape", where=name, hint=hint) from None


def _dtype(tensor: Any) -> DType:
    """The type of the values, where one here takes as many bits; else one of which the width alone is known."""
    name = str(tensor.dtype).removeprefix("torch.")
    known = DTYPES.get({"qint8": "int8", "quint8": "uint8", "qint32": "int32"}.get(name, name))
    bits = _PACKED_BITS.get(name, 8 * tensor.dtype.itemsize)
    return known if known is not None and known.bits == bits else DType(name, "opaque", bits)


def _first_line(error: BaseException) -> str:
    return (said_by(error).strip().splitlines() or [type(error).__name__])[0][:120]


def _kind(tensor: Any) -> str:
    layout = str(tensor.layout).removeprefix("torch.")
    name = str(tensor.dtype).removeprefix("torch.")
    return name if layout == "strided" else f"{name} in the layout {layout}"


def _zero(tensor: Any) -> int | None:
    if not tensor.is_quantized:
        return 0
    scheme = str(tensor.qscheme())
    if scheme == "torch.per_tensor_affine":
        return int(tensor.q_zero_point())
    points = {int(one) for one in tensor.q_per_channel_zero_points().tolist()}
    return points.pop() if len(points) == 1 else None


def _values(tensor: Any) -> Any:
    """The values, or in words why there are none.  Raises ``MemoryError``."""
    import torch

    from weighbridge.frontends.weights_values import decoded

    try:
        flat = tensor.detach()
        if flat.is_quantized:
            flat = flat.int_repr()
        flat = flat.cpu().resolve_neg().contiguous().reshape(-1)
        data = memoryview(flat.view(torch.uint8).numpy())
    except Exception as error:  # tensors without values, and types of tensors that others made
        if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in said_by(error):
            raise MemoryError from None
        return f"its values cannot be read: {_first_line(error)}"
    return decoded(data, _dtype(flat), flat.numel())
