"""What is said of a machine that runtimes were timed on: every number with its unit, and which were measured."""

from __future__ import annotations

from dataclasses import replace

from tests.estimates.machines import FUSED, WRITTEN, amount, machine
from weighbridge.devices.timed import ClassRates
from weighbridge.report.device_facts import device_facts
from weighbridge.report.device_grid import device_grid


def test_every_number_of_a_machine_is_shown_and_says_where_it_was_measured() -> None:
    device = machine(FUSED, replace(WRITTEN, least_macs=amount(1000), most_macs=amount(2000)))
    found = list(device_facts(device))
    assert sum(len(each.facts) for each in found) == len(device.figures)
    remarks = {fact.remark for each in found for fact in each.facts if each.title in ("peak rates", "memory")}
    assert remarks == {"measured"}
    titles = [each.title for each in found]
    assert titles[2:] == ["timed with onnxruntime 1.32.0, float32", "timed with pytorch 2.14.1, float32"]
    assert found[2].meaning == "CPUExecutionProvider, 2 threads, a bench"


def test_each_term_of_a_class_has_its_unit() -> None:
    rates = [amount(value) for value in (1e9, 2e9, 3e9, 4e9, 5e9, 4e-6, 6e-6, 0.5)]
    memory = {"near_bytes": amount(2**21), "far_bytes_per_s": amount(7e9), "far_efficiency": amount(0.25)}
    *_, timed = device_facts(machine(replace(FUSED, classes=(ClassRates("softmax", *rates),), **memory)))
    assert [fact.text for fact in timed.facts] == [
        "a run, beside its operators: 1.000 ms = 0.001 s",
        "nearest memory: 2.000 MiB",
        "bytes beyond it, more: 7,000,000,000 B/s",
        "bytes beyond it, in networks: x 0.25; of that speed",
        "softmax: 1,000,000,000 multiply-accumulates/s",
        "softmax: 2,000,000,000 B/s",
        "softmax: 3,000,000,000 operations/s beside them",
        "softmax: 4,000,000,000 comparisons/s",
        "softmax: 5,000,000,000 special functions/s",
        "softmax, each node: 4.000 µs = 4e-06 s",
        "softmax, each kernel: 6.000 µs = 6e-06 s",
        "softmax, in networks: x 0.5; of that speed",
        "expected time, at least: x 0.5; of 12 networks",
        "expected time, at most: x 2; of 12 networks",
    ]


def test_a_number_that_is_measured_and_doubted_says_both() -> None:
    device = machine(FUSED)
    doubted = replace(device.peaks[0].ops_per_s, verified=False, note="a busy machine")
    peaks, *_ = device_facts(replace(device, peaks=(replace(device.peaks[0], ops_per_s=doubted),)))
    assert [fact.remark for fact in peaks.facts] == ["not verified, measured: a busy machine"]


def test_a_list_of_devices_names_the_runtimes_that_were_timed() -> None:
    grid = device_grid("all", [machine(FUSED), machine()])
    assert [row.cells[-1] for row in grid.rows] == ["onnxruntime 1.32.0, float32", "?"]
