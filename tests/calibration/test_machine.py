"""A machine as a device: no peak and no bandwidth is below anything that was measured, so that a floor stays one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weighbridge.calibration.machine import device_of_machine, name_of, near_bytes
from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Memory
from weighbridge.devices.read import device_of
from weighbridge.devices.write import written
from weighbridge.measure.conditions import Hardware
from weighbridge.measure.micro.record import Bandwidth, MachineTimes, Rate

KIB = 1024
MIB = 1024 * KIB
HARDWARE = Hardware(
    "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "x86_64", 2, 4, 8 * 1024 * MIB, "Linux 6.1", virtual=False
)
CURVE = {32 * KIB: 200, 64 * KIB: 190, 128 * KIB: 80, 1 * MIB: 75, 2 * MIB: 78, 4 * MIB: 40, 8 * MIB: 21, 64 * MIB: 20}
TIMES = MachineTimes(
    rates=(
        Rate("float64", 50e9, "512 x 512 x 512, NumPy 2"),
        Rate("float32", 100e9 + 0.5, "1024 x 1024 x 1024, PyTorch 2"),
        Rate("float16", 30e9, "256 x 256 x 256, ONNX Runtime 1"),
    ),
    bandwidths=tuple(Bandwidth(size, rate * 1e9, "copied, NumPy 2") for size, rate in CURVE.items()),
    hardware=HARDWARE,
    threads=2,
    libraries={"numpy": "2"},
    notes=("bfloat16 is left out: nothing multiplies in it",),
)
DEVICE = device_of_machine(TIMES, when="2026-12-01")


def level(memory: Memory) -> tuple[str, int, float]:
    assert memory.bandwidth_bytes_per_s is not None
    return memory.name, memory.bytes.value, memory.bandwidth_bytes_per_s.value / 1e9


def test_the_device_says_what_was_measured_with_what_and_when() -> None:
    peak = DEVICE.peak("float32")
    assert peak is not None
    assert peak.ops_per_s.value == 100_000_000_001  # rounded up
    assert peak.ops_per_s.measured
    assert peak.ops_per_s.source == "1024 x 1024 x 1024, PyTorch 2, fastest sample, 2 threads, 2026-12-01"
    assert DEVICE.name == "intel-xeon-e5-2680-v4-2-threads"
    assert DEVICE.title == "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz, 2 threads"
    assert (DEVICE.kind, DEVICE.class_, DEVICE.core) == (
        "server",
        "server CPU",
        "2 cores, 4 logical processors, x86_64",
    )
    assert TIMES.notes[0] in DEVICE.notes


def test_a_format_is_no_slower_than_a_wider_one_that_it_can_be_converted_to() -> None:
    peak = DEVICE.peak("float16")
    assert peak is not None
    assert peak.ops_per_s.value == 100_000_000_001
    assert "in float32, which is faster here" in peak.ops_per_s.source
    assert DEVICE.peak("bfloat16") is None


def test_levels_are_merged_where_bandwidths_are_alike_and_begin_with_the_level_below() -> None:
    assert [level(one) for one in DEVICE.memories] == [
        ("128 KiB level", 128 * KIB, 200),  # a set of 65 KiB may be as fast as one of 64
        ("4 MiB level", 4 * MIB, 80),
        ("8 MiB level", 8 * MIB, 40),
        ("memory", HARDWARE.memory_bytes, 21),
    ]
    for one in DEVICE.memories:
        assert one.holds == (WEIGHTS, ACTIVATIONS)
        assert one.bandwidth_bytes_per_s is not None
        assert one.bandwidth_bytes_per_s.measured


def test_no_working_set_was_measured_to_be_faster_than_its_level() -> None:
    for size, rate in CURVE.items():
        found = next(one for one in DEVICE.memories if size <= one.bytes.value)
        assert level(found)[2] >= rate


def test_what_an_operator_reached_raises_the_peak_and_the_levels_down_to_its_own() -> None:
    reached = [Rate("float32", 120e9, "a convolution"), Bandwidth(2 * MIB, 90e9, "a lookup")]
    device = device_of_machine(TIMES, reached=reached)
    peak = device.peak("float32")
    assert peak is not None
    assert peak.ops_per_s.value == 120_000_000_000
    assert peak.ops_per_s.source == "a convolution, fastest sample, 2 threads"
    assert [level(one)[2] for one in device.memories] == [200, 90, 40, 21]


def test_one_bandwidth_for_all_is_one_memory() -> None:
    flat = TIMES._replace(bandwidths=(Bandwidth(32 * KIB, 10e9, "copied"), Bandwidth(64 * KIB, 10e9, "copied")))
    assert [level(one) for one in device_of_machine(flat).memories] == [("memory", HARDWARE.memory_bytes, 10)]


def test_what_the_machine_does_not_say_is_not_made_up() -> None:
    unknown = TIMES._replace(hardware=HARDWARE._replace(processor=None, cores=None, processors=None, memory_bytes=None))
    device = device_of_machine(unknown)
    assert device.memories[-1].bytes.value == 64 * MIB
    assert not device.memories[-1].bytes.verified
    assert (device.title, device.core, device.kind) == ("a processor of x86_64, 2 threads", "x86_64", "other")
    assert device_of_machine(TIMES._replace(bandwidths=())).memories == ()


@pytest.mark.parametrize(
    ("processor", "name", "kind"),
    [
        ("AMD Ryzen 7 5800X 8-Core Processor", "amd-ryzen-7-5800x-8-core-processor-1-thread", "other"),
        ("Raspberry Pi 4 Model B Rev 1.4", "raspberry-pi-4-model-b-rev-1.4-1-thread", "board"),
        ("AMD EPYC 9654", "amd-epyc-9654-1-thread", "server"),
        ("處理器", "machine-1-thread", "other"),
    ],
)
def test_the_name_is_one_that_on_takes(processor: str, name: str, kind: str) -> None:
    times = TIMES._replace(hardware=HARDWARE._replace(processor=processor, virtual=True), threads=1)
    device = device_of_machine(times)
    assert name_of(times.hardware, 1) == device.name == name
    assert device.kind == kind
    assert device.class_.endswith("CPU of a virtual machine") or kind == "board"


@pytest.mark.parametrize("given", ["", "mine"])
def test_what_is_written_is_read_as_it_was(given: str) -> None:
    device = device_of_machine(TIMES, given, "2026-12-01")
    assert device_of(written(device), "machine.toml") == device
    assert replace(device, name=DEVICE.name) == DEVICE


def test_levels_that_read_alike_and_a_name_that_no_file_may_have_are_read_back() -> None:
    sets = {1_048_576: 200e9, 1_048_600: 100e9, 1_048_640: 50e9, 1_048_700: 20e9}
    bandwidths = tuple(Bandwidth(size, rate, "copied, NumPy 2") for size, rate in sets.items())
    hostile = HARDWARE._replace(processor="\x1b[31m a processor")
    device = device_of_machine(TIMES._replace(bandwidths=bandwidths, hardware=hostile))
    assert device_of(written(device), "here") == device
    names = [memory.name for memory in device.memories]
    assert names[0] == "1 MiB level"
    assert len(set(names)) == len(names) > 3
    assert names[1].endswith(" B level")


def test_what_disturbed_it_is_in_the_notes_and_a_memory_holds_what_was_measured() -> None:
    small = HARDWARE._replace(memory_bytes=MIB, cores=4, processors=4)
    device = device_of_machine(TIMES._replace(noise=("other programs ran",), hardware=small))
    assert "other programs ran" in device.notes
    assert device.memories[-1].bytes.value == 64 * MIB
    assert device.core == "4 cores, x86_64"


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([(128, 300), (256, 80), (512, 70), (1024, 41), (2048, 39), (4096, 20)], 1024 * KIB),
        ([(128, 300), (256, 80), (512, 39), (1024, 45), (2048, 39)], 1024 * KIB),
        ([(256, 80)], 256 * KIB),
        ([(64, 300), (128, 300)], None),
        ([], None),
    ],
)
def test_the_nearest_memory_ends_where_half_of_the_speed_does(
    rates: list[tuple[int, int]], expected: int | None
) -> None:
    bandwidths = [Bandwidth(size * KIB, rate * 1e9, "copied") for size, rate in rates]
    assert near_bytes(bandwidths) == expected
