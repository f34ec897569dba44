"""The form of a weighing, filled in with what was asked for, and what stands above its report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

from weighbridge.devices.device import KINDS
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.around import Around
from weighbridge.web.asked import Asked, field_of, fields_asked_for, said_beside
from weighbridge.web.controls import stated
from weighbridge.web.fields import FIELDS
from weighbridge.web.jobs import Order
from weighbridge.web.pages import around, in_script, rendered
from weighbridge.web.references import OWN, Offered, devices_offered, models_offered, title_of
from weighbridge.web.shelf import Shelf
from weighbridge.web.simulators import simulators

__all__ = ["above", "form_page", "is_missing", "one_error"]

_FIRST: Final = ("weight_bits", "activation_bits", "precision", "batch")
"""Fields that most people need."""
_MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "Sizes that a file leaves open": ("sequence", "dims", "inputs"),
    "Throughput, frames and energy": ("batches", "fps", "energy", "battery", "reserve"),
    "Training": ("train", "mixed_precision", "update", "freeze", "lora", "checkpoint"),
    "How it is counted": ("convention", "as_written", "scratch"),
}
_ALIKE: Final = ("resolution",)
"""Parameters of textbook networks that simulators have under the same name and with the same meaning."""
_LONGEST_NAME: Final = 60
_BY_NAME: Final = {field.name: field for field in FIELDS}


class _Group(NamedTuple):
    """Devices of a kind; ``all_of`` is the name by which all of them are chosen, "" where there is none."""

    heading: str
    all_of: str
    items: tuple[tuple[str, str], ...]


def form_page(found: Asked, shelf: Shelf, error: WeighbridgeError | None = None) -> str:
    """The form as it was filled in; what is wrong stands beside its field, and an error that is about none above all."""
    faults = dict(found.faults)
    if error is not None and field_of(error):
        faults[field_of(error)] = said_beside(error)
    elif error is not None:
        faults[""] = str(error)
    return rendered(
        "weigh.html.jinja",
        found=found,
        faults=faults,
        asked_for=fields_asked_for(error) if isinstance(error, WeighbridgeError) else (),
        models=models_offered(shelf),
        devices=_groups(devices_offered(shelf)),
        first=[_BY_NAME[name] for name in _FIRST],
        more={heading: [_BY_NAME[name] for name in names] for heading, names in _MORE.items()},
        networks=_networks(),
        held=in_script(_networks()),
    )


def is_missing(found: Asked, error: WeighbridgeError | None) -> bool:
    """Whether it is the model that is not there."""
    is_said = "model" in found.values
    return is_said and ("model" in found.faults or (error is not None and error.where == "model"))


def one_error(found: Asked) -> WeighbridgeError:
    """The faults of all fields as one error, for programs."""
    if len(found.faults) == 1:
        ((name, said),) = found.faults.items()
        return BadSpec(said, where=name)
    details = [f"{name}: {said}" if name else said for name, said in found.faults.items()]
    return BadSpec(f"there are {len(details)} faults", details=details)


def above(found: Asked) -> Around:
    """What stands around the report: what was asked for, a way to change it, to save it, and where else the network can be seen."""
    order = found.order
    assert order is not None, "there is a report"
    reference = found.one("model") + (f":{order.choices}" if order.choices else "")
    compared = urlencode([("model", reference), *(("on", one) for one in found.values.get("on", ()))])
    return around(
        "weighed.html.jinja",
        title=title_of(order),
        said=tuple(_said(found)),
        query=found.query,
        name=_file_name(found, order),
        compare=f"/compare?{compared}",
        simulators=tuple(_usable(order)),
    )


def _groups(offered: tuple[Offered, ...]) -> tuple[_Group, ...]:
    """The devices of the folder, and those of each kind, in the order of ``KINDS``, by whose name all of a kind are chosen."""
    own = [_Group(one.heading, "", one.items) for one in offered if one.items[0][0].startswith(OWN)]
    listed = [one for one in offered if not one.items[0][0].startswith(OWN)]
    return (
        *own,
        *(
            _Group(one.heading, kind if len(one.items) > 1 else "", one.items)
            for kind, one in zip(KINDS, listed, strict=True)
        ),
    )


def _said(found: Asked) -> Iterator[tuple[str, str]]:
    """What was asked for beside the network: the label of a field, and its values."""
    if found.one("choices"):
        yield "with", found.one("choices").replace(",", ", ")
    if "on" in found.values:
        yield "on", ", ".join(one.removeprefix(OWN) for one in found.values["on"])
    for field in FIELDS:
        if field.kind == "switch" and found.one(field.name) == "1":
            yield field.label, "yes"
        elif field.kind != "switch" and field.name in found.values:
            yield field.label, ", ".join(found.values[field.name])


def _file_name(found: Asked, order: Order) -> str:
    """A name for the report, which a file can have."""
    widths = [found.one("precision"), *found.values.get("weight_bits", ())]
    parts = [order.source.rsplit(".", 1)[0] if order.folder else order.source, order.choices, *widths]
    plain = re.sub(r"[^A-Za-z0-9()+_.-]+", "-", " ".join(part for part in parts if part))
    return plain.strip("-._()+")[:_LONGEST_NAME].rstrip("-.") or "report"


def _usable(order: Order) -> Iterator[tuple[str, str]]:
    """The simulators that show this network, each with its title and the address at which it does."""
    if order.folder:
        return
    chosen = [
        (name.strip(), value.strip())
        for name, _, value in (part.partition("=") for part in order.choices.split(",") if part)
    ]
    for one in simulators().values():
        found = stated(one.controls, [("network", order.source), *chosen])
        if not found.faults and all(name in _ALIKE for name, _ in chosen):
            yield one.title, one.link(found.state)


@cache
def _networks() -> Mapping[str, Mapping[str, Any]]:
    """The textbook networks: where they are from, and the parameters that they have."""
    from weighbridge.frontends.toml_values import described
    from weighbridge.textbook import names, specification

    found: dict[str, Mapping[str, Any]] = {}
    for name in names():
        one = specification(name)
        parameters = [
            {
                "name": key,
                "meaning": parameter.description,
                "values": described(parameter),
                "choices": ["true", "false"] if isinstance(parameter.default, bool) else list(parameter.choices),
                "default": str(parameter.default).lower()
                if isinstance(parameter.default, bool)
                else str(parameter.default),
            }
            for key, parameter in one.parameters.items()
            if key != "batch"
        ]
        found[name] = {"title": one.header.title, "source": one.header.source, "parameters": parameters}
    return found
