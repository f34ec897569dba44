"""What the shell offers in place of an argument that is being written: names that begin so, and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

__all__ = ["devices", "layers", "saved", "sources"]


def sources(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Textbook networks."""
    from weighbridge.textbook import names

    return _offers(names(), incomplete)


def devices(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Devices of the catalogue."""
    from weighbridge.devices.catalogue import names

    return _offers(names(), incomplete)


def layers(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Kinds of layers, textbook networks, and the layers of the network that is written already."""
    from weighbridge.calculators import KINDS
    from weighbridge.textbook import find, names

    network, dot, _ = incomplete.partition(".")
    if dot and network in names():
        offers = [f"{network}.{node.name}" for node in find(network).nodes]
    else:
        offers = [*KINDS, *(f"{name}." for name in names())]
    return [offer for offer in offers if offer.startswith(incomplete)]


def saved(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files; behind the first of them also the charts, where the command takes the name of one at its end."""
    from click.shell_completion import CompletionItem

    offers = [CompletionItem(incomplete, type="file")]
    if "chart" in context.params and (context.params["saved"] or context.params["chart"]):
        from weighbridge.report.charts.kinds import KINDS

        offers += (CompletionItem(name, help=kind.title) for name, kind in KINDS.items() if name.startswith(incomplete))
    return offers


def _offers(names: Sequence[str], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
