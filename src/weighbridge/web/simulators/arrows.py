"""The arrows and the matrix: a neuron, a layer, a batch and a convolution, each a matrix product that grows from the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from weighbridge.calculators import Conv, Gemm, Layer, Linear
from weighbridge.calculators import layer as weighed
from weighbridge.errors import BadSpec
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.units import exact, significant
from weighbridge.web.controls import Choice, Control, Number, State
from weighbridge.web.figures import UNKNOWN, count
from weighbridge.web.matrices import FOLLOWED, NOW, REST, Matrix
from weighbridge.web.matrices import arrows as drawn_arrows
from weighbridge.web.matrices import matrices as drawn_matrices
from weighbridge.web.simulator import Answer, Plot, Preset, Readout, Simulator

__all__ = ["arrows"]

_NEURON, _VECTOR, _BATCH, _CONV = "neuron", "vector", "batch", "convolution"
_STAGES: Final = {
    _NEURON: "one neuron: a row times a column",
    _VECTOR: "a layer: a matrix times a vector",
    _BATCH: "a batch: a matrix times a matrix",
    _CONV: "a convolution: its patches as columns",
}
_USED: Final[Mapping[str, frozenset[str]]] = {
    _NEURON: frozenset(("inputs", "step")),
    _VECTOR: frozenset(("inputs", "outputs", "neuron")),
    _BATCH: frozenset(("inputs", "outputs", "neuron", "batch")),
    _CONV: frozenset(("outputs", "neuron", "batch", "channels", "kernel", "height")),
}
_MOST_COLUMNS: Final = 9
"""Of a matrix that is drawn."""

_Values = Sequence[Sequence[int]]


def arrows() -> Simulator:
    """The simulator; its presets are the stages in their order."""
    return Simulator(
        "arrows",
        "The arrows and the matrix",
        "Where do a layer's weights come from, and what does a batch do to them?",
        "Each arrow is a weight, and each row of W has those of one neuron. A batch adds columns to X and to Y, never a weight to W. "
        "A convolution is the same product: each place of its kernel is a column.",
        tuple(_controls()),
        _answer,
        (
            Preset("1. a neuron of four inputs", {"stage": _NEURON, "inputs": 4, "step": 4}),
            Preset("2. a layer of 5 inputs and 3 outputs", {"stage": _VECTOR, "inputs": 5, "outputs": 3}),
            Preset("3. the same for a batch of 8", {"stage": _BATCH, "inputs": 5, "outputs": 3, "batch": 8}),
            Preset("4. a convolution of 2 x 2", {"stage": _CONV, "kernel": 2, "height": 3, "outputs": 3, "batch": 1}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield Choice("stage", "what is multiplied", _BATCH, _STAGES, "Each grows from the one before.")
    yield Number("inputs", "inputs", 5, 3, 8, meaning="Values that go into each neuron: the columns of W.")
    yield Number("outputs", "outputs", 3, 1, 6, meaning="Neurons, or filters of a convolution: the rows of W.")
    yield Number("batch", "batch", 4, 1, 64, 9, meaning="Vectors or images at once: columns of X and Y.")
    yield Number("neuron", "neuron to follow", 1, 1, 6, meaning="Its arrows are its row of W.")
    meaning = "A multiplication and an addition each: one MAC."
    yield Number("step", "step", 1, 1, 8, meaning=meaning, plays=True)
    yield Number("channels", "channels (c_i)", 1, 1, 3, meaning="Channels of the image.")
    yield Number("kernel", "kernel (k)", 2, 1, 3, meaning="Height and width of the kernel.")
    yield Number("height", "output height (h_o)", 3, 1, 4, meaning="Height and width of what comes out.")


def _answer(state: State) -> Answer:
    stage = str(state["stage"])
    _check(state, stage)
    spec = _spec(state, stage)
    found = weighed(spec)
    gemm = found.gemm[0]
    columns = min(gemm.n, _MOST_COLUMNS)
    left = [[(5 * row + 3 * place) % 7 - 3 or 4 for place in range(gemm.k)] for row in range(gemm.m)]
    right = [[_entry(spec, place, column) for column in range(columns)] for place in range(gemm.k)]
    steps = list(accumulate(one * other[0] for one, other in zip(left[0], right, strict=True)))
    step = int(state["step"])
    plots = [_arrows(state, stage, gemm, left), _product(state, stage, gemm, left, right)]
    if isinstance(spec, Conv):
        plots.append(_image(spec, found))
    return Answer(
        tuple(_readouts(found, gemm, stage)),
        (
            _sentence(stage, found, gemm),
            *((f"after step {step} the sum is {steps[step - 1]}",) if stage == _NEURON else ()),
        ),
        tuple(plots),
        (_steps(left[0], [row[0] for row in right], steps, step),) if stage == _NEURON else (),
        reaches={"step": gemm.k} if stage == _NEURON else {},
        unused=tuple(one.name for one in _controls() if one.name not in _USED[stage] and one.name != "stage"),
        notes=_notes(gemm, columns),
    )


def _check(state: State, stage: str) -> None:
    inputs, outputs = int(state["inputs"]), int(state["outputs"])
    if stage == _NEURON and int(state["step"]) > inputs:
        raise BadSpec(f"there are {inputs} steps, one for each input", where="step")
    if "neuron" in _USED[stage] and int(state["neuron"]) > outputs:
        there = "there is 1 neuron" if outputs == 1 else f"there are {outputs} neurons"
        raise BadSpec(there, where="neuron", hint="follow one of them, or add outputs")


def _spec(state: State, stage: str) -> Linear | Conv:
    given = {name: int(value) for name, value in state.items() if name in _USED[stage]}
    batch = given.get("batch", 1)
    if stage == _CONV:
        return Conv(c_i=given["channels"], c_o=given["outputs"], k=given["kernel"], h_o=given["height"], n=batch)
    return Linear(c_i=given["inputs"], c_o=given.get("outputs", 1), n=batch)


def _entry(spec: Linear | Conv, place: int, column: int) -> int:
    """What X has there: of a vector its value, of a convolution the pixel under that tap of the kernel at that place."""
    if isinstance(spec, Linear):
        return _pixel(0, 0, place, column)
    kernel, height = _whole(spec.k), _whole(spec.h_o)
    channel, tap = divmod(place, kernel * kernel)
    image, at = divmod(column, height * height)
    return _pixel(image, channel, at // height + tap // kernel, at % height + tap % kernel)


def _pixel(image: int, channel: int, y: int, x: int) -> int:
    """Some small number, the same for a pixel wherever it is read."""
    return (2 * y + 3 * x + channel + image) % 5 + 1


def _whole(size: object) -> int:
    assert isinstance(size, int)
    return size


def _readouts(found: Layer, gemm: Gemm, stage: str) -> Iterator[Readout]:
    group = "Stored"
    yield count("weights", "weights", found.weights, group, "the values of W, one an arrow")
    group = "Computed"
    yield count("macs", "MACs", found.macs, group, "m x k x n")
    uses = found.uses_per_weight
    shown = UNKNOWN if uses is None else significant(uses) if isinstance(uses, float) else exact(uses)
    yield Readout("uses_per_weight", "uses of each weight", uses, shown, "MACs over weights", group)
    group = "The product"
    size = f"{exact(gemm.m)} x {exact(gemm.k)} by {exact(gemm.k)} x {exact(gemm.n)}"
    yield Readout("gemm", "W by X", size, size, "m x k by k x n", group)
    yield count("gemm.m", "m", gemm.m, group, "rows of W: outputs")
    yield count("gemm.k", "k", gemm.k, group, "columns of W: c_i x k x k" if stage == _CONV else "columns of W: inputs")
    columns = "columns of X: batch x h_o x w_o" if stage == _CONV else "columns of X: batch"
    yield count("gemm.n", "n", gemm.n, group, columns)
    group = "Activations"
    yield count("input_values", "values that go in", found.input_values, group)
    if stage == _CONV:
        yield count(
            "im2col_values", "the same unrolled", gemm.im2col_values, group, "a pixel once for each patch that has it"
        )
    yield count("output_values", "values that come out", found.output_values, group, "the values of Y")


def _sentence(stage: str, found: Layer, gemm: Gemm) -> str:
    weights = f"{exact(found.weights)} weights"
    if stage == _NEURON:
        return f"{gemm.k} inputs: {gemm.k} weights and {found.macs} MACs"
    if stage == _VECTOR:
        return f"{gemm.m} x {gemm.k} arrows are a matrix of {weights}, each used once"
    uses = f"each used {_times(gemm.n)}"
    if stage == _BATCH:
        return f"a batch of {exact(gemm.n)}: W keeps its {weights}, {uses}"
    return f"the kernel has {exact(gemm.n)} places in all images, a column each: {weights}, {uses}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{exact(number)} times"


def _part(state: State, stage: str, row: int, place: int) -> str:
    """How much a weight stands out: the steps that are done and the one of now, or the row of the neuron that is followed."""
    if stage != _NEURON:
        return FOLLOWED if row == int(state["neuron"]) - 1 else REST
    step = int(state["step"]) - 1
    return NOW if place == step else FOLLOWED if place < step else REST


def _arrows(state: State, stage: str, gemm: Gemm, left: _Values) -> Plot:
    what = "values of a patch to filters" if stage == _CONV else "inputs to neurons"
    lit = f"that of step {state['step']}" if stage == _NEURON else f"those into y{state['neuron']}"
    each = "" if gemm.m == 1 else f", {gemm.k} into each of {gemm.m}"
    said = f"{exact(gemm.m * gemm.k)} arrows, one a weight{each}; strongest {lit}"
    return drawn_arrows(gemm.k, gemm.m, lambda row, place: _part(state, stage, row, place), left, f"From {what}", said)


def _product(state: State, stage: str, gemm: Gemm, left: _Values, right: _Values) -> Plot:
    columns = len(right[0])
    cut = "" if columns == gemm.n else f", the first {columns}"
    until = int(state["step"]) if stage == _NEURON else gemm.k
    made = [[sum(row[place] * right[place][at] for place in range(until)) for at in range(columns)] for row in left]
    followed = 0 if stage == _NEURON else int(state["neuron"]) - 1
    shown = [
        Matrix("W", f"W: {gemm.m} x {gemm.k}", left, lambda row, place: _part(state, stage, row, place)),
        Matrix(
            "X",
            f"X: {gemm.k} x {gemm.n}{cut}",
            right,
            lambda place, at: REST if at else _part(state, stage, followed, place),
            "·",
        ),
        Matrix(
            "Y", f"Y: {gemm.m} x {gemm.n}{cut}", made, lambda row, at: NOW if (row, at) == (followed, 0) else REST, "="
        ),
    ]
    said = f"each of the {gemm.m} x {exact(gemm.n)} values of Y is a row of W by a column of X: {gemm.k} MACs"
    return drawn_matrices("matrices", "W by X is Y", shown, said)


def _image(spec: Conv, found: Layer) -> Plot:
    """The first image, a matrix a channel, with the patch that is the first column."""
    height, width = found.input_shapes[0][2:]
    kernel = _whole(spec.k)
    shown = [
        Matrix(
            "X",
            f"channel {channel + 1}",
            [[_pixel(0, channel, y, x) for x in range(width)] for y in range(height)],
            lambda y, x: FOLLOWED if max(y, x) < kernel else REST,
            " " if channel else "",
        )
        for channel in range(spec.c_i)
    ]
    said = f"the patch of {kernel} x {kernel} in each channel is the first column of X; the next is one to the right"
    return drawn_matrices("image", "The image that goes in", shown, said)


def _steps(weights: Sequence[int], inputs: Sequence[int], sums: Sequence[int], step: int) -> Grid:
    rows = tuple(
        GridRow(
            (f"{place}{' (now)' if place == step else ''}", str(weight), str(value), str(weight * value), str(total))
        )
        for place, (weight, value, total) in enumerate(zip(weights, inputs, sums, strict=True), 1)
    )
    columns = ("step", "weight", "input", "product", "sum so far")
    return Grid("the neuron, step by step", tuple(Column(title, title != "step") for title in columns), rows)


def _notes(gemm: Gemm, columns: int) -> tuple[str, ...]:
    numbers = "the numbers in the cells are an example; what is counted does not depend on them"
    return (numbers,) if columns == gemm.n else (numbers, f"drawn are the first {columns} of {exact(gemm.n)} columns")
