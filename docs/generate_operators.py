"""Writes docs/operators.md from the operator table: ``python docs/generate_operators.py``, or ``--check`` to compare only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from weighbridge.graph import Attribute
from weighbridge.operators.record import REQUIRED, Kind, Op, nothing, read_all_write_all
from weighbridge.operators.table import OPERATORS
from weighbridge.operators.time_class import TimeClass

PAGE = Path(__file__).parent / "operators.md"

INTRODUCTION = """\
# Operators

Every operator that Weighbridge has a rule for, generated from the operator table. A front end maps its own operators onto
these; what it finds no rule for stays in the graph as `unknown`, is named in the report, and makes the totals inexact.

- **Operands**: `?` marks one that may be absent, `…` any number. What a stored operand is for stands behind it: a *weight*
  (of a contraction or a lookup), a *bias*, *affine* (another learned operand), a *statistic* (not learned: running
  statistics, quantisation scales and zero points) or *control* (shapes, axes, indices, bounds).
- **Attributes** with their defaults; *required* marks those without one. An attribute that decides a shape may be
  `"unknown"` where only the running program knows its value: the shape of the result is then unknown too.
- **MACs** come from contractions alone. An operator without an entry has none, by rule.
- **Other work** is what else it computes, as scalar operations by kind; *add* covers subtraction and rounding, *compare* also
  minimum, maximum, logic and selection, *special* whatever a processor has no single instruction for. In italics stands what
  is special about storage and bytes: else every operator owns its results, and all operands are read and all results
  written once.
- **Takes time as** one of this class, where rates were [measured](devices.md) on a machine; an operator without an entry takes none.
- **A part of the result needs** what stands there of the operands, where a stage of a network runs in [patches](patches.md); an
  operator without an entry, or one that needs all, cannot lie in such a stage.
"""

KINDS = {
    Kind.CONTRACTION: ("Contractions", "Sums of products, where the MACs are."),
    Kind.UNARY: (
        "Unary functions",
        "One tensor in, one of its shape out. A deployed graph fuses them into a producer that nothing else reads.",
    ),
    Kind.ELEMENTWISE: ("Elementwise functions", "Element by element, with numpy's broadcasting."),
    Kind.NORMALISATION: ("Normalisations", "Elements put in relation to the others of their row."),
    Kind.REDUCTION: ("Reductions", "Many elements to one, running sums, losses."),
    Kind.POOLING: ("Pools and sampling", "Windows and interpolation over images."),
    Kind.SPECTRAL: ("Fourier transforms", "By the customary count, not as matrix products."),
    Kind.QUANTISATION: ("Quantisation", "Between real and quantised values."),
    Kind.MOVE: (
        "Moves",
        "Values copied or placed elsewhere. Transposes, slices, splits and expansions own their results.",
    ),
    Kind.VIEW: ("Views", "The operand's storage under another shape, and nothing else: these four."),
    Kind.IDENTITY: ("Identities", "Nothing at inference: removed from a deployed graph."),
    Kind.GENERATOR: ("Generators", "Values from nothing but a shape and numbers."),
    Kind.INDEX: ("Shapes and selection", "Shapes of tensors, sorting, selection."),
    Kind.SEQUENCE: (
        "Sequences, optional values, text",
        "A sequence has an element type and no shape; carrying values in and out of it computes nothing.",
    ),
}


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for kind, (title, text) in KINDS.items():
        ops = [op for op in OPERATORS.values() if op.kind == kind]
        parts.append(f"## {title}\n\n{text}\n\n{table(ops)}")
    parts.append(free_section())
    parts.append(conventions())
    return "\n".join(parts)


def table(ops: Iterable[Op]) -> str:
    titles = ("operator", "operands", "attributes", "MACs", "other work", "takes time as", "a part of the result needs")
    rows = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    for op in ops:
        cells = [
            f"**{op.name}**: {op.summary}",
            operands(op),
            ", ".join(f"{name} = {shown(value)}" for name, value in op.attributes.items()),
            first_paragraph(op.loops) if op.loops else "",
            work(op),
            time(op),
            first_paragraph(op.halo_rule) if op.halo_rule else "",
        ]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") or " " for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def operands(op: Op) -> str:
    shown_slots = []
    for slot in op.slots:
        mark = "?" if slot.optional else " …" if slot.variadic else ""
        use = "" if slot.use == "data" else f" *{slot.use}*"
        shown_slots.append(f"{slot.name}{mark}{use}")
    return ", ".join(shown_slots)


def shown(value: Attribute) -> str:
    return "*required*" if value == REQUIRED else f"`{value!r}`"


def work(op: Op) -> str:
    """What it computes beside MACs; in italics how its storage and bytes differ from those of most operators."""
    text = "none" if op.work is nothing else first_paragraph(op.work)
    special = storage(op)
    return f"{text.rstrip('.')}. *{special[0].upper()}{special[1:]}.*" if special else text


def time(op: Op) -> str:
    """The class whose time it takes, and how many of its kernels follow each other where it is not one."""
    text = first_paragraph(op.timed_as) if callable(op.timed_as) else op.timed_as
    if text == TimeClass.LINEAR:
        text = f"{text}, or {TimeClass.MATRIX_PRODUCT} where no weight is stored"
    return f"{text}. {first_paragraph(op.steps)}" if op.steps else text


def storage(op: Op) -> str:
    parts = [f"a view of {op.view_of}"] if op.view_of else []
    if op.traffic is not read_all_write_all:
        parts.append(first_paragraph(op.traffic).rstrip("."))
    if op.fuses:
        parts.append("takes a following unary function")
    if op.random:
        parts.append("new at every run")
    return "; ".join(parts)


def first_paragraph(rule: Callable[..., object]) -> str:
    """What a rule says of itself, on one line."""
    text = rule.__doc__
    if not text:
        raise SystemExit(f"{rule.__module__}.{rule.__qualname__} does not say what it is")
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def free_section() -> str:
    """The operators that compute nothing, each with what its result is."""
    lines = [f"- **{op.name}**: {op.summary}" for op in sorted(free(), key=lambda op: op.name)]
    return (
        "## Operators that cost nothing\n\n"
        "These compute nothing at all, by rule: no MACs and no other work. The list is reviewed: a test holds it, so that no "
        "operator joins it unseen. They still own their results and move bytes, unless the table says that they do not.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def free() -> list[Op]:
    return [op for op in OPERATORS.values() if op.is_free]


def conventions() -> str:
    """The docstrings of the families, where their conventions stand."""
    rules = {rule.__module__ for op in OPERATORS.values() for rule in (op.infer, op.work)}
    modules = sorted(rules - {"weighbridge.operators.rules", "weighbridge.operators.record"})
    parts = ["## Conventions by family\n"]
    for name in modules:
        text = (import_module(name).__doc__ or "").strip().replace("``", "`")
        parts.append(f"### {name.rsplit('.', 1)[-1]}\n\n{text}\n")
    return "\n".join(parts)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
