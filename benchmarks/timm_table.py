"""Recomputes timm's published table of parameters, GMACs and activations under the convention fvcore, row by row.

Every row is built without weights on the meta device, captured, and counted; its figures go to a JSON lines file at once, so that
a run that was stopped goes on where it was.  With ``--page`` the results become docs/timm.md.

    python benchmarks/timm_table.py TABLE RESULTS [--only N] [--page docs/timm.md]

TABLE is a CSV file with the columns model, image_size, parameters_M, gmacs, activations_M.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import inspect
import json
import logging
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import timm
import timm.layers
import torch

from weighbridge.counts.conventions import CONVENTIONS, by_convention
from weighbridge.errors import WeighbridgeError
from weighbridge.frontends.from_torch import load_torch

__all__ = ["Found", "Row", "agrees", "recomputed", "rows", "smallest_hashes"]


class Row(NamedTuple):
    """A row of the published table, as printed: millions, 10^9 multiply-accumulates, millions."""

    model: str
    image_size: int
    parameters: float
    gmacs: float
    activations: float

    @property
    def name(self) -> str:
        return f"{self.model}@{self.image_size}"


_FIGURES: Final = ("parameters_M", "gmacs", "activations_M")


class Found(NamedTuple):
    """What came out for a row: exact figures, or None and an error."""

    name: str
    parameters: int | None
    macs: int | None
    activations: int | None
    exact: bool
    uncounted: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


RENAMED: Final[Mapping[str, str]] = {
    "ig_resnext101_32x16d": "resnext101_32x16d",
    "ig_resnext101_32x32d": "resnext101_32x32d",
    "ig_resnext101_32x48d": "resnext101_32x48d",
}
"""Old names that timm gives to another model (all of these to resnext101_32x8d), and the name their model has now."""

CAUSES: Final[Mapping[str, str]] = {}
"""Why rows differ, by the beginning of the model's name; the longest beginning counts."""


def rows(table: Path) -> list[Row]:
    with table.open(encoding="utf-8", newline="") as file:
        return [
            Row(one["model"], int(one["image_size"]), *(float(one[key]) for key in _FIGURES))
            for one in csv.DictReader(file)
        ]


def smallest_hashes(table: Iterable[Row], number: int) -> list[Row]:
    """The rows with the smallest SHA-256 of ``model@size``: a sample that nobody chose."""
    return sorted(table, key=lambda row: hashlib.sha256(row.name.encode()).hexdigest())[:number]


def model_of(row: Row) -> torch.nn.Module:
    """The row's model without weights, for its image size.

    Attention is not fused, as in the runs that made the table: a differential attention multiplies its values once then,
    and twice where it is fused.
    """
    timm.layers.set_fused_attn(enable=False)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = RENAMED.get(row.model, row.model)
        model = timm.create_model(name, pretrained=False)
        expected = model.pretrained_cfg.get("input_size") or (3, 0, 0)
        if expected[-1] != row.image_size and _takes_a_size(model):
            model = timm.create_model(name, pretrained=False, img_size=row.image_size)
    return model.eval()


def _takes_a_size(model: torch.nn.Module) -> bool:
    return "img_size" in inspect.signature(type(model).__init__).parameters


def recomputed(row: Row) -> Found:
    """The figures of a row under the convention fvcore."""
    start = time.perf_counter()
    try:
        model = model_of(row)
        image = torch.empty(1, 3, row.image_size, row.image_size, device="meta")
        found = by_convention(load_torch(model, (image,)), CONVENTIONS["fvcore"])
    except (RuntimeError, TypeError, ValueError, AssertionError, WeighbridgeError) as error:
        text = next(iter(str(error).splitlines()), type(error).__name__)
        return Found(row.name, None, None, None, False, (), text, time.perf_counter() - start)
    missing = tuple(sorted({one.operator for one in found.uncounted}))
    seconds = round(time.perf_counter() - start, 2)
    return Found(row.name, found.parameters, found.macs, found.activations, found.exact, missing, "", seconds)


def printed(found: Found) -> tuple[float | None, ...]:
    """As the table prints them: two decimals."""
    sizes = ((found.parameters, 1e6), (found.macs, 1e9), (found.activations, 1e6))
    return tuple(None if size is None else round(size / unit, 2) for size, unit in sizes)


