"""Joules of a run, from counters that stand in a folder or a library of the test: no machine of ours has any."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weighbridge.measure.energy import (
    Counter,
    Meter,
    _energy,
    _Slice,
    energy,
    joules,
    meter_of_graphics,
    meter_of_processor,
)
from weighbridge.measure.runners.nvidia import processor
from weighbridge.measure.summary import median_interval

RANGE_UJ = 262_143_328_850


class World:
    """A machine that draws 20 W idle and 50 W while it runs, with a clock of its own."""

    def __init__(self, idle_w: float = 20, busy_w: float = 50, begins_j: float = 0, scatter: float = 0.02) -> None:
        self.now_s, self.drawn_j = 0.0, begins_j
        self._idle_w, self._busy_w = idle_w, busy_w
        self._chance, self._scatter = random.Random(4), scatter

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self._pass(seconds, self._idle_w)

    def runs(self, run_s: float) -> Callable[[int, int], Sequence[float]]:
        def taken(count: int, runs: int) -> Sequence[float]:
            self._pass(run_s * runs * count, self._busy_w)
            return [run_s] * count

        return taken

    def _pass(self, seconds: float, watts: float) -> None:
        self.now_s += seconds
        self.drawn_j += watts * seconds * (1 + self._chance.gauss(0, self._scatter))


def zone(folder: Path, name: str, called: str, microjoules: int = 5, most: int = RANGE_UJ) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "name").write_text(f"{called}\n")
    (place / "energy_uj").write_text(f"{microjoules}\n")
    (place / "max_energy_range_uj").write_text(f"{most}\n")
    return place


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Two packages, one with cores and memory, and the whole platform, as Linux shows them: side by side."""
    zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core")
    zone(tmp_path, "intel-rapl:0:1", "dram", 3_000_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 2_000_000)
    zone(tmp_path, "intel-rapl:2", "psys")
    (tmp_path / "intel-rapl").mkdir()
    (tmp_path / "dtpm").mkdir()
    return tmp_path


def test_the_packages_and_their_memory_are_counted_once(powercap: Path) -> None:
    found = meter_of_processor(powercap)
    assert isinstance(found, Meter)
    assert found.domain == "package 0, memory of package 0, package 1"
    assert [one.read() for one in found.counters] == [1.0, 3.0, 2.0]
    assert {one.range_j for one in found.counters} == {RANGE_UJ / 1e6}
    assert str(powercap) in found.method


