"""The number format that a network multiplies in when it is run, which is one of the conditions of a measurement."""

from __future__ import annotations

from weighbridge.estimates.multiplications import macs_by_precision
from weighbridge.graph import Graph
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy
from weighbridge.passes.static import static_tensors

__all__ = ["precision_of_run"]


def precision_of_run(graph: Graph) -> tuple[str | None, str]:
    """The format of all multiply-accumulates of ``graph`` as it is deployed, and "": int8 of a network whose file quantizes around each.

    None, and a note, where there are several or none.  Some other format is what a runtime without kernels for it takes: it does not say.
    """
    deployed = deploy(graph)
    every = macs_by_precision(deployed, OPERATORS, static_tensors(deployed, OPERATORS))
    macs = {name: count for name, count in every.items() if count}
    if not macs:
        return None, "nothing in it is a multiply-accumulate, so that it has no precision"
    if len(macs) == 1 and None not in macs:
        return next(iter(macs)), ""
    total = sum(macs.values())
    shares = ", ".join(
        f"{name or 'unnamed'} ({_share(count, total)})" for name, count in sorted(macs.items(), key=lambda one: -one[1])
    )
    return None, f"its multiply-accumulates are of several precisions: {shares}"


def _share(count: int, total: int) -> str:
    """Rounded, and never to all or nothing."""
    share = count / total
    if share > 0.999:
        return "over 99.9%"
    return f"{share:.1%}" if share >= 0.001 else "under 0.1%"
