"""Carries changes out on a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.bits import BitRules, set_bits
from weighbridge.passes.targets import REST, targets_of
from weighbridge.passes.what_if.depthwise import separate_convolutions
from weighbridge.passes.what_if.global_pool import pool_globally
from weighbridge.passes.what_if.language import PARAMETER, Change, steps_of
from weighbridge.passes.what_if.low_rank import factorise_linear
from weighbridge.passes.what_if.prune import prune_channels
from weighbridge.passes.what_if.sparsity import sparsify

__all__ = ["applied"]

_Operators = Mapping[str, Op]


def applied(graph: Graph, changes: Iterable[Change], operators: _Operators = OPERATORS) -> Graph:
    """``graph`` with ``changes`` carried out in their order; of parameters, from which it was built, none is.

    Raises ``BadSpec``, located at the change: a target that is not in the graph, a change that finds nothing to do, a layer of
    which nothing would be left.
    """
    for step in steps_of(change for change in changes if change.kind != PARAMETER):
        try:
            graph = _PASSES[step[0].kind](graph, step, operators)
        except BadSpec as error:
            where = " ".join(change.text for change in step)
            inner = "" if error.where == step[0].kind else error.where
            raise BadSpec(error.what, where=f"{where}: {inner}" if inner else where, hint=error.hint) from None
    return graph


def _set_bits(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    weights = tuple((one.target or REST, int(one.value or 0)) for one in step if one.kind == "bits")
    activations = [int(one.value or 0) for one in step if one.kind == "activation-bits"]
    if weights and not targets_of(graph, operators).layers:
        raise BadSpec("there are no weights", where="bits", hint="the network has no layer that has some")
    return set_bits(graph, BitRules(weights, activations[-1] if activations else None), operators)


def _prune(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    return prune_channels(graph, _shares(step), operators)


def _sparsify(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    return sparsify(graph, _shares(step), operators)


def _shares(step: tuple[Change, ...]) -> list[tuple[str, Fraction]]:
    return [(one.target or REST, Fraction(one.value or 0)) for one in step]


def _separate(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    return separate_convolutions(graph, step[0].target, operators)


def _pool(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    return pool_globally(graph, operators)


def _factorise(graph: Graph, step: tuple[Change, ...], operators: _Operators) -> Graph:
    rank = step[0].value
    assert isinstance(rank, int | Fraction)
    return factorise_linear(graph, rank, step[0].target, operators)


_PASSES: Final[Mapping[str, Callable[[Graph, tuple[Change, ...], _Operators], Graph]]] = {
    "bits": _set_bits,
    "activation-bits": _set_bits,
    "prune": _prune,
    "sparsity": _sparsify,
    "depthwise": _separate,
    "global-pool": _pool,
    "low-rank": _factorise,
}
