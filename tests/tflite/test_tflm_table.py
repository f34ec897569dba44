"""The arena of TensorFlow Lite Micro against figures that others measured: no interpreter is needed."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

from tests.tflite.tflm_planned import taken, variable_bytes
from weighbridge.frontends.tflite_read import read_model
from weighbridge.frontends.tflm_requests import arena_of
from weighbridge.memory.arena import planned

FILES = {
    "person_detect": "tflm/person_detect.tflite",
    "kws": "mlperf_tiny/kws_ref_model.tflite",
    "resnet8": "mlperf_tiny/pretrainedResnet_quant.tflite",
    "ad01": "mlperf_tiny/model_ToyCar_quant_fullint_micro_intio.tflite",
}
PLANNED = {"person_detect": 55_296, "kws": 16_000, "resnet8": 49_152, "ad01": 768}


def test_plan_variables_and_what_is_kept_are_those_measured(shared: Path) -> None:
    with (shared / "facts" / "tflm.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 26
    for row in rows:
        path = shared / "data" / row["file"]
        ours = taken(path)
        measured = (int(row["arena_nonpersistent_bytes"]), int(row["arena_persistent_bytes_x86_64"]))
        assert (ours.head, ours.tail) == measured, row["file"]
        assert variable_bytes(read_model(path)) == int(row["variable_bytes"]), row["file"]


def test_totals_of_boards(shared: Path) -> None:
    """An ESP32's are met, an nRF52840's by the estimate that its basis states."""
    published = tomllib.loads((shared / "facts" / "published.toml").read_text())["tflm_persistent"]
    errors = []
    for name, file in FILES.items():
        arena = arena_of(read_model(shared / "data" / "tflite" / file), {}, {})
        kept = {
            (one.library, one.pointer_bytes): one.structure_bytes + (one.kernel_bytes or 0) for one in arena.persistent
        }
        head = planned(arena, "runtime").bytes
        assert head == PLANNED[name]
        assert head + kept["reference", 8] == published["x86_64_reference"][name]
        assert head + kept["ESP-NN", 4] == published["esp32_esp_nn"][name]
        errors.append(kept["CMSIS-NN", 4] / (published["nrf52840"][name] - head) - 1)
    assert (round(min(errors), 2), round(max(errors), 2)) == (-0.16, 0.06)
