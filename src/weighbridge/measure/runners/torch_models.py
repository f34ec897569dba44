"""What PyTorch runs: a model that a library builds by name, with values made up, an exported program, or a single operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import torch

from weighbridge.errors import MeasureError
from weighbridge.frontends.torch_inputs import TensorSpec
from weighbridge.frontends.torch_sources import built_named
from weighbridge.measure.micro.twins import single
from weighbridge.measure.runners.refusal import refusal
from weighbridge.measure.runners.runner import Order
from weighbridge.named_tuple import NamedTuple

__all__ = ["Input", "Model", "model_of"]

_MADE_UP: Final = "the weights are made up, none are loaded: what decides by values, as detectors do, may take another time with real ones"


class Input(NamedTuple):
    """A tensor that a model takes."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Model(NamedTuple):
    """A module and what it takes: ``call`` makes its arguments, by position and by keyword, of a tensor for each of ``inputs``."""

    module: Any
    inputs: tuple[Input, ...]
    call: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    notes: tuple[str, ...] = ()


def model_of(order: Order) -> Model:
    """The model of ``order``.  Raises what building it does, and ``MeasureError`` for a program that PyTorch does not load."""
    module = single(order.source)
    if module is not None:
        inputs = tuple(Input(name, tuple(shape), dtype) for name, (shape, dtype) in order.inputs.items())
        return Model(module, inputs, lambda tensors: (tuple(tensors), {}))
    return _exported(order) if Path(order.source).is_file() else _named(order)


def _named(order: Order) -> Model:
    batch, sequence = order.choices.get("batch"), order.choices.get("sequence")
    module, stated = built_named(order.source, batch=batch, sequence=sequence)
    specs: list[TensorSpec] = []
    _mapped(stated, specs.append)
    wanted = [Input(name, tuple(shape), dtype) for name, (shape, dtype) in order.inputs.items()]
    if len(wanted) == len(specs):
        return Model(module, tuple(wanted), lambda tensors: _placed(stated, iter(tensors)), (_MADE_UP,))
    known = set(inspect.signature(module.forward).parameters)
    if not known.issuperset(order.inputs):
        what = f"its inputs {', '.join(order.inputs)} cannot be told apart"
        raise MeasureError(what, where=order.source, hint="measure it as it is, with no shapes of inputs given")
    names = [one.name for one in wanted]
    return Model(module, tuple(wanted), lambda tensors: ((), dict(zip(names, tensors, strict=True))), (_MADE_UP,))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A structure with every ``TensorSpec`` changed, in order."""
    if isinstance(value, TensorSpec):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)([_mapped(one, change) for one in value])
    if isinstance(value, Mapping):
        return {name: _mapped(one, change) for name, one in value.items()}
    return value


def _placed(stated: Any, tensors: Iterator[Any]) -> Any:
    return _mapped(stated, lambda _: next(tensors))


def _exported(order: Order) -> Model:
    try:
        with _nothing_unpickled():
            program = torch.export.load(order.source)
        module = program.module()
    except Exception as error:
        raise refusal("pytorch", error, order.source) from None
    structure = program.call_spec.in_spec
    from torch.utils._pytree import tree_unflatten

    inputs = tuple(Input(name, tuple(shape), dtype) for name, (shape, dtype) in order.inputs.items())
    takes = structure.num_leaves if structure is not None else len(inputs)
    if takes != len(inputs):
        what = f"the program takes {takes:,} values, of which {len(inputs):,} are tensors"
        raise MeasureError(what, where=order.source, hint="export it with tensors alone as inputs")
    return Model(module, inputs, lambda tensors: tree_unflatten(list(tensors), structure))


@contextmanager
def _nothing_unpickled() -> Iterator[None]:
    """While this lasts PyTorch reads weights as numbers, and runs nothing that a file says.

    Its own reader takes what was pickled as it is, weights of unusual tensors and objects among them, which would run any code.
    """
    from torch.export.pt2_archive import _package as package

    load = torch.load

    def numbers(*args: Any, **kwargs: Any) -> Any:
        return load(*args, **{**kwargs, "weights_only": True})

    def refuse(*_: Any, **__: Any) -> Any:
        raise ValueError("it holds a pickled object, which could run any code and is not loaded")

    with patch.object(torch, "load", numbers), patch.object(package, "pickle", _Refusing(refuse)):
        if hasattr(torch._C, "_pickle_load_obj"):  # noqa: SLF001
            with patch.object(torch._C, "_pickle_load_obj", refuse):  # noqa: SLF001
                yield
        else:
            yield


class _Refusing(NamedTuple):
    """What stands in the place of the module ``pickle``."""

    loads: Callable[..., Any]
