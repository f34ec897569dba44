"""Records of measurements: they come back as they were, and nothing that is recorded is ever lost or written over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.recorded import measurement, write_network
from weighbridge.errors import BadSpec
from weighbridge.measure.conditions import Accelerator
from weighbridge.measure.noise import Load
from weighbridge.measure.record import EnergyRead, Profile, ProfiledClass
from weighbridge.report.measured_json import from_line, from_plain, to_line, to_plain
from weighbridge.report.measured_records import append, check_place, read


def test_a_measurement_comes_back_as_it_was() -> None:
    one = measurement(energy=None, notes=("a note",), load=Load(1.5, 4, busy_s=2.0, own_s=1.4), noise=("busy",))
    assert from_line(to_line(one)) == one
    hardware = one.conditions.hardware._replace(accelerator=Accelerator("a GPU", 2**34, "1.0"))
    full = replace(
        one,
        conditions=one.conditions._replace(hardware=hardware, pinned=(0, 1)),
        profile=Profile("a profiler", 3, 0.01, (ProfiledClass("Conv", 0.004, 7),)),
        energy=EnergyRead("package", "a counter", 0.001, (0.0004, 0.002), 11.5, 30),
    )
    assert from_line(to_line(full)) == full
    assert to_plain(full)["energy"]["interval_j"] == [0.0004, 0.002]


def test_keys_of_a_later_version_are_left_out_and_missing_ones_of_an_earlier_have_their_defaults() -> None:
    one = measurement()
    data = to_plain(one)
    assert from_plain({**data, "later": 1}) == one
    earlier = {key: value for key, value in data.items() if key not in ("rounds", "round_loads", "profile", "energy")}
    assert from_plain(earlier) == replace(one, rounds=())


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"schema": 2}, "$.schema"),
        ({"samples_s": []}, "$.summary.samples"),
        ({"samples_s": [0.01] * 3}, "$.summary.samples"),
        ({"samples_s": [1.0] * 60}, "$.summary.median_s"),
        ({"samples_s": [-0.01] * 60}, "$.samples_s[0]"),
        ({"conditions": {}}, "$.conditions"),
        ({"name": 7}, "$.name"),
        ({"energy": 3}, "$.energy"),
        ({"rounds": [0.5]}, "$.rounds[0]"),
    ],
)
def test_what_is_no_measurement_is_told_with_its_place(change: dict[str, object], where: str) -> None:
    with pytest.raises(BadSpec) as caught:
        from_plain({**to_plain(measurement()), **change})
    assert caught.value.where == where


def test_a_file_grows_by_a_line_each(tmp_path: Path) -> None:
    place = tmp_path / "times.jsonl"
    append(place, [measurement(day=1), measurement(day=2)])
    before = place.read_bytes()
    append(place, [measurement(day=3)])
    assert place.read_bytes().startswith(before)
    assert [one.taken_at[:10] for one in read(place).measurements] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert len(place.read_bytes().splitlines()) == 3


def test_a_folder_gets_a_file_each_and_nothing_is_written_over(tmp_path: Path) -> None:
    place = f"{tmp_path / 'times'}/"
    twice = [measurement(), measurement(name="../../etc/passwd"), measurement()]
    append(place, twice)
    files = sorted(Path(place).iterdir())
    assert len(files) == 3
    assert {one.suffix for one in files} == {".json"}
    assert len(read(place).measurements) == 3
    assert sorted(tmp_path.rglob("*")) == [Path(place), *files]


def test_a_last_line_that_broke_off_is_told_and_spoils_no_other(tmp_path: Path) -> None:
    place = tmp_path / "times.jsonl"
    append(place, [measurement(day=1), measurement(day=2)])
    place.write_bytes(place.read_bytes()[:-40])
    found = read(place)
    assert len(found.measurements) == 1
    assert [fault.where for fault in found.faults] == ["line 2"]
    assert "breaks off" in found.faults[0].what
    append(place, [measurement(day=3)])
    again = read(place)
    assert [one.taken_at[:10] for one in again.measurements] == ["2026-01-01", "2026-01-03"]
    assert len(again.faults) == 1


def test_another_version_and_no_record_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    place = tmp_path / "times.jsonl"
    lines = [
        json.dumps({**to_plain(measurement()), "schema": 9}),
        "{}",
        "\x00\x1b[31m",
        to_line(measurement()),
        "",
        "[[" * 9999,
    ]
    place.write_text("\n".join(lines))
    found = read(place)
    assert len(found.measurements) == 1
    assert [fault.where for fault in found.faults] == ["line 1", "line 2", "line 3", "line 6"]
    assert "is of another version: schema 9" in found.faults[0].what


@pytest.mark.parametrize(
    "name", ["README.md", "model.onnx", "data.jsonl", "nowhere/times.jsonl", "nowhere/deeper/", "bad\0.jsonl", ""]
)
def test_records_go_to_a_place_of_their_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("kept")
    Path("data.jsonl").write_text('{"text": "of somebody else"}\n')
    for call in (check_place, lambda place: append(place, [measurement()])):
        with pytest.raises(BadSpec):
            call(name)
    assert Path("README.md").read_text() == "kept"


def test_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(BadSpec, match="no such file"):
        read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("place", ["times.jsonl", "times/"])
def test_killing_a_measurement_half_way_loses_nothing_that_was_recorded(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_network("tiny.onnx")
    sizes = ",".join(map(str, range(1, 60)))
    command = [sys.executable, "-m", "weighbridge", "measure", "tiny.onnx", "--batch-sweep", sizes, "--seconds", "0.02"]
    running = subprocess.Popen([*command, "--record", place], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        while len(kept := _kept(Path(place))) < 2:
            assert running.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    found = read(place)
    assert 2 <= len(found.measurements) < 59
    assert [one.conditions.batch for one in found.measurements] == list(range(1, len(found.measurements) + 1))
    assert _kept(Path(place))[: len(kept)] == kept
    append(place, [measurement(name="behind it")])
    assert len(read(place).measurements) == len(found.measurements) + 1


def _kept(place: Path) -> list[bytes]:
    """The records that are whole, in the order in which they were made."""
    if place.is_dir():
        return [one.read_bytes() for one in sorted(place.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)]
    return place.read_bytes().split(b"\n")[:-1] if place.exists() else []


@pytest.mark.parametrize("place", ["kept/times.jsonl", "kept/new/", "kept/"])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_measured(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the tests may write everywhere, so that the system's answer is given for it."""
    monkeypatch.chdir(tmp_path)
    Path("kept").mkdir()
    check_place(place)
    monkeypatch.setattr("weighbridge.report.measured_records.os.access", lambda path, how: Path(path) != Path("kept"))
    with pytest.raises(BadSpec, match="the folder 'kept' cannot be written to"):
        check_place(place)
    assert list(Path("kept").iterdir()) == []


def test_a_record_is_on_the_disk_when_it_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr("weighbridge.report.measured_records.os.fsync", kept.append)
    for place, syncs in ((tmp_path / "times.jsonl", 2), (tmp_path / "times.jsonl", 1), (f"{tmp_path}/times/", 2)):
        kept.clear()
        append(place, [measurement()])
        assert len(kept) == syncs  # the record, and the name of a new file


def test_a_line_longer_than_a_record_may_be_is_told_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "times.jsonl"
    long, short = to_line(measurement(notes=("x" * 9_000,))), to_line(measurement())
    place.write_text(f"{long}\n{short}\n{long}")
    monkeypatch.setattr("weighbridge.report.measured_records._LONGEST", len(short) + 1)
    found = read(place)
    assert len(found.measurements) == 1
    assert {fault.what for fault in found.faults} == {"it is too long for a measurement"}
