"""What the machine says of itself, and that other programs on it are seen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from weighbridge.errors import MissingExtra
from weighbridge.measure import machine
from weighbridge.measure.harness import Asked, take
from weighbridge.measure.machine import Mark, governor, hardware, load_between, mark, watching
from weighbridge.measure.noise import noises, together
from weighbridge.measure.runners.runner import timed
from weighbridge.measure.summary import summary

ARM = "processor\t: 0\nBogoMIPS\t: 108.00\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B\n"
INTEL = "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)\nflags\t\t: fpu vme {}\n"


@pytest.fixture
def busy() -> Iterator[None]:
    """Another program that uses as many processors as it gets, up to two."""
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(2)]
    time.sleep(0.3)
    yield
    for one in programs:
        one.kill()
        one.wait()


def work() -> int:
    return sum(range(20_000))


@pytest.mark.skipif(sys.platform != "linux", reason="the counters of Linux")
@pytest.mark.usefixtures("busy")
def test_a_run_beside_a_busy_program_is_told_as_noisy() -> None:
    """The two others get a whole processor at least of two, and more of more; a tenth is enough to tell, and three tries."""
    for _ in range(3):
        taken = take(lambda count, runs: timed(work, None, count, runs), Asked(most_s=2), watching([os.getpid()]))
        load = together(taken.loads)
        assert load is not None
        assert load.others is not None
        said = noises(taken.samples_s, summary(taken.samples_s), load, 1.0, taken.loads)
        if load.others > 0.1 and any("other programs kept" in one for one in said):
            return
    raise AssertionError(f"others kept {load.others:.2f} processors busy: {said}")


@pytest.mark.skipif(sys.platform != "linux", reason="the counters of Linux")
def test_what_the_measurement_itself_uses_is_not_others() -> None:
    """Half a second of work: most of it is counted as our own, in hundredths of a second."""
    before = mark([os.getpid()], 0.0)
    until = time.process_time() + 0.5
    while time.process_time() < until:
        work()
    load = load_between(before, mark([os.getpid()], 1.0))
    assert load.own_s is not None
    assert load.own_s >= 0.45
    assert load.busy_s is not None
    assert load.busy_s >= 0.3


def test_a_process_that_has_ended_counts_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
        number = gone.pid
    assert mark([number], 0.0).own_s == 0


def test_a_load_is_what_is_between_two_marks() -> None:
    before = Mark(1.0, 10.0, 5.0, 0.5, 7, 3e9)
    found = load_between(before, Mark(3.0, 13.0, 6.0, 0.5, 9, 2e9))
    assert (found.wall_s, found.busy_s, found.own_s, found.stolen_s, found.interrupted) == (2, 3, 1, 0, 2)
    assert (found.frequency_before_hz, found.frequency_after_hz) == (3e9, 2e9)
    assert found.others == 1
    unknown = load_between(before, Mark(3.0, None, None, None, None, None))
    assert (unknown.busy_s, unknown.others, unknown.interrupted) == (None, None, None)
    assert load_between(before, Mark(3.0, 9.0, 6.0, 0.5, 9, 2e9)).busy_s == 0


def test_the_hardware_is_that_of_this_machine() -> None:
    found = hardware()
    assert found.processors == os.cpu_count()
    assert found.memory_bytes is not None
    assert found.memory_bytes > 1 << 28
    assert found.system.split()[0] in ("Linux", "Darwin", "Windows")
    assert found.accelerator is None


@pytest.mark.parametrize(
    ("text", "processor", "virtual"),
    [
        (INTEL.format("hypervisor"), "Intel(R) Xeon(R)", True),
        (INTEL.format("sse"), "Intel(R) Xeon(R)", False),
        (ARM, "BCM2835", None),
    ],
)
def test_the_processor_is_as_the_system_writes_it(
    text: str, processor: str, virtual: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    found = hardware()
    assert (found.processor, found.virtual) == (processor, virtual)


def test_what_the_machine_does_not_say_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine, "_GOVERNOR", str(tmp_path / "cpu{}"))
    found = hardware()
    assert (found.processor, found.virtual) == (None, None)
    assert governor([0, 1]) is None


def test_governors_that_differ_are_all_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_GOVERNOR", str(tmp_path / "cpu{}"))
    for number, name in enumerate(("performance", "powersave", "performance")):
        (tmp_path / f"cpu{number}").write_text(f"{name}\n")
    assert governor([0, 2]) == "performance"
    assert governor(range(4)) == "performance, powersave"


def test_without_psutil_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(MissingExtra, match=r"pip install 'weighbridge\[measure\]'"):
        hardware()


def counters(user: float, system: float, steady: bool = False) -> SimpleNamespace:
    """What psutil says on a machine whose counters stand."""
    times = {
        "user": 5.0,
        "system": 2.0,
        "irq": 1.0,
        "idle": 100.0,
        "iowait": 50.0,
        "guest": 3.0,
        "guest_nice": 1.0,
        "steal": 7.0,
    }
    process = SimpleNamespace(
        cpu_times=lambda: SimpleNamespace(user=user, system=system),
        num_ctx_switches=lambda: SimpleNamespace(involuntary=4, voluntary=100),
    )
    return SimpleNamespace(
        Error=OSError,
        cpu_times=lambda: SimpleNamespace(_asdict=lambda: times),
        Process=lambda number: process,
        cpu_freq=lambda: SimpleNamespace(current=2_000.0, min=800.0, max=800.0 if steady else 3_000.0),
    )


def test_a_mark_counts_what_is_work_and_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_psutil", lambda: counters(1.0, 0.5))
    assert mark([1, 2], 9.0) == Mark(9.0, 8.0, 3.0, 7.0, 8, 2e9)


def test_a_frequency_that_the_system_only_repeats_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_psutil", lambda: counters(1.0, 0.5, steady=True))
    assert mark([1], 9.0).frequency_hz is None