def agrees(row: Row, found: Found) -> bool:
    """Whether every figure is the published one at the printed decimals."""
    return printed(found) == row[2:]


def cause(row: Row) -> str:
    """Why a row differs; "" where nobody knows."""
    beginnings = [beginning for beginning in CAUSES if row.model.startswith(beginning)]
    return CAUSES[max(beginnings, key=len)] if beginnings else ""


def page(table: Iterable[Row], found: Mapping[str, Found]) -> str:
    """docs/timm.md: the totals, the rows that differ with their causes, and the rows whose figures leave something out."""
    known = [(row, found[row.name]) for row in table if row.name in found]
    differing = [(row, one) for row, one in known if not agrees(row, one)]
    bounds = [(row, one) for row, one in known if one.uncounted]
    parts = [
        HEAD.format(rows=len(known), agree=len(known) - len(differing), timm=timm.__version__, torch=torch.__version__),
        "## Rows that differ\n",
        "| model | size | parameters, M | GMACs | activations, M | cause |",
        "|---|---:|---:|---:|---:|---|",
        *(_differing_line(row, one) for row, one in differing),
        "",
        "Each cell has the published figure and, where ours is another, ours behind an arrow.\n",
        "## Rows that agree and leave something out\n",
        LOWER_BOUNDS,
        "| model | size | not counted |",
        "|---|---:|---|",
        *(f"| {row.model} | {row.image_size} | {', '.join(one.uncounted)} |" for row, one in bounds),
        "",
    ]
    return "\n".join(parts)


HEAD: Final = """\
# The timm table

timm publishes parameters, multiply-accumulates and activations of its models, counted with fvcore. This page holds `weighbridge`
under `--convention fvcore` against {rows} rows of that table: **{agree} agree in all three figures at the printed decimals**; every
other row stands below with its cause. Models are built without weights by timm {timm} under PyTorch {torch}, on the meta
device and with attention not fused, as for the published table: `benchmarks/timm_table.py` makes this page.

What the convention counts stands in [Conventions](conventions.md).
"""


LOWER_BOUNDS: Final = """\
fvcore has no rule for these operators, so that the published figures lack them. So do ours under its convention, which are
then lower bounds and say so.
"""


def _differing_line(row: Row, one: Found) -> str:
    cells = [
        f"{theirs:.2f}" if ours == theirs else f"{theirs:.2f} → {'none' if ours is None else format(ours, '.2f')}"
        for theirs, ours in zip(row[2:], printed(one), strict=True)
    ]
    return f"| {row.model} | {row.image_size} | {' | '.join(cells)} | {cause(row) or one.error} |"


def results(file: Path) -> dict[str, Found]:
    """What an earlier run has written, by the name of the row."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    read = (Found(**json.loads(line)) for line in lines)
    return {one.name: one._replace(uncounted=tuple(one.uncounted)) for one in read}


def _missing(table: Iterable[Row], found: Mapping[str, Found]) -> Iterator[Row]:
    return (row for row in table if row.name not in found)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, metavar="TABLE")
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="JSON lines; rows that are in it are not run again"
    )
    parser.add_argument("--only", type=int, metavar="N", help="the N rows with the smallest hash")
    parser.add_argument("--page", type=Path, help="write the page to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    table = rows(options.table)
    wanted = smallest_hashes(table, len(table) if options.only is None else options.only)
    with options.results.open("a", encoding="utf-8") as file:
        for row in _missing(wanted, results(options.results)):
            file.write(f"{json.dumps(recomputed(row)._asdict())}\n")
            file.flush()
    found = results(options.results)
    differing = [row for row in wanted if not agrees(row, found[row.name])]
    print(f"{len(wanted) - len(differing)} of {len(wanted)} rows agree")
    for row in differing:
        print(f"{row.name}: published {row[2:]}, ours {printed(found[row.name])}: {cause(row) or 'no cause is known'}")
    if options.page:
        options.page.write_text(page(table, found), encoding="utf-8")
    return 0 if all(cause(row) for row in differing) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
