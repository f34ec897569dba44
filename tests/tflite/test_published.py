"""Figures that others measured of TensorFlow Lite files: MACs, and what they store."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tests.tflite.files import tflite_files
from weighbridge import weigh
from weighbridge.frontends.tflite_read import read_model


def rows(shared: Path) -> Iterator[dict[str, str]]:
    with (shared / "facts" / "tflm.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_macs_are_those_that_tensorflow_lite_micro_runs(shared: Path) -> None:
    """Those of LSTM gates and SVDF filters too."""
    measured = {row["file"]: int(row["macs"]) for row in rows(shared) if row["macs"]}
    assert {name: weigh(shared / "data" / name).facts.macs for name in measured} == measured
    assert len(measured) == 25


def doubled(path: Path) -> int:
    """Bytes of tensors whose buffer another tensor has, too."""
    sizes = [(one.buffer, one.data[1]) for graph in read_model(path).subgraphs for one in graph.tensors if one.data]
    return sum(size for _, size in sizes) - sum(dict(sizes).values())


def test_everything_that_is_stored_is_weighed(shared: Path) -> None:
    """The figures are of tensors; of those that share one buffer ours counts it once."""
    measured = {row["file"]: int(row["constant_bytes"]) for row in rows(shared) if row["constant_bytes"]}
    facts = {name: weigh(shared / "data" / name).facts for name in measured}
    once = {name: (one.parameter_bytes or 0) + (one.constant_bytes or 0) for name, one in facts.items()}
    twice = {name: doubled(shared / "data" / name) for name in measured}
    assert {name: once[name] + twice[name] for name in measured} == measured
    assert {name.rpartition("/")[2] for name, count in twice.items() if count} == {"str_ww_ref_model.tflite"}


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
