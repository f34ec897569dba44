"""What a report says of training: the parts and the total, the layers, the batch sizes, the devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weighbridge.errors import printable
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.memory.training.records import TrainingLayer, TrainingPlan
from weighbridge.report.costs import word
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import OnDevice, Report
from weighbridge.units import binary_bytes, decimal_bytes, exact

__all__ = ["training_grids"]

_LAYERS = 12
_UNKNOWN = "?"
_RULES = {
    "paper": "the graph as written: convolutions, linear layers and batch normalisations keep their input where their weight is "
    "trained, functions that switch (ReLU) a bit a value, smooth ones their input; what adds, moves or picks keeps nothing",
    "autograd": "what PyTorch keeps for the backward pass, each storage once, and the most that it holds in one step, as its own "
    "tracker counts it; a gradient that is not there yet at the peak is not in the total",
}


def training_grids(report: Report, *, all_rows: bool) -> tuple[Grid, ...]:
    """The tables of training, none where it was not asked for; of the layers the largest unless ``all_rows``."""
    plan = report.memory.training
    if plan is None:
        return ()
    grids = (_parts(plan), _layers(plan, all_rows), _batches(plan), _devices(report.on))
    return tuple(grid for grid in grids if grid is not None)


def _parts(plan: TrainingPlan) -> Grid:
    optimiser = OPTIMISERS.get(plan.optimiser)
    states = optimiser.keeps if optimiser else "what it keeps from step to step"
    width = ", at 16 bits" if plan.mixed_precision else ""
    at = f", {printable(plan.peak_node, 60)}" if plan.peak_node else ""
    phase = f" ({word(plan.peak_phase)})" if plan.peak_phase else ""
    rows = [
        ("parameters", plan.parameter_bytes, f"all of them{width}"),
        ("buffers", plan.buffer_bytes, "running statistics and constants"),
        ("gradients", plan.gradient_bytes, f"of {exact(plan.trained_parameters)} trained parameters{width}"),
        ("optimiser", plan.optimiser_bytes, states),
        *([("master copy", plan.master_bytes, "of the trained weights, at 32 bits")] if plan.mixed_precision else []),
        ("activations", plan.peak_activation_bytes, f"at their peak{phase}{at}"),
    ]
    rows.append(
        ("total", plan.total_bytes, "the most held in the step" if plan.rule == "autograd" else "the sum of these")
    )
    rows.append(("saved", plan.saved_bytes, "activations kept for the backward pass"))
    return Grid(
        _title(plan),
        (Column("training"), Column("bytes", True), Column("binary", True, rank=1), Column("")),
        tuple(_part(plan, *row) for row in rows),
        tuple(_said(plan)),
    )


def _title(plan: TrainingPlan) -> str:
    optimiser = OPTIMISERS.get(plan.optimiser)
    name = optimiser.title if optimiser else printable(plan.optimiser, 40)
    how = ", ".join(
        printable(one, 80) for one in (*(("mixed precision",) if plan.mixed_precision else ()), *plan.asked)
    )
    attention = f", {printable(plan.attention, 40)} attention" if plan.attention and not plan.asked else ""
    return f"training: a step with {name}{f', {how}' if how else ''}, by the rule {word(plan.rule)}{attention}"


def _part(plan: TrainingPlan, name: str, size: int | None, saying: str) -> GridRow:
    is_exact = plan.exact or name not in ("activations", "total", "saved")
    full = _UNKNOWN if size is None else lower_bound(f"{exact(size)} B", is_exact)
    binary = _UNKNOWN if size is None else lower_bound(binary_bytes(size), is_exact)
    return GridRow((name, full, binary if size is None or size >= 1024 else "", saying))


def _said(plan: TrainingPlan) -> Iterator[str]:
    meaning = _RULES.get(plan.rule)
    if meaning:
        yield f"{plan.rule}: {meaning}"
    yield from (printable(note, 400) for note in plan.notes)


def _layers(plan: TrainingPlan, all_rows: bool) -> Grid | None:
    """The largest in the order in which they run: their saved bytes, weights and gradients are the U-curve."""
    layers = plan.layers
    if not layers:
        return None
    largest = sorted(range(len(layers)), key=lambda place: -layers[place].training_bytes)
    shown = sorted(largest if all_rows else largest[:_LAYERS])
    what = "module" if plan.rule == "autograd" else "layer"
    left = len(layers) - len(shown)
    notes = [f"the {len(shown):,} largest of {len(layers):,} {what}s; --all shows every one"] if left else []
    columns = (
        Column(what),
        Column("saved", True),
        Column("parameters", True, rank=1),
        Column("gradients", True, rank=1),
        Column("together", True),
        Column("share", True, rank=2),
    )
    whole = sum(layer.training_bytes for layer in layers)
    rows = tuple(_layer(layers[place], whole) for place in shown)
    return Grid(f"training by {what}: saved + parameters + gradients, in bytes", columns, rows, tuple(notes))


def _layer(layer: TrainingLayer, whole: int) -> GridRow:
    figures = (layer.saved_bytes, layer.parameter_bytes, layer.gradient_bytes, layer.training_bytes)
    marks = (layer.exact, True, True, layer.exact)
    cells = (lower_bound(exact(size), is_exact) for size, is_exact in zip(figures, marks, strict=True))
    share = layer.training_bytes * 1000 // whole if whole else 0
    return GridRow((printable(layer.name, 60) or "(root)", *cells, f"{share // 10}.{share % 10}%"))


def _batches(plan: TrainingPlan) -> Grid | None:
    if not plan.by_batch:
        return None
    columns = (Column("batch", True), Column("saved", True), Column("activations", True), Column("total", True))
    rows = tuple(
        GridRow(
            (
                exact(point.batch),
                *(
                    _UNKNOWN if size is None else lower_bound(f"{exact(size)} B", point.exact)
                    for size in (point.saved_bytes, point.peak_activation_bytes, point.total_bytes)
                ),
            )
        )
        for point in plan.by_batch
    )
    return Grid("training by batch", columns, rows)


def _devices(on: Sequence[OnDevice]) -> Grid | None:
    rows = []
    notes: dict[str, None] = {}
    for one in on:
        found = one.training
        if found is None:
            continue
        name = printable(one.device, 60)
        needed = _UNKNOWN if found.needed_bytes is None else lower_bound(f"{exact(found.needed_bytes)} B", found.exact)
        has = _UNKNOWN if found.available_bytes is None else f"{exact(found.available_bytes)} B"
        largest = (
            _UNKNOWN if found.largest_batch is None else exact(found.largest_batch) if found.largest_batch else "none"
        )
        size = "" if found.available_bytes is None else decimal_bytes(found.available_bytes)
        verdict = word(found.verdict)
        rows.append(GridRow((name, verdict, needed, printable(found.region or "", 30), has, size, largest), verdict))
        notes |= dict.fromkeys(f"{name}: {printable(note, 400)}" for note in found.notes)
    if not rows:
        return None
    columns = (
        Column("training on"),
        Column("verdict"),
        Column("needs", True),
        Column("in", rank=1),
        Column("which has", True, rank=1),
        Column("", True, rank=2),
        Column("largest batch", True),
    )
    rule = "what is frozen stays in the memory of weights where the device has one apart; the rest lies in one memory"
    return Grid("training on devices", columns, tuple(rows), (*notes, rule))
