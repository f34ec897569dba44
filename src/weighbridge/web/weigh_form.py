"""The form of a weighing, filled in with what was asked for, and what stands above its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import urlencode

from weighbridge.errors import NeedsShape, WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.around import Around
from weighbridge.report.assets import in_script
from weighbridge.web.asked import Asked, field_of, fields_asked_for, said_beside
from weighbridge.web.bodies import UPLOAD, too_large
from weighbridge.web.controls import stated
from weighbridge.web.device_groups import device_groups
from weighbridge.web.fields import FIELDS, in_words
from weighbridge.web.jobs import Order
from weighbridge.web.networks import Sized
from weighbridge.web.pages import around, rendered
from weighbridge.web.references import models_offered, title_of
from weighbridge.web.shelf import Shelf, name_like
from weighbridge.web.simulators import simulators

__all__ = ["above", "form_page", "is_missing"]

_FIRST: Final = ("weight_bits", "activation_bits", "precision", "batch")
"""Fields that most people need."""
_MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "Sizes that a file leaves open": ("sequence", "dims", "inputs"),
    "Throughput, frames, energy and reserved memory": ("batches", "fps", "energy", "battery", "reserve"),
    "Training": ("train", "mixed_precision", "update", "freeze", "lora", "checkpoint"),
    "How it is counted": ("convention", "as_written", "scratch"),
}
_ALIKE: Final = ("resolution",)
"""Parameters of textbook networks that simulators have under the same name and with the same meaning."""
_BY_NAME: Final = {field.name: field for field in FIELDS}
_LABELS: Final = {"model": "the network", "choices": "its parameters", "on": "devices"} | {
    field.name: field.label for field in FIELDS
}


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
        asked_for=fields_asked_for(error) if isinstance(error, NeedsShape) else {},
        models=models_offered(shelf),
        devices=device_groups(shelf),
        first=[_BY_NAME[name] for name in _FIRST],
        more={heading: [_BY_NAME[name] for name in names] for heading, names in _MORE.items()},
        beside=[name for name in faults if name],
        labels=_LABELS,
        networks=_networks(),
        held=in_script(_networks()),
        most_bytes=UPLOAD.file_bytes,
        too_large=str(too_large(UPLOAD)),
    )


def is_missing(found: Asked, error: WeighbridgeError | None) -> bool:
    """Whether it is the model that is not there."""
    is_said = "model" in found.values
    return is_said and ("model" in found.faults or (error is not None and error.where == "model"))


def above(found: Asked) -> Around:
    """What stands around the report: what was asked for, a way to change it, to save it, and where else the network can be seen."""
    order = found.order
    assert order is not None, "there is a report"
    reference = found.one("model") + (f":{order.choices}" if order.choices else "")
    compared = urlencode([("model", reference), *(("on", one) for one in found.values.get("on", ()))])
    return around(
        "weighed.html.jinja",
        form=f"/weigh?{found.query}",
        fields=_LABELS,
        title=title_of(order),
        said=tuple(_said(found)),
        query=found.query,
        name=_name(found, order),
        compare=f"/compare?{compared}",
        simulators=tuple(_usable(found, order)),
    )


def _said(found: Asked) -> Iterator[tuple[str, str]]:
    """What was asked for beside the network: the label of a field, and its values."""
    if found.one("choices"):
        yield "with", found.one("choices").replace(",", ", ")
    yield from in_words(found.values, FIELDS)


def _name(found: Asked, order: Order) -> str:
    """A name for the report: what the network is called, and what was chosen of it."""
    widths = [found.one("precision"), *found.values.get("weight_bits", ())]
    parts = [PurePath(order.source).stem if order.folder else order.source, order.choices, *widths]
    return name_like(" ".join(part for part in parts if part))


def _usable(found: Asked, order: Order) -> Iterator[tuple[str, str]]:
    """The simulators that show this network, each with its title and the address at which it does."""
    chosen = [
        (name.strip(), value.strip())
        for name, _, value in (part.partition("=") for part in order.choices.split(",") if part)
    ]
    if not all(name in _ALIKE for name, _ in chosen) or set(order.sizes) - {"batch"}:
        return
    network = found.one("model") if order.folder else order.source
    for one in simulators(_Offering(network if order.folder else "")).values():
        state = stated(one.controls, [("network", network), *chosen])
        if not state.faults:
            yield one.title, one.link(state.state)


class _Offering(NamedTuple):
    """The textbook networks and the upload of this reference, for simulators that nobody asks for figures."""

    upload: str

    def offered(self, textbook: Mapping[str, str]) -> Mapping[str, str]:
        return {**textbook, self.upload: self.upload} if self.upload else textbook

    def sized(self, source: str, batch: int) -> Sized:
        raise AssertionError("only links are made")


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
