"""The arrows and the matrix: what is drawn is the product that the calculator says it is."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.calculators import Conv, Linear, layer
from weighbridge.web.matrices import NOW, REST
from weighbridge.web.simulator import Answer, Figure, Plot, answered
from weighbridge.web.simulators.arrows import arrows

SIMULATOR = arrows()
STAGES = ("neuron", "vector", "batch", "convolution")
DRAWN = 9
SIZES = {"inputs": (3, 8), "outputs": (1, 6), "batch": (1, 12), "channels": (1, 3), "kernel": (1, 3), "height": (1, 4)}
SHAPES = st.fixed_dictionaries({name: st.integers(*ends) for name, ends in SIZES.items()})


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def readouts(**state: object) -> dict[str, Figure]:
    return {one.name: one.value for one in answer(**state).readouts}


def plot(said: Answer, name: str) -> Plot:
    return next(one for one in said.plots if one.name == name)


def cells(said: Answer, matrix: str) -> list[list[int]]:
    """The numbers of a matrix as they are drawn, row by row."""
    rows: dict[float, dict[float, int]] = {}
    for row in plot(said, "matrices").rows:
        if row["kind"] == "cell" and row["colour"] == matrix:
            rows.setdefault(float(row["y"] or 0), {})[float(row["x"] or 0)] = int(row["text"] or 0)
    return [[found[x] for x in sorted(found)] for _, found in sorted(rows.items())]


def test_a_layer_of_5_inputs_and_3_outputs_has_15_weights_at_every_batch(lecture: Mapping[str, Any]) -> None:
    stated = lecture["linear_5_to_3"]["value"]
    for batch in range(1, 65):
        found = readouts(inputs=5, outputs=3, batch=batch)
        assert found["weights"] == stated
        assert (found["macs"], found["gemm.n"], found["uses_per_weight"]) == (stated * batch, batch, batch)


def test_a_batch_moves_x_and_y_and_never_w() -> None:
    one, many = answer(batch=1), answer(batch=6)
    assert cells(one, "W") == cells(many, "W")
    assert plot(one, "arrows") == plot(many, "arrows")
    assert [len(cells(many, name)[0]) for name in "WXY"] == [5, 6, 6]


def test_a_neuron_of_four_inputs_takes_four_steps() -> None:
    for step in range(1, 5):
        said = answer(stage="neuron", inputs=4, step=step)
        assert readouts(stage="neuron", inputs=4, step=step)["macs"] == 4
        weights, inputs = cells(said, "W")[0], [row[0] for row in cells(said, "X")]
        total = sum(one * other for one, other in zip(weights[:step], inputs[:step], strict=True))
        assert cells(said, "Y") == [[total]]
        assert said.sentences == ("4 inputs: 4 weights and 4 MACs", f"after step {step} the sum is {total}")
        (steps,) = said.tables
        assert [row.cells[4] for row in steps.rows][step - 1] == str(total)
        assert [row.cells[0] for row in steps.rows if "now" in row.cells[0]] == [f"{step} (now)"]


@given(st.sampled_from(STAGES[1:]), SHAPES)
def test_what_is_drawn_is_a_matrix_product(stage: str, shape: dict[str, int]) -> None:
    said = answer(stage=stage, **shape)
    left, right, made = (cells(said, name) for name in "WXY")
    assert made == [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left
    ]


@given(st.sampled_from(STAGES), SHAPES)
def test_the_matrices_have_the_sizes_of_the_calculator(stage: str, shape: dict[str, int]) -> None:
    if stage == "convolution":
        spec: Linear | Conv = Conv(
            c_i=shape["channels"], c_o=shape["outputs"], k=shape["kernel"], h_o=shape["height"], n=shape["batch"]
        )
    else:
        outputs = 1 if stage == "neuron" else shape["outputs"]
        spec = Linear(c_i=shape["inputs"], c_o=outputs, n=shape["batch"] if stage == "batch" else 1)
    expected = layer(spec)
    (gemm,) = expected.gemm
    found = readouts(stage=stage, **shape)
    assert (found["gemm.m"], found["gemm.k"], found["gemm.n"]) == (gemm.m, gemm.k, gemm.n)
    assert (found["weights"], found["macs"]) == (gemm.m * gemm.k, gemm.m * gemm.k * gemm.n)
    assert found["weights"] == expected.weights
    assert (found["input_values"], found["output_values"]) == (expected.input_values, expected.output_values)
    said = answer(stage=stage, **shape)
    columns = min(gemm.n, DRAWN)
    sizes = [(len(cells(said, name)), len(cells(said, name)[0])) for name in "WXY"]
    assert sizes == [(gemm.m, gemm.k), (gemm.k, columns), (gemm.m, columns)]
    assert any("drawn are the first" in note for note in said.notes) is (gemm.n > DRAWN)


@given(st.sampled_from(STAGES), SHAPES)
def test_there_is_an_arrow_for_every_weight_with_its_value(stage: str, shape: dict[str, int]) -> None:
    said = answer(stage=stage, **shape)
    drawn = [row for row in plot(said, "arrows").rows if row["kind"] == "arrow"]
    assert len(drawn) == readouts(stage=stage, **shape)["weights"]
    assert [int(row["text"] or 0) for row in drawn] == [value for row in cells(said, "W") for value in row]


@pytest.mark.parametrize(("stage", "neuron"), list(product(STAGES[1:], range(1, 7))))
def test_the_arrows_of_a_neuron_are_its_row(stage: str, neuron: int) -> None:
    said = answer(stage=stage, outputs=6, neuron=neuron)
    lit = [row for row in plot(said, "arrows").rows if row["kind"] == "arrow" and row["part"] != REST]
    assert {str(row["what"]).split(":")[0].rsplit(" ", 1)[1] for row in lit} == {f"y{neuron}"}
    assert [int(row["text"] or 0) for row in lit] == cells(said, "W")[neuron - 1]
    now = [row for row in plot(said, "matrices").rows if row.get("part") == NOW]
    assert [row["colour"] for row in now] == ["Y"]
    assert str(now[0]["what"]).endswith(f"row {neuron}, column 1")


@given(SHAPES)
def test_a_column_of_a_convolution_is_a_patch_of_the_image(shape: dict[str, int]) -> None:
    said = answer(stage="convolution", **shape)
    kernel, height, size = shape["kernel"], shape["height"], shape["height"] + shape["kernel"] - 1
    image = [int(row["text"] or 0) for row in plot(said, "image").rows if row["kind"] == "cell"]
    assert len(image) == shape["channels"] * size * size
    right = cells(said, "X")
    for column in range(min(height * height, DRAWN)):
        top, left = divmod(column, height)
        patch = [
            image[channel * size * size + (top + y) * size + left + x]
            for channel, y, x in product(range(shape["channels"]), range(kernel), range(kernel))
        ]
        assert [row[column] for row in right] == patch


def test_the_patch_in_the_image_is_the_one_that_is_lit() -> None:
    said = answer(stage="convolution", channels=2, kernel=3)
    lit = [int(row["text"] or 0) for row in plot(said, "image").rows if row.get("part") not in (None, REST)]
    assert lit == [row[0] for row in cells(said, "X")]


def test_unrolling_repeats_a_pixel_once_for_each_patch() -> None:
    found = readouts(stage="convolution", channels=2, kernel=3, height=4, batch=2)
    assert found["input_values"] == 2 * 2 * 6 * 6
    assert found["im2col_values"] == 2 * 9 * 2 * 16


@pytest.mark.parametrize(
    ("state", "control", "words"),
    [
        ({"stage": "neuron", "inputs": 4, "step": 5}, "step", "there are 4 steps"),
        ({"stage": "batch", "outputs": 2, "neuron": 3}, "neuron", "there are 2 neurons"),
        ({"stage": "convolution", "outputs": 1, "neuron": 2}, "neuron", "there is 1 neuron"),
    ],
)
def test_what_does_not_go_together_is_told_at_its_control(state: dict[str, object], control: str, words: str) -> None:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert said is None
    assert words in found.faults[control]


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_stage_does_not_use_moves_nothing(stage: str) -> None:
    said = answer(stage=stage)
    for name in said.unused:
        control = next(one for one in SIMULATOR.controls if one.name == name)
        assert answer(stage=stage, **{name: control.maximum}) == said  # type: ignore[union-attr]
    used = {one.name for one in SIMULATOR.controls} - set(said.unused) - {"stage"}
    for name in used:
        other = answer(stage=stage, **{name: {"inputs": 4, "kernel": 3}.get(name, 2)})
        assert other != said, name


@pytest.mark.parametrize("preset", SIMULATOR.presets, ids=lambda preset: preset.title)
def test_a_preset_is_a_state(preset: object) -> None:
    assert answer(**preset.state)  # type: ignore[attr-defined]


def test_a_neuron_has_as_many_steps_as_inputs() -> None:
    assert answered(SIMULATOR, [("stage", "neuron"), ("inputs", "4")])[1].reaches == {"step": 4}
    assert answered(SIMULATOR, [("stage", "batch")])[1].reaches == {}
