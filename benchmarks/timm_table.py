"""Recomputes timm's published table of parameters, GMACs and activations under the convention fvcore, row by row.

Every row is built without weights on the meta device, captured, and counted; its figures go to a JSON lines file at once, so that
a run that was stopped goes on where it was.  With ``--page`` the results become docs/timm.md.

    python benchmarks/timm_table.py TABLE RESULTS [--only N] [--page docs/timm.md]

TABLE is a CSV file with the columns model, image_size, parameters_M, gmacs, activations_M.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import timm
import torch

from weighbridge.counts.conventions import CONVENTIONS, by_convention
from weighbridge.errors import WeighbridgeError
from weighbridge.frontends.from_torch import load_torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.timm_models import Row, cause_of, model_of, rows

__all__ = ["Found", "agrees", "explained", "printed", "recomputed", "smallest_hashes"]


class Found(NamedTuple):
    """What came out for a row: figures, or None and an error.  ``otherwise`` are those of the model that its cause names."""

    name: str
    parameters: int | None
    macs: int | None
    activations: int | None
    exact: bool
    uncounted: tuple[str, ...] = ()
    error: str = ""
    otherwise: tuple[int | None, ...] = ()
    seconds: float = 0.0


def smallest_hashes(table: Iterable[Row], number: int) -> list[Row]:
    """The rows with the smallest SHA-256 of ``model@size``: a sample that nobody chose."""
    return sorted(table, key=lambda row: hashlib.sha256(row.name.encode()).hexdigest())[:number]


def recomputed(row: Row) -> Found:
    """The figures of a row under the convention fvcore, and those of the model that its cause names, if it has one."""
    start = time.perf_counter()
    found, cause = counted(row, model_of), cause_of(row)
    if cause is not None and cause.build is not None:
        found = found._replace(otherwise=counted(row, cause.build)[1:4])
    return found._replace(seconds=round(time.perf_counter() - start, 2))


def counted(row: Row, build: Callable[[Row], torch.nn.Module]) -> Found:
    try:
        image = torch.empty(1, 3, row.image_size, row.image_size, device="meta")
        found = by_convention(load_torch(build(row), (image,)), CONVENTIONS["fvcore"])
    except (RuntimeError, TypeError, ValueError, AssertionError, WeighbridgeError) as error:
        text = next(iter(str(error).splitlines()), type(error).__name__)
        return Found(row.name, None, None, None, False, (), text)
    missing = tuple(sorted({one.operator for one in found.uncounted}))
    return Found(row.name, found.parameters, found.macs, found.activations, found.exact, missing)


def printed(figures: Sequence[int | None]) -> tuple[float | None, ...]:
    """Parameters, multiply-accumulates and activations as the table prints them: two decimals."""
    units = (1e6, 1e9, 1e6)
    return tuple(None if size is None else round(size / unit, 2) for size, unit in zip(figures, units, strict=True))


def agrees(row: Row, found: Found) -> bool:
    """Whether every figure is the published one at the printed decimals."""
    return printed(found[1:4]) == row[2:]


def explained(row: Row, found: Found) -> bool:
    """Whether a row that differs has a cause, and agrees with the model that the cause names, if it names one."""
    cause = cause_of(row)
    return cause is not None and (cause.build is None or printed(found.otherwise) == row[2:])


def page(table: Iterable[Row], found: Mapping[str, Found]) -> str:
    """docs/timm.md: the totals, the rows that differ with their causes, and the rows whose figures leave something out."""
    known = [(row, found[row.name]) for row in table if row.name in found]
    differing = [(row, one) for row, one in known if not agrees(row, one)]
    bounds = [(row, one) for row, one in known if one.uncounted]
    parts = [
        HEAD.format(
            rows=len(known),
            agree=len(known) - len(differing),
            timm=timm.__version__,
            torch=torch.__version__.partition("+")[0],
        ),
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
        for theirs, ours in zip(row[2:], printed(one[1:4]), strict=True)
    ]
    return f"| {row.model} | {row.image_size} | {' | '.join(cells)} | {_why(row, one)} |"


def _why(row: Row, one: Found) -> str:
    cause = cause_of(row)
    if cause is None or not explained(row, one):
        return f"not known {one.error}".strip()
    return f"{cause.text}; counted so, all three agree" if cause.build else cause.text


def results(file: Path) -> dict[str, Found]:
    """What an earlier run has written, by the name of the row."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    read = (Found(**json.loads(line)) for line in lines)
    return {one.name: one._replace(uncounted=tuple(one.uncounted), otherwise=tuple(one.otherwise)) for one in read}


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
        print(f"{row.name}: published {row[2:]}, ours {printed(found[row.name][1:4])}: {_why(row, found[row.name])}")
    if options.page:
        options.page.write_text(page(table, found), encoding="utf-8")
    return 0 if all(explained(row, found[row.name]) for row in differing) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
