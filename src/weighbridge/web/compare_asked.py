"""What the query of a comparison asks for: models, and how those that are weighed are weighed, named as on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.published import find
from weighbridge.web.asked import Reading, check_choices, field_of, said_beside
from weighbridge.web.fields import FIELDS, SIZES
from weighbridge.web.jobs import Compare, Order, Saved
from weighbridge.web.references import PUBLISHED, REPORT, UPLOAD, devices_named, model_of, title_of
from weighbridge.web.shelf import Shelf

__all__ = ["COMPARED", "MOST_MODELS", "Asked", "Row", "asked", "with_error"]

_NAMES: Final = (
    "batch",
    "weight_bits",
    "activation_bits",
    "precision",
    "sequence",
    "dims",
    "inputs",
    "fps",
    "reserve",
    "energy",
    "as_written",
    "train",
)
"""The options of `weighbridge compare`."""
COMPARED: Final = tuple(field for field in FIELDS if field.name in _NAMES)
MOST_MODELS: Final = 16


class Row(NamedTuple):
    """One of the models: what was chosen, and what stands behind its colon; ``title`` is what people call it, and ``written`` what the
    command line would, both "" where it is not there.
    """

    model: str
    choices: str
    title: str = ""
    written: str = ""
    fault: str = ""

    @property
    def reference(self) -> str:
        """As an address has it."""
        return f"{self.model}:{self.choices}" if self.choices else self.model


class Asked(NamedTuple):
    """``compare`` is what is asked for, None unless all of it holds; ``rows`` are the models, ``values`` all else that was said by field,
    and ``faults`` what does not hold, by field, "" for none.
    """

    compare: Compare | None
    rows: tuple[Row, ...]
    values: Mapping[str, tuple[str, ...]]
    faults: Mapping[str, str]

    @property
    def query(self) -> str:
        """The query of the address that says the same."""
        names = ("on", *(field.name for field in COMPARED))
        others = [(name, value) for name in names for value in self.values.get(name, ())]
        return urlencode([*(("model", row.reference) for row in self.rows), *others], safe=":,=")

    @property
    def is_good(self) -> bool:
        """Whether all holds that was said so far."""
        return not self.faults and not any(row.fault for row in self.rows)


def asked(query: Iterable[tuple[str, str]], shelf: Shelf) -> Asked:
    """What a query asks for.  Parameters of a model stand behind its colon, or as the next ``choices``, as a form sends them."""
    pairs = tuple(query)
    found = Reading((pair for pair in pairs if pair[0] not in ("model", "choices")), COMPARED, ())
    models: list[Order | Saved | str] = []
    rows: list[Row] = []
    for reference, choices in _models(pairs):
        row, model = _row(reference, choices, shelf)
        if row.reference in (one.reference for one in rows):
            row = row._replace(fault="is there twice")
        rows.append(row)
        if model is not None:
            models.append(model)
    on, own = found.tried("on", lambda: devices_named(found.values.get("on", ()), shelf)) or ((), ())
    options = found.options()
    sizes = {name: options.pop(name) for name in SIZES if name in options}
    fps = options.pop("fps", "")
    if len(rows) > MOST_MODELS:
        found.faults[""] = (
            f"at most {MOST_MODELS} models are compared here, not {len(rows)}; the command line takes more"
        )
    said = Asked(Compare(tuple(models), fps, sizes, options, on, own), tuple(rows), found.values, found.faults)
    return said if said.is_good else said._replace(compare=None)


def with_error(found: Asked, error: WeighbridgeError) -> Asked:
    """The same with what is wrong: beside the model whose name stands in front of it, beside its field, or above all."""
    for place, row in enumerate(found.rows):
        if row.written and (error.where == row.written or error.where.startswith(f"{row.written}: ")):
            rows = [*found.rows]
            rows[place] = row._replace(fault=said_beside(error))
            return found._replace(compare=None, rows=tuple(rows))
    field = field_of(error)
    known = field == "on" or any(field == one.name for one in COMPARED)
    name, said = (field, said_beside(error)) if known else ("", str(error))
    return found._replace(compare=None, faults={**found.faults, name: said})


def _models(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each model with the choices that follow it; a row of the form that nothing is chosen in says nothing."""
    models: list[tuple[str, str]] = []
    for name, text in pairs:
        if name == "model":
            models.append((text.strip(), ""))
        elif name == "choices" and models:
            models[-1] = (models[-1][0], text.strip())
    return (one for one in models if any(one))


def _row(reference: str, choices: str, shelf: Shelf) -> tuple[Row, Order | Saved | str | None]:
    scheme = next((one for one in (REPORT, PUBLISHED, UPLOAD) if reference.startswith(one)), "")
    is_finished = scheme in (REPORT, PUBLISHED)
    name, _, behind = (reference, "", "") if is_finished else reference.removeprefix(scheme).partition(":")
    row = Row(name if is_finished else f"{scheme}{name}", choices or behind)
    try:
        if not row.model:
            raise BadSpec("choose the model that these are parameters of")
        if is_finished and row.choices:
            raise BadSpec("has no parameters: it stays as it is", hint="leave them out")
        model = model_of(row.reference, shelf)
        if isinstance(model, Order):
            check_choices(model)
    except BadSpec as error:
        return row._replace(fault=said_beside(error)), None
    if isinstance(model, Order):
        written = f"{model.source}:{model.choices}" if model.choices else model.source
        title = f"{title_of(model)} ({model.choices.replace(',', ', ')})" if model.choices else title_of(model)
        return row._replace(title=title, written=written), model
    if isinstance(model, Saved):
        return row._replace(title=model.name, written=f"{model.name}.json"), model
    return row._replace(title=find(model).title, written=f"{PUBLISHED}{model}"), model
