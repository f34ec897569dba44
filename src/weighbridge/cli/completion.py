"""What the shell offers in place of an argument that is being written: names that begin so, and files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

__all__ = ["budgeted", "changes", "devices", "layers", "saved", "sources"]


def sources(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Textbook networks."""
    from weighbridge.textbook import names

    return _offers(names(), incomplete)


def comparable(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Textbook networks, and published ones once it is clear that these are meant."""
    from weighbridge.published import SCHEME
    from weighbridge.published import names as published
    from weighbridge.textbook import names

    rows = [f"{SCHEME}{name}" for name in published()] if incomplete.startswith(SCHEME) else [SCHEME]
    return _offers([*names(), *rows], incomplete)


def changes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Changes up to their value or target, and the parameters of the source that is written already."""
    from click.shell_completion import CompletionItem

    from weighbridge.changing import parameters_of
    from weighbridge.errors import WeighbridgeError
    from weighbridge.passes.what_if.language import CHANGES

    offers = {f"{name}=" if kind.read else name: kind.summary for name, kind in CHANGES.items()}
    with suppress(WeighbridgeError):  # a source that is not there is told when the command runs
        parameters = parameters_of(context.params.get("source") or "")
        offers |= {f"{name}=": "a parameter of the network" for name in parameters}
    return [CompletionItem(offer, help=text) for offer, text in offers.items() if offer.startswith(incomplete)]


def budgeted(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Models of the file of budgets, where there is one without a fault."""
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from weighbridge.budgets.read import read_budgets
    from weighbridge.errors import WeighbridgeError

    given = context.params.get("budgets")
    try:
        found = read_budgets(None if given is None else Path(given))
    except WeighbridgeError:
        return []
    return [CompletionItem(one.name, help=one.shown) for one in found.models if one.name.startswith(incomplete)]


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
