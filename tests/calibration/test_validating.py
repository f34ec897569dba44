"""Predicted against measured: each network without a part of its own, one constant beside, and a floor that is broken told loudly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from tests.calibration.machine import machine, measured, networks
from weighbridge import BadSpec, calibrated, validated
from weighbridge.calibration.left_out import Errors
from weighbridge.devices.device import Device
from weighbridge.measure.conditions import Hardware
from weighbridge.report.measured_records import append
from weighbridge.report.predicted import BY_FLOOR, BY_MACS, EXPECTED, LEFT_OUT, Distribution, held
from weighbridge.report.predicted_grids import predicted_sentences
from weighbridge.report.terminal import Look
from weighbridge.report.validated_page import sentences, text

__all__ = ["machine"]

LOOK = Look(100)


@pytest.fixture
def device(machine: object) -> Device:
    """One that was calibrated with five networks, whose records are in times.jsonl."""
    return calibrated(*networks(), threads=1, record="times.jsonl", name="mine").device


def test_each_network_has_what_is_expected_with_it_and_without_it(device: Device) -> None:
    found = validated("times.jsonl", on=device)
    assert (found.device, len(found.networks)) == ("mine", 5)
    for one in found.networks:
        assert one.expected_s is not None
        assert one.left_out_s is not None
        assert one.least_s is not None
        assert one.most_s is not None
        assert one.least_s < one.expected_s < one.most_s
        assert one.left_out_s == pytest.approx(one.measured_s, rel=0.1)
    assert [one.method for one in found.errors] == [LEFT_OUT, EXPECTED, BY_FLOOR, BY_MACS]
    by = {one.method: one.errors.median for one in found.errors}
    assert by[LEFT_OUT] < by[BY_FLOOR]
    assert by[LEFT_OUT] < by[BY_MACS]


def test_what_is_left_out_has_no_part_in_what_is_expected(device: Device) -> None:
    before = validated("times.jsonl", on=device).networks
    append("more.jsonl", [measured(f"net{place}.onnx", 1.0 if place else 5.0) for place in range(5)])
    append("once.jsonl", [measured(f"net{place}.onnx", 1.0) for place in range(5)])
    slow, once = validated("more.jsonl", on=device).networks, validated("once.jsonl", on=device).networks
    assert slow[0].left_out_s == once[0].left_out_s
    assert slow[0].measured_s == pytest.approx(5 * once[0].measured_s)
    assert slow[0].expected_s == before[0].expected_s


def test_a_floor_above_what_was_measured_is_told_loudly(device: Device) -> None:
    append("fast.jsonl", [measured(f"net{place}.onnx", 0.01 if place == 2 else 1.0) for place in range(5)])
    found = validated("fast.jsonl", on=device)
    assert [one.is_floor_broken for one in found.networks] == [False, False, True, False, False]
    first = next(iter(sentences(found)))
    assert first.startswith("net2 in onnxruntime: the floor, ")
    assert "which nothing can beat" in first


def test_the_page_says_what_a_constant_comes_to_and_what_the_interval_holds(device: Device) -> None:
    said = text(validated("times.jsonl", on=device), LOOK)
    assert "one constant for all is off by" in said
    assert "the device's interval holds 5 of 5 measurements" in said
    assert "networks: floor, measured, expected" in said


def test_few_networks_are_not_left_out_and_that_is_said(device: Device) -> None:
    append("few.jsonl", [measured(f"net{place}.onnx") for place in range(3)])
    found = validated("few.jsonl", on=device)
    assert all(one.left_out_s is None for one in found.networks)
    assert all(one.expected_s is not None for one in found.networks)
    assert any("3 networks are too few to leave one out" in note for note in found.notes)
    append("one.jsonl", [measured("net0.onnx")])
    alone = validated("one.jsonl", on=device)
    assert any("1 network is too few to leave one out" in note for note in alone.notes)
    assert "1 measurement; " in text(alone, LOOK)


def test_a_floor_within_the_noise_is_not_broken_and_a_time_beyond_either_end_is_not_held(device: Device) -> None:
    one = validated("times.jsonl", on=device).networks[0]._replace(measured_s=2.0, low_s=1.9, high_s=2.2)
    broken = {floor: one._replace(floor_s=floor).is_floor_broken for floor in (1.9, 2.1, 2.3, None)}
    assert broken == {1.9: False, 2.1: False, 2.3: True, None: False}
    assert one._replace(floor_s=2.1, high_s=None).is_floor_broken
    ends = ((1.5, 2.5), (2.1, 2.5), (1.5, 1.9), (None, None))
    assert held([one._replace(least_s=least, most_s=most) for least, most in ends]) == (1, 3)


def test_all_together_is_said_of_several_runtimes_alone_and_constants_of_other_cases_say_of_how_many() -> None:
    every = Errors(networks=5, median=0.1, p90=0.2, p99=0.3, bias=0.0, mean=0.1, worst="net0", worst_error=0.3)
    methods = [LEFT_OUT, BY_FLOOR, BY_MACS]
    one = [Distribution(method, runtime, every) for runtime in ("onnxruntime", "") for method in methods]
    few = [Distribution(BY_FLOOR, "pytorch", every._replace(networks=1))]
    (sentence,) = predicted_sentences([*few, *one])
    assert sentence.startswith("onnxruntime: a network left out is expected within 10.0% in the median")
    more = [Distribution(LEFT_OUT, "pytorch", every), Distribution(BY_MACS, "pytorch", every._replace(networks=4))]
    said = list(predicted_sentences([*one, *more]))
    assert [each.partition(":")[0] for each in said] == ["onnxruntime", "all together", "pytorch"]
    assert said[0].endswith("one constant for all is off by 10.0% on the floor and 10.0% on MACs")
    assert said[2].endswith("one constant for all is off by 10.0% on MACs (4 cases)")


def test_another_version_of_the_runtime_is_told(device: Device) -> None:
    append("new.jsonl", [measured(f"net{place}.onnx", version="1.21.0") for place in range(5)])
    notes = validated("new.jsonl", on=device).notes
    assert any("calibrated at version 1.20.0, and measured at 1.21.0" in note for note in notes)


def test_records_of_another_machine_are_refused_with_the_reason(device: Device) -> None:
    other = Hardware("another processor", "x86_64", 2, 4, 2**33, "Linux 6")
    append("other.jsonl", [measured("net0.onnx", hardware=other)])
    with pytest.raises(BadSpec, match="no measurement says anything of mine: it was measured on another machine"):
        validated("other.jsonl", on=device)
    Path("broken.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(BadSpec, match="there is no record that can be read"):
        validated("broken.jsonl", on=device)


def test_a_device_without_rates_and_a_group_are_refused(device: Device) -> None:
    with pytest.raises(BadSpec, match="no rates of a runtime"):
        validated("times.jsonl", on=replace(device, timed=()))
    with pytest.raises(BadSpec, match="of one device"):
        validated("times.jsonl", on="server")
