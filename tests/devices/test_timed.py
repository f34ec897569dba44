"""Times of runtimes in a device's file: read with all faults at once, written and read back as the same device."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import Device, Figure, Memory, Peak
from weighbridge.devices.measured import Amount
from weighbridge.devices.read import device_of, read_device
from weighbridge.devices.timed import TIME_CLASSES, ClassRates, Timed, names_of
from weighbridge.devices.write import written
from weighbridge.errors import BadSpec, MissingExtra

MACHINE = """
name = "machine"
title = "My machine"
class = "laptop"
core = "two cores"

[[peaks]]
unit = "cores"
precision = "float32"
ops_per_s = { value = 100_000_000_000, source = "GEMM", measured = true }

[[timed]]
runtime = "onnxruntime"
version = "1.32.0"
mode = "CPUExecutionProvider"
precision = "float32"
threads = 2
fuses = true
conditions = "a bench"
networks = 3
call_s = { value = 1e-5, source = "a chain" }
least = { value = 0.8, source = "left out" }
most = { value = 1.5, source = "left out" }
least_macs = { value = 1000, source = "the smallest" }
most_macs = { value = 2000, source = "the largest" }

[[timed.classes]]
operators = "linear"
macs_per_s = { value = 2e9, source = "single operators" }
efficiency = { value = 0.7, source = "three networks" }

