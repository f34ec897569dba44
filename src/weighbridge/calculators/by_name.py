"""A layer from the name of its kind, or of a layer of a textbook network, and from symbols by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.textbook import find, names

from .kinds import Conv, Depthwise, LayerSpec, Linear, Matmul, Operation, Transposed
from .presets import is_preset, preset
from .readouts import layer
from .symbols import SYMBOLS, checked

__all__ = ["KINDS", "LayerKind", "named"]

_BITS: Final = ("weight_bits", "activation_bits")
_SHOWN: Final = 8


class LayerKind(NamedTuple):
    """A kind of layer: what it is, the record of its symbols, and symbols that it needs though the record does not."""

    meaning: str
    spec: type[Linear | Conv | Depthwise | Transposed | Matmul]
    also_needs: tuple[str, ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of all its symbols."""
        return tuple(field.name for field in fields(self.spec))

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of those that have to be given."""
        required = (field.name for field in fields(self.spec) if field.default is MISSING)
        return (*required, *self.also_needs)


KINDS: Final[Mapping[str, LayerKind]] = MappingProxyType(
    {
        "linear": LayerKind("n vectors of c_i values through c_o neurons", Linear),
        "conv": LayerKind("a convolution of two dimensions", Conv),
        "grouped": LayerKind("a convolution in g groups", Conv, ("g",)),
        "depthwise": LayerKind("a convolution with a group for every channel", Depthwise),
        "transposed": LayerKind("a transposed convolution of two dimensions", Transposed),
        "matmul": LayerKind("an m x k by a k x n matrix, both activations", Matmul),
    }
)
"""Every kind of layer that symbols describe, by name."""


def named(name: str, symbols: Mapping[str, object]) -> LayerSpec:
    """The layer of a kind with these ``symbols``, or that of a textbook network (``alexnet.conv3``) with these in place of its own.

    ``bits`` stands for the bits of weights and activations alike.  Raises ``BadSpec``, located at the symbol, for a kind,
    network or layer that does not exist, a symbol that the layer does not have or that is missing, and a value that it
    cannot have.
    """
    if is_preset(name):
        return _changed(name, preset(name), symbols)
    kind = KINDS.get(name)
    if kind is None:
        raise _unknown(name)
    given = _with_bits(symbols, kind.symbols)
    _refuse_others(f"a {name} layer", given, kind.symbols)
    missing = [one for one in kind.needs if one not in given]
    if missing:
        raise BadSpec(f"is missing: a {name} layer needs {', '.join(kind.needs)}", where=missing[0])
    return kind.spec(**given)  # type: ignore[arg-type]


def _changed(name: str, spec: LayerSpec, symbols: Mapping[str, object]) -> LayerSpec:
    """``spec`` with other symbols; where the size of the output is given, that of the input follows from it."""
    its_own: tuple[str, ...]
    if isinstance(spec, Operation):
        its_own = _BITS if layer(spec).weights else _BITS[1:]
        given = _with_bits(symbols, its_own)
        sizes = f"sizes are for its network to say, as in {name.partition(':')[0]}:batch=8"
        _refuse_others(f"{name} is a {spec.kind}, which", given, its_own, sizes)
        return replace(spec, **given)  # type: ignore[arg-type]
    its_own = tuple(field.name for field in fields(spec))
    given = _with_bits(symbols, its_own)
    _refuse_others(f"{name} is a {spec.kind} layer, which", given, its_own)
    if {"h_o", "w_o"} & set(given):
        now = layer(spec).symbols
        given = {"h_i": None, "w_i": None, "h_o": now["h_o"], "w_o": now["w_o"], **given}
    return replace(spec, **given)  # type: ignore[arg-type]


def _with_bits(symbols: Mapping[str, object], its_own: Iterable[str]) -> dict[str, object]:
    """``symbols`` with ``bits`` as the widths that the layer has, unless they are given beside it."""
    given = dict(symbols)
    if "bits" in given:
        bits = checked("bits", given.pop("bits"))
        given = {**{name: bits for name in _BITS if name in its_own}, **given}
    return given


def _refuse_others(what: str, given: Iterable[str], its_own: tuple[str, ...], hint: str = "") -> None:
    for name in given:
        if name not in its_own:
            there = ", ".join(symbol for symbol in (*SYMBOLS, "bias") if symbol in its_own)
            raise BadSpec(f"{what} has no {name}", where=name, hint=f"there are {there}{f'; {hint}' if hint else ''}")


def _unknown(name: str) -> BadSpec:
    network = name.partition(":")[0]
    if network in names():
        layers = [node.name for node in find(network).nodes]
        more = ", …" if len(layers) > _SHOWN else ""
        example = f"write {network}.{layers[0]}, and parameters behind it, as in {network}.{layers[0]}:batch=8"
        hint = f"its layers are {', '.join(layers[:_SHOWN])}{more}; {example}"
        return BadSpec(f"{network} is a network, not a layer", where=name, hint=hint)
    near = get_close_matches(name, [*KINDS, *names()], 1)
    meant = f"did you mean {near[0]}? " if near else ""
    hint = f"{meant}the kinds are {', '.join(KINDS)}; a layer of a textbook network is written alexnet.conv3"
    return BadSpec(f"there is no kind of layer {name!r}", hint=hint)
