"""The form of a new device: all that is wrong stands beside its field, nothing typed is lost, and what is good is kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp

from tests.estimates.machines import FUSED, WRITTEN, machine
from tests.web.client import Page, ask, fresh, read
from weighbridge.devices.catalogue import file_of, find, names
from weighbridge.devices.device import Device
from weighbridge.devices.read import device_of
from weighbridge.errors import BadSpec
from weighbridge.web.device_draft import draft_of, filled_with, placed

GOOD: Mapping[str, Any] = {
    "name": "my-board",
    "title": "My <b>board</b>",
    "class": "microcontroller",
    "core": "Cortex-M4",
    "kind": "mcu",
    "kernel_library": "cmsis-nn",
    "notes": "The first.\r\nThe second.",
    "peaks[0].unit": "core",
    "peaks[0].precision": "int8",
    "peaks[0].ops_per_s.value": "864 MOPS",
    "peaks[0].ops_per_s.source": "a sheet",
    "peaks[0].ops_per_s.note": "derived",
    "peaks[0].ops_per_s.unverified": "yes",
    "memories[0].name": "SRAM",
    "memories[0].holds": ["weights", "activations"],
    "memories[0].bytes.value": "256 KiB",
    "memories[0].bytes.source": "a sheet",
    "memories[0].bandwidth_bytes_per_s.value": "1,200.5 MB/s",
    "memories[0].bandwidth_bytes_per_s.source": "a sheet",
}


def sent(app: ASGIApp, fields: Mapping[str, Any]) -> httpx.Response:
    return ask("/devices/new", method="POST", app=app, data=dict(fields))


def beside(page: Page) -> dict[str, str]:
    """What stands beside each field that has something wrong."""
    return {name: text.strip() for name, text in page.texts.items() if name.startswith("fault-") and text.strip()}


def above(page: Page) -> list[str]:
    return [line.strip() for line in page.texts.get("faults", "").split("\n") if line.strip()]


def filled(page: Page) -> dict[str, list[str]]:
    """What the form of the fields sends as it stands, with every box that is ticked."""
    ticked: dict[str, list[str]] = {}
    for tag, has in page.tags:
        if tag == "input" and has.get("type") == "checkbox" and "checked" in has:
            ticked.setdefault(has["name"], []).append(has["value"])
    texts = {name: [value] for name, value in page.fields.items() if value and name not in ticked}
    texts |= {has["name"]: [page.texts[has["id"]].strip()] for tag, has in page.tags if tag == "textarea"}
    return {name: values for name, values in {**texts, **ticked}.items() if values != [""] and name != "toml"}


def test_a_good_device_is_kept_has_its_page_and_can_be_chosen(tmp_path: Path) -> None:
    app = fresh(tmp_path)
    answer = sent(app, GOOD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/devices/own:my-board")
    kept = device_of((tmp_path / "my-board.toml").read_bytes(), "my-board.toml")
    assert (kept.name, kept.title, kept.kind) == ("my-board", "My <b>board</b>", "mcu")
    assert kept.notes == ("The first.", "The second.")
    (peak,) = kept.peaks
    assert (peak.ops_per_s.value, peak.ops_per_s.verified, peak.ops_per_s.note) == (864_000_000, False, "derived")
    (memory,) = kept.memories
    assert (memory.bytes.value, memory.holds) == (1 << 18, ("weights", "activations"))
    assert memory.bandwidth_bytes_per_s is not None
    assert memory.bandwidth_bytes_per_s.value == 1_200_500_000
    assert "864.0 MOPS = 864,000,000 operations/s" in read(ask("/devices/own:my-board", app=app).text).text
    report = ask("/weighed.json?model=lenet5&on=own:my-board&precision=int8", app=app)
    assert [one["device"] for one in report.json()["on"]] == ["my-board"]


def test_every_fault_stands_above_and_beside_its_field_and_all_that_was_typed_stays(tmp_path: Path) -> None:
    app = fresh(tmp_path)
    wrong = {
        "name": "My Board",
        "peaks[0].ops_per_s.value": "fast",
        "peaks[0].precision": "",
        "memories[0].bytes.source": "",
        "memories[0].bandwidth_bytes_per_s.value": "-3",
    }
    answer = sent(app, {**GOOD, **wrong})
    assert answer.status_code == 422
    page = read(answer.text)
    assert beside(page) == {
        "fault-name": "must be lower-case letters, digits, hyphens and dots, not 'My Board'",
        "fault-peaks-0-precision": "is missing",
        "fault-peaks-0-ops_per_s-value": "must be a number, not 'fast'",
        "fault-memories-0-bytes-source": "is missing",
        "fault-memories-0-bandwidth_bytes_per_s-value": "must be above 0 and at most 1e24, not -3",
    }
    assert above(page)[0] == "5 faults"
    for name in ("name", "peaks-0-precision"):
        assert ("a", {"href": f"#field-{name}"}) in page.tags
        assert name in {has["id"].removeprefix("field-") for _, has in page.tags if has.get("aria-invalid")}
    typed = {name: value if isinstance(value, list) else [value] for name, value in {**GOOD, **wrong}.items() if value}
    assert filled(page) == {**typed, "notes": ["The first.\r\nThe second."]}
    assert list(tmp_path.iterdir()) == []
    mended = sent(app, {**filled(page), **{name: GOOD[name] for name in wrong}})
    assert mended.status_code == 303


def test_the_file_that_the_fields_come_to_is_shown_and_can_be_sent_itself() -> None:
    app = fresh()
    page = read(sent(app, {**GOOD, "title": ""}).text)
    made = tomllib.loads(page.texts["field-toml"])
    assert made["peaks"][0]["ops_per_s"]["value"] == 864_000_000
    again = ask("/devices/new", method="POST", app=app, data={"toml": tomli_w.dumps({**made, "title": "T"})})
    assert again.headers["location"] == "/devices/own:my-board"


THREE = b'name = "a board"\ntitle = "T"\nclass = "c"\ncore = "c"\n[[peaks]]\nunit = "u"\nprecision = "fp12"\nops_per_s = 3\n'


@pytest.mark.parametrize("way", ["file", "text"])
def test_a_file_with_three_faults_is_refused_with_all_three(tmp_path: Path, way: str) -> None:
    app = fresh(tmp_path)
    data = {"toml": "" if way == "file" else THREE.decode()}
    files = {"file": ("../../b.toml", THREE)} if way == "file" else None
    answer = ask("/devices/new", method="POST", app=app, data=data, files=files)
    assert answer.status_code == 422
    page = read(answer.text)
    assert above(page)[0] == "3 faults"
    paths = [one.partition(":")[0] for one in re.findall(r"\$\S+:", page.texts["faults"])]
    assert paths == ["$.name", "$.peaks[0].precision", "$.peaks[0].ops_per_s"]
    assert page.texts["field-toml"].strip() == THREE.decode().strip()
    assert beside(page) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_kept_as_it_was_given(tmp_path: Path) -> None:
    app = fresh(tmp_path)
    content = b"# my own\r\n" + file_of("toy").replace(b'"toy"', b'"toy-2"', 1)
    answer = ask("/devices/new", method="POST", app=app, data={"toml": "ignored"}, files={"file": ("x", content)})
    assert answer.headers["location"] == "/devices/own:toy-2"
    assert (tmp_path / "toy-2.toml").read_bytes() == content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "this is not TOML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[" * 100_000, "this is not TOML"),
        (b"#" * ((1 << 20) - 4096) + b"\n", "$.name: is missing"),
        (b"", "$.name: is missing"),
    ],
    ids=["cut short", "no text", "nested", "long", "empty"],
)
def test_what_is_no_device_file_is_said_to_be_none(content: bytes, said: str) -> None:
    answer = ask(
        "/devices/new", method="POST", app=fresh(), data={"toml": ""}, files={"file": ("x.toml", content or b" ")}
    )
    assert answer.status_code == 422
    assert said in " ".join(read(answer.text).texts["faults"].split())


def test_a_file_that_is_too_large_is_refused() -> None:
    answer = ask("/devices/new", method="POST", app=fresh(), files={"file": ("x.toml", b"#" * (3 << 20))})
    assert answer.status_code == 413
    assert "larger than" in read(answer.text).texts["faults"]


def test_a_name_that_a_device_has_already_is_a_fault_with_the_others(tmp_path: Path) -> None:
    """Reports tell devices apart by their names, so that two of one name would be one there."""
    app = fresh(tmp_path)
    page = read(sent(app, {**GOOD, "name": "stm32f746", "title": ""}).text)
    assert set(beside(page)) == {"fault-name", "fault-title"}
    assert beside(page)["fault-name"].startswith("the catalogue has 'stm32f746' already; give it another name")
    assert sent(app, GOOD).status_code == 303
    again = sent(app, GOOD)
    assert again.status_code == 422
    assert beside(read(again.text))["fault-name"].startswith(
        "there is one of your own that is called 'my-board' already"
    )
    (tmp_path / "my-board.toml").rename(tmp_path / "other file.toml")
    assert sent(app, GOOD).status_code == 422


@pytest.mark.parametrize("name", ["con", "a" * 81, "dot."])
def test_a_name_that_no_file_can_have_is_a_fault_of_the_name(name: str) -> None:
    page = read(sent(fresh(), {**GOOD, "name": name}).text)
    assert set(beside(page)) == {"fault-name"}


def test_a_table_of_energies_is_read_and_its_faults_stand_beside_it() -> None:
    app = fresh()
    table = 'process = "7 nm"\n[[accesses]]\nlevel = "SRAM"\nenergy_pj_per_32_bit = { value = 5, source = "s" }\n'
    page = read(sent(app, {**GOOD, "energy": table.replace("SRAM", "DRAM")}).text)
    assert beside(page)["fault-energy"].startswith("must be one of the device's memories ('SRAM')")
    page = read(sent(app, {**GOOD, "energy": "process =", "title": ""}).text)
    assert set(beside(page)) == {"fault-energy", "fault-title"}
    assert sent(app, {**GOOD, "energy": table}).status_code == 303
    assert "5 pJ" in read(ask("/devices/own:my-board", app=app).text).text


def test_measurements_are_tables_of_their_own_with_their_faults_beside_them() -> None:
    app = fresh()
    for text, fault in (
        ("[[measured]]\nkernels = 'ours'\n", "is missing"),
        ("[[measured", "this is not TOML"),
        ("title = 'other'\n", "must be [[measured]] and [[timed]] tables and nothing else"),
        ("[[timed]]\nruntime = 'ours'\n", "is missing"),
    ):
        page = read(sent(app, {**GOOD, "measured": text}).text)
        assert fault in beside(page)["fault-measured"], beside(page)


@pytest.mark.parametrize("name", names())
def test_a_form_that_begins_as_a_device_comes_to_that_device(name: str) -> None:
    """Through the page, as a browser would send it: only the name is to be given."""
    page = read(ask(f"/devices/new?like={name}").text)
    fields = {field: tuple(values) for field, values in filled(page).items()}
    assert "name" not in fields
    draft = draft_of({**fields, "name": (name,)})
    assert not draft.faults
    assert device_of(draft.content, name) == find(name)


def test_a_form_like_a_device_that_is_not_there_is_an_empty_one_that_says_so() -> None:
    answer = ask("/devices/new?like=own:nobody")
    assert answer.status_code == 422
    page = read(answer.text)
    assert "there is no device file 'nobody'" in page.texts["faults"]
    assert set(filled(page)) == {"kind"}


def test_rows_that_nobody_filled_leave_no_gap() -> None:
    row = {"unit": "core", "precision": "int8", "ops_per_s.value": "1", "ops_per_s.source": "s"}
    fields = {f"peaks[7].{name}": (text,) for name, text in row.items()}
    draft = draft_of({**fields, "peaks[3].unit": (" ",), "peaks[2].ops_per_s.unverified": ("yes",)})
    assert draft.filled == {f"peaks[0].{name}": (text,) for name, text in row.items()}
    assert tomllib.loads(draft.content.decode())["peaks"] == [
        {"unit": "core", "precision": "int8", "ops_per_s": {"value": 1, "source": "s"}}
    ]


def test_faults_stand_at_the_nearest_field_on_the_way_to_them() -> None:
    fields = {"peaks[0].ops_per_s.value", "memories[0]", "energy", "notes"}
    lines = {
        "$.peaks[0].ops_per_s: is missing": "peaks[0].ops_per_s.value",
        "$.memories[0].holds[2]: must be": "memories[0]",
        "$.energy.accesses[3].level: x": "energy",
        "$.notes[4]: x": "notes",
        "$: has no key 'x'": "",
        "$.peaks[1].unit: x": "",
        "this is not TOML": "",
    }
    assert {line: one.field for line, one in zip(lines, placed(lines, fields.__contains__), strict=True)} == lines


TYPED = st.text(max_size=12) | st.sampled_from(["1", "1e3", "256 KiB", "0.5 B", "1e99", "-1", "yes", "int8", "weights"])
FIELDS = st.sampled_from(
    [*GOOD, "energy", "peaks[1].unit", "peaks[999].ops_per_s.value", "memories[2].bytes.note", "x", "peaks[0].x.value"]
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(FIELDS, TYPED, max_size=8))
def test_whatever_is_typed_is_a_device_or_faults(typed: Mapping[str, str]) -> None:
    fields = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in GOOD.items()}
    draft = draft_of({**fields, **{name: (text,) for name, text in typed.items()}})
    try:
        assert isinstance(device_of(draft.content, "x"), Device)
    except BadSpec as error:
        assert error.details


def test_a_form_that_begins_as_a_machine_keeps_what_was_measured_on_it() -> None:
    device = machine(FUSED, WRITTEN)
    draft = draft_of({**filled_with(device), "name": (device.name,)})
    assert not draft.faults
    assert device_of(draft.content, device.name) == device
    faulty = ["$.timed[0].classes[1].operators: must be another"]
    (one,) = placed(faulty, {"measured"}.__contains__)
    assert (one.field, one.path) == ("measured", "timed[0].classes[1].operators")