[[timed.classes]]
operators = "copy"
overhead_s = { value = 2e-6, source = "single operators" }
"""


def faults(text: str) -> list[str]:
    """Each fault with its place."""
    with pytest.raises(BadSpec) as caught:
        device_of(text.encode(), "machine.toml")
    return list(caught.value.details)


def test_a_machine_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text(MACHINE)
    device = read_device(tmp_path / "machine.toml")
    (one,) = device.timed
    assert device.peaks[0].ops_per_s.measured
    assert (one.runtime, one.version, one.mode, one.precision) == (
        "onnxruntime",
        "1.32.0",
        "CPUExecutionProvider",
        "float32",
    )
    assert (one.threads, one.fuses, one.conditions, one.networks) == (2, True, "a bench", 3)
    linear, copy = one.rates("linear"), one.rates("copy")
    assert linear is not None
    assert linear.macs_per_s == Amount(2e9, "single operators")
    assert linear.bytes_per_s is None
    assert linear.efficiency == Amount(0.7, "three networks")
    assert copy is not None
    assert copy.overhead_s == Amount(2e-6, "single operators")
    assert one.rates("softmax") is None
    assert [figure.value for figure in device.figures] == [10**11, 2e9, 0.7, 2e-6, 1e-5, 0.8, 1.5, 1000, 2000]


AGAIN = MACHINE[MACHINE.index("[[timed]]") :]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("threads = 2\n", "", ["$.timed[0].threads: is missing"]),
        ("threads = 2", "threads = 1.5", ["$.timed[0].threads: must be a whole number, not 1.5"]),
        ("threads = 2", "threads = 1e12", ["$.timed[0].threads: must be at most 1,000,000, not 1000000000000.0"]),
        ("threads = 2", "threads = true", ["$.timed[0].threads: must be a number, not true"]),
        ("fuses = true", 'fuses = "yes"', ["$.timed[0].fuses: must be true or false, not 'yes'"]),
        ('runtime = "onnxruntime"', 'runtime = " "', ["$.timed[0].runtime: must be text, not ' '"]),
        (
            'operators = "copy"',
            'operators = "convolution"',
            [f"$.timed[0].classes[1].operators: must be one of {', '.join(TIME_CLASSES)}, not 'convolution'"],
        ),
        (
            'operators = "copy"',
            'operators = "linear"',
            ["$.timed[0].classes[1]: is of 'linear', as $.timed[0].classes[0] does already"],
        ),
        (
            "overhead_s = { value = 2e-6",
            "efficiency = { value = 2e-6",
            ["$.timed[0].classes[1]: must have a rate or an overhead"],
        ),
        ("value = 0.8", "value = 1.6", ["$.timed[0].most: 1.5 is below least, 1.6"]),
        ("value = 2000", "value = 20", ["$.timed[0].most_macs: 20 is below least_macs, 1000"]),
        ("least = {", "mean = {", None),
        ("networks = 3\n", "", ["$.timed[0].least: is a ratio of networks, and networks does not say of how many"]),
        ("networks = 3", "networks = 0", ["$.timed[0].networks: must be above 0 and at most 1e24, not 0"]),
        ("measured = true", 'measured = "yes"', ["$.peaks[0].ops_per_s.measured: must be true or false, not 'yes'"]),
        (
            "\n[[timed]]",
            "\ntimed = 3\n[[timing]]",
            None,
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, expected: list[str] | None) -> None:
    assert MACHINE.count(old) == 1
    found = faults(MACHINE.replace(old, new))
    assert found == expected if expected else found


def test_one_end_of_a_range_alone_is_no_range() -> None:
    text = re.sub(r"^(most|least_macs) = .*\n", "", MACHINE, flags=re.MULTILINE)
    assert faults(text) == [
        "$.timed[0].least: says nothing alone, and most is missing",
        "$.timed[0].most_macs: says nothing alone, and least_macs is missing",
    ]


def test_a_runtime_without_classes_says_nothing() -> None:
    head = MACHINE[: MACHINE.index("[[timed.classes]]")]
    assert faults(head) == ["$.timed[0].classes: is missing"]
    assert faults(head + "classes = []\n") == ["$.timed[0].classes: must have an entry at least"]


def test_a_runtime_stands_there_once_for_each_precision_threads_and_mode() -> None:
    assert faults(MACHINE + AGAIN) == [
        "$.timed[1]: is of 'onnxruntime' at 'float32', 2 threads, 'CPUExecutionProvider', as $.timed[0] does already"
    ]
    for old, new in (
        ("threads = 2", "threads = 1"),
        ('precision = "float32"', 'precision = "int8"'),
        ('mode = "CPU', 'mode = "CUDA'),
        ('runtime = "onnx', 'runtime = "other'),
    ):
        assert len(device_of((MACHINE + AGAIN.replace(old, new)).encode(), "machine.toml").timed) == 2


def test_a_runtime_is_called_by_what_tells_it_from_the_others() -> None:
    (one,) = device_of(MACHINE.encode(), "machine.toml").timed
    assert names_of([one]) == ("onnxruntime 1.32.0",)
    assert names_of([one, replace(one, precision="int8")]) == ("onnxruntime 1.32.0",) * 2
    assert names_of([one, replace(one, threads=1)]) == (
        "onnxruntime 1.32.0, 2 threads",
        "onnxruntime 1.32.0, 1 thread",
    )
    eager, other = replace(one, mode="eager"), replace(one, runtime="other")
    assert names_of([one, eager, other]) == (
        "onnxruntime 1.32.0 CPUExecutionProvider",
        "onnxruntime 1.32.0 eager",
        "other 1.32.0",
    )


@pytest.mark.parametrize("name", names())
def test_a_device_of_the_catalogue_is_written_and_read_as_the_same(name: str) -> None:
    assert device_of(written(find(name)), name) == find(name)


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda text: text.strip() and text.isprintable()
)
amounts = st.builds(Amount, st.floats(1e-9, 1e24), words, st.booleans(), st.just("") | words)
figures = st.builds(Figure, st.integers(1, 10**18), words, st.booleans(), st.just("") | words, st.booleans())
maybe = st.none() | amounts
rates = st.builds(ClassRates, st.sampled_from(TIME_CLASSES), amounts, maybe, maybe, maybe, maybe)


def range_of(low: Amount, high: Amount) -> tuple[Amount, Amount]:
    return (low, high) if low.value <= high.value else (high, low)


ranges = st.builds(range_of, amounts, amounts)


@st.composite
def timed(draw: st.DrawFn) -> Timed:
    least, most = draw(ranges | st.just((None, None)))
    least_macs, most_macs = draw(ranges | st.just((None, None)))
    classes = draw(st.lists(rates, min_size=1, unique_by=lambda one: one.operators))
    networks = draw(st.integers(0 if least is None else 1, 10**6))
    head = (
        draw(words),
        draw(words),
        draw(words),
        "float32",
        draw(st.integers(1, 10**6)),
        draw(st.booleans()),
        draw(words),
    )
    return Timed(*head, tuple(classes), draw(maybe), least, most, networks, least_macs, most_macs)


@settings(max_examples=100, deadline=None)
@given(
    figure=figures,
    entries=st.lists(timed(), max_size=3, unique_by=lambda one: (one.runtime, one.threads, one.mode)),
)
def test_a_machine_is_written_and_read_as_the_same(figure: Figure, entries: list[Timed]) -> None:
    peaks, memory = (Peak("cores", "float32", figure),), Memory("RAM", ("weights",), figure, figure)
    device = Device("machine", "My machine", "a class", "a core", peaks, (memory,), timed=tuple(entries))
    assert device_of(written(device), "machine.toml") == device


def test_where_the_library_is_missing_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomli_w", None)
    with pytest.raises(MissingExtra, match=r"tomli-w.*weighbridge\[measure\]"):
        written(find("toy"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lanes = true", "$.timed[0].lanes: must be one of 1, 8, 16, not true"),
        ("lanes = 7", "$.timed[0].lanes: must be one of 1, 8, 16, not 7"),
        (
            'near_bytes = { value = 9, source = "a curve" }',
            "$.timed[0].near_bytes: says nothing alone, and far_bytes_per_s is missing",
        ),
        (
            'far_efficiency = { value = 1, source = "three" }',
            "$.timed[0].far_efficiency: is of far_bytes_per_s, which is missing",
        ),
    ],
)
def test_lanes_and_far_bytes_are_read_as_they_can_be(line: str, expected: str) -> None:
    assert faults(MACHINE.replace("networks = 3", f"networks = 3\n{line}")) == [expected]
