"""Figures that others measured of TensorFlow Lite files: MACs, and what they store."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tests.tflite.files import tflite_files
from weighbridge import weigh


def rows(shared: Path) -> Iterator[dict[str, str]]:
    with (shared / "facts" / "tflm.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_macs_are_those_that_tensorflow_lite_micro_runs(shared: Path) -> None:
    """Those of LSTM gates and SVDF filters too."""
    measured = {row["file"]: int(row["macs"]) for row in rows(shared) if row["macs"]}
    assert {name: weigh(shared / "data" / name).facts.macs for name in measured} == measured
    assert len(measured) == 25


def test_everything_that_is_stored_is_weighed(shared: Path) -> None:
    measured = {row["file"]: int(row["constant_bytes"]) for row in rows(shared) if row["constant_bytes"]}
    facts = {name: weigh(shared / "data" / name).facts for name in measured}
    assert {name: (one.parameter_bytes or 0) + (one.constant_bytes or 0) for name, one in facts.items()} == measured


def test_equal_bytes_with_other_scales_are_other_values(shared: Path) -> None:
    """Three biases of zeros, which the converter keeps once."""
    report = weigh(shared / "data" / "tflite" / "mlperf_tiny" / "str_ww_ref_model.tflite")
    (note,) = [note for note in report.notes if "B less" in note]
    assert note.startswith("the file keeps 1,024 B less: model/depthwise_conv2d_3/depthwise2, model/depthwise_conv2d_3")


def test_every_layer_of_the_shared_files_has_a_rule(shared: Path) -> None:
    """Whatever else is not counted in a file, no builtin layer lacks a rule, and no custom operator a reason."""
    lacking = set()
    for name, path in tflite_files(shared).items():
        if name == "litert/0_subgraphs.bin":
            continue  # it holds no graph
        for node in weigh(path).facts.uncounted:
            if node.reason.startswith("there is no rule"):
                lacking.add(node.operator)
    assert lacking == set()