@pytest.mark.parametrize("run_s", [0.003, 0.2, 3.0])
def test_a_run_is_told_without_what_the_idle_machine_draws(run_s: float) -> None:
    world = World()
    meter = Meter("test", (Counter("a", lambda: world.drawn_j),))
    found = energy(world.runs(run_s), run_s, meter, clock=world.clock, sleep=world.sleep)
    assert found.energy_j == pytest.approx(30 * run_s, rel=0.05)
    assert found.interval_j is not None
    assert found.interval_j[0] < 30 * run_s < found.interval_j[1]
    assert found.idle_w == pytest.approx(20, rel=0.03)
    assert found.runs == 12 * max(1, -(-500 // round(run_s * 1000)))
    assert found.reason == ""


def test_of_streams_at_the_same_time_it_is_a_run_of_one() -> None:
    world = World()
    meter = Meter("test", (Counter("a", lambda: world.drawn_j),))
    one = world.runs(0.1)
    found = energy(lambda count, runs: [*one(count, runs)] * 4, 0.1, meter, clock=world.clock, sleep=world.sleep)
    assert found.energy_j == pytest.approx(30 * 0.1 / 4, rel=0.05)
    assert found.runs == 12 * 5 * 4


def test_counters_that_begin_again_change_nothing() -> None:
    """The range is passed in the middle of the runs."""
    plain, wraps = World(), World(begins_j=400)
    once = Meter("test", (Counter("a", lambda: plain.drawn_j),))
    again = Meter("test", (Counter("a", lambda: wraps.drawn_j % 650.0, 650.0),))
    one, other = (
        energy(world.runs(0.1), 0.1, meter, clock=world.clock, sleep=world.sleep)
        for world, meter in ((plain, once), (wraps, again))
    )
    assert other.energy_j is not None
    assert other.energy_j == pytest.approx(one.energy_j)
    assert wraps.drawn_j > 650


def test_what_a_counter_counted() -> None:
    assert joules(5, 7, None) == 2
    assert joules(5, 5, None) == 0
    assert joules(90, 10, 100) == 20
    assert joules(90, 10, None) is None
    assert joules(190, 10, 100) is None


def test_a_counter_that_goes_back_is_no_measurement() -> None:
    values = iter([5.0, 1.0])
    found = energy(
        lambda count, runs: [1.0], 1.0, Meter("test", (Counter("a", lambda: next(values)),)), sleep=lambda _: None
    )
    assert (found.energy_j, found.interval_j, found.idle_w) == (None, None, None)
    assert found.reason == "not measurable here: the energy counters cannot be read: one went back"


def test_a_counter_that_stands_still_is_never_nothing() -> None:
    world = World()
    found = energy(
        world.runs(0.1), 0.1, Meter("test", (Counter("a", lambda: 7.0),)), clock=world.clock, sleep=world.sleep
    )
    assert found.energy_j is None
    assert found.reason == "not measurable here: the energy counters stand still"


def test_a_run_that_is_lost_in_the_idle_machine_has_no_energy() -> None:
    world = World(idle_w=50, busy_w=50.1)
    found = energy(
        world.runs(0.1),
        0.1,
        Meter("test", (Counter("a", lambda: world.drawn_j),)),
        clock=world.clock,
        sleep=world.sleep,
    )
    assert (found.energy_j, found.interval_j) == (None, None)
    assert found.idle_w == pytest.approx(50, rel=0.03)
    assert found.reason.startswith("a run draws no more than the idle machine's")


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    gone = meter_of_processor(tmp_path / "powercap")
    assert isinstance(gone, str)
    assert gone.startswith("not measurable here: this system shows no energy counters of its processors")
    zone(tmp_path, "intel-rapl:0", "core")
    none = meter_of_processor(tmp_path)
    assert isinstance(none, str)
    assert "virtual machines have none" in none
    found = energy(lambda count, runs: [1.0], 1.0, gone)
    assert (found.energy_j, found.runs, found.reason) == (None, 0, gone)


def test_counters_that_may_not_be_read_say_what_to_do(powercap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Linux 5.10 they are root's; the test may run as root, who may read everything."""
    real = Path.read_text

    def read(self: Path, *args: Any, **kwargs: Any) -> str:
        if self.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", read)
    found = meter_of_processor(powercap)
    file = powercap / "intel-rapl:0" / "energy_uj"
    assert found == f"not measurable here: {file} is for root alone to read; let others: sudo chmod a+r {file}"


@pytest.mark.parametrize("content", ["", "much", "\x1b[2J"])
def test_counters_that_are_none_are_not_measurable(powercap: Path, content: str) -> None:
    (powercap / "intel-rapl:0" / "energy_uj").write_text(content)
    found = meter_of_processor(powercap)
    assert isinstance(found, str)
    assert found.startswith("not measurable here: the energy counters cannot be read")
    assert found.isprintable()


def test_a_range_that_is_not_told_is_not_known(powercap: Path) -> None:
    (powercap / "intel-rapl:0" / "max_energy_range_uj").unlink()
    found = meter_of_processor(powercap)
    assert isinstance(found, Meter)
    assert found.counters[0].range_j is None


class NVMLError(Exception):
    """As NVIDIA's library has it."""


def nvml(**changed: Any) -> Any:
    """NVIDIA's library, of one graphics processor that has drawn 5 J."""
    functions = {
        "nvmlInit": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "580.1",
        "nvmlDeviceGetHandleByIndex": lambda number: number,
        "nvmlDeviceGetName": lambda handle: b"NVIDIA Test",
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=1 << 30),
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 5_000,
    }
    return SimpleNamespace(NVMLError=NVMLError, **{**functions, **changed})


def refuse(*_: Any) -> Any:
    raise NVMLError("Not Supported")


def test_a_graphics_processor_counts_millijoules() -> None:
    found = meter_of_graphics(0, nvml())
    assert isinstance(found, Meter)
    assert (found.domain, found.counters[0].read()) == ("the whole NVIDIA Test", 5.0)


def test_a_graphics_processor_that_counts_none_says_so() -> None:
    found = meter_of_graphics(0, nvml(nvmlDeviceGetTotalEnergyConsumption=refuse))
    assert found == "not measurable here: NVIDIA's library counts no energy (Not Supported)"


def test_a_counter_that_fails_later_is_no_measurement() -> None:
    library = nvml()
    found = meter_of_graphics(0, library)
    library.nvmlDeviceGetTotalEnergyConsumption = refuse
    read = energy(lambda count, runs: [1.0], 1.0, found, sleep=lambda _: None)
    assert read.energy_j is None
    assert read.reason == "not measurable here: the energy counters cannot be read: Not Supported"


def test_a_graphics_processor_is_named_as_far_as_it_says() -> None:
    assert processor(0, nvml()) == ("NVIDIA Test", 1 << 30, "580.1")
    assert processor(0, nvml(nvmlDeviceGetHandleByIndex=refuse)) == ("an NVIDIA graphics processor", None, "580.1")
    assert processor(0, nvml(nvmlInit=refuse)) == ("an NVIDIA graphics processor", None, None)


def test_this_machine_is_asked_without_an_error() -> None:
    for found in (meter_of_processor(), meter_of_graphics()):
        assert isinstance(found, Meter) or found.startswith("not measurable here: ")


def test_the_interval_takes_off_the_most_and_the_least_that_idling_may_draw() -> None:
    """Twelve slices: the ranks of the interval are the third and the tenth."""
    order = [1, 12, 2, 11, 3, 10, 4, 9, 5, 8, 6, 7]
    idle = [_Slice(1.0, float(one), 0) for one in order]
    busy = [_Slice(1.0, 100.0 + one, 1) for one in order]
    found = _energy(Meter("steps", (Counter("package 0", lambda: 0.0),)), idle, busy)
    quiet, loud = median_interval(order), median_interval([100.0 + one for one in order])
    assert quiet is not None
    assert loud is not None
    assert quiet.low_s < quiet.high_s
    assert found.energy_j == pytest.approx(100)
    assert found.interval_j == (loud.low_s - quiet.high_s, loud.high_s - quiet.low_s)


@pytest.mark.parametrize(
    ("visible", "asked"),
    [
        (None, "number 0"),
        ("", "number 0"),
        ("2", "number 2"),
        (" 3 ,1", "number 3"),
        ("GPU-8932f937,0", "UUID GPU-8932f937"),
    ],
)
def test_the_graphics_processor_is_the_one_that_cuda_may_use(
    visible: str | None, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    library = nvml(
        nvmlDeviceGetHandleByIndex=lambda number: f"number {number}",
        nvmlDeviceGetHandleByUUID=lambda uuid: f"UUID {uuid}",
        nvmlDeviceGetName=lambda handle: handle,
    )
    found = meter_of_graphics(0, library)
    assert isinstance(found, Meter)
    assert found.domain == f"the whole {asked}"
    assert processor(0, library).name == asked
