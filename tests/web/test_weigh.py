"""Weighing in the app: what a form sends is what the command line takes, and the report is the one that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.web.client import ask, fresh, read
from tests.web.weighed import faults_of
from weighbridge.api import weigh
from weighbridge.devices import catalogue
from weighbridge.devices.catalogue import names as device_names
from weighbridge.errors import BadSpec
from weighbridge.report.html_file import render
from weighbridge.report.view import title
from weighbridge.textbook import names as network_names
from weighbridge.web.asked import field_of
from weighbridge.web.fields import FIELDS
from weighbridge.web.pages import around


def main_of(html: str) -> str:
    """What stands in the report itself."""
    return html.split("<main", 1)[1].split("</main>", 1)[0]


# --- the form


def test_the_form_has_every_network_every_device_and_every_option() -> None:
    page = read(ask("/weigh").text)
    options = {has["value"] for tag, has in page.tags if tag == "option"}
    ticks = {has["value"] for tag, has in page.tags if tag == "input" and has.get("name") == "on"}
    assert set(network_names()) <= options
    assert {*device_names(), "mcu", "npu", "board", "server"} == ticks
    names = {has["name"] for tag, has in page.tags if tag in ("input", "select", "textarea") and "name" in has}
    assert names == {"file", "model", "choices", "on", *(field.name for field in FIELDS)}
    assert '"name":"resolution"' in ask("/weigh").text
    assert '"name":"batch"' not in ask("/weigh").text  # it has a field of its own, which files have too
    assert faults_of(page) == {}


def test_what_assistive_technology_needs_is_there() -> None:
    for address in ("/weigh", "/weigh?model=alexnet&batch=x&on=mcu&train=adam"):
        page = read(ask(address).text)
        ids = page.ids()
        assert len(ids) == len(set(ids))
        labelled = {has.get("for") for tag, has in page.tags if tag == "label"}
        for tag, has in page.tags:
            if tag in ("input", "select", "textarea") and has.get("type") != "checkbox":
                assert has["id"] in labelled
            assert set(has.get("aria-describedby", "").split()) <= set(ids)


STATE = {
    "model": "alexnet",
    "choices": "resolution=256,head=gap",
    "batch": "2",
    "activation_bits": "4",
    "precision": "int8",
    "on": "stm32f746",
    "batches": "1,8",
    "fps": "30",
    "battery": "2000mAh@3.7V",
    "energy": "45nm",
    "reserve": "sram=64KiB",
    "train": "adam",
    "update": "biases",
    "as_written": "1",
    "convention": "st",
    "scratch": "im2col",
}


def test_the_form_is_filled_in_with_what_its_address_says() -> None:
    page = read(ask(f"/weigh?{urlencode(STATE)}").text)
    sent = {name: text for name, text in page.fields.items() if text}
    assert sent == {**STATE, "batches": "1,8"}


def test_sending_the_form_leads_to_the_address_of_the_report() -> None:
    answer = ask("/weigh", method="POST", data={**dict.fromkeys((one.name for one in FIELDS), ""), **STATE})
    assert answer.status_code == 303
    where = urlsplit(answer.headers["location"])
    assert where.path == "/weighed"
    assert dict(parse_qsl(where.query)) == STATE


def test_a_form_without_a_network_says_so_once_it_is_sent() -> None:
    answer = ask("/weigh", method="POST", data={"batch": "2"})
    assert answer.status_code == 422
    page = read(answer.text)
    assert faults_of(page) == {"model": "there is no model; upload a file, or choose a textbook network"}
    assert page.fields["batch"] == "2"


def test_faulty_values_are_said_each_beside_its_field() -> None:
    wrong = {
        "model": "alexnte",
        "on": "stm32f74",
        "batch": "-1",
        "sequence": "1e3",
        "activation_bits": "65",
        "weight_bits": "first=99",
        "precision": "int9",
        "batches": "1,x",
        "fps": "0",
        "battery": "3V",
        "energy": "../45nm.toml",
        "reserve": "sram",
        "dims": "seq",
        "inputs": "x=1xy",
        "convention": "none",
        "scratch": "none",
        "train": "sgdd",
        "lora": "fc*",
        "as_written": "perhaps",
    }
    for method, extra in (("GET", {"url": f"/weighed?{urlencode(wrong)}"}), ("POST", {"url": "/weigh", "data": wrong})):
        answer = ask(extra.pop("url"), method=method, **extra)
        page = read(answer.text)
        assert answer.status_code == (404 if method == "GET" else 422)
        assert set(faults_of(page)) == set(wrong)
        marked = {has["name"] for tag, has in page.tags if "aria-invalid" in has}
        assert marked == set(wrong) - {"on", "convention"}
        links = [has["href"] for tag, has in page.tags if tag == "a" and has["href"].startswith("#fault-")]
        assert sorted(links) == sorted(f"#fault-{name}" for name in wrong)
        assert page.text.split("·")[0].strip() == "Not weighed"
        assert "45nm" in faults_of(page)["energy"]
        for name in ("batch", "activation_bits", "weight_bits", "battery"):
            assert page.fields[name] == wrong[name]
    twin = ask(f"/weighed.json?{urlencode({**wrong, 'model': 'alexnet'})}")
    assert twin.status_code == 422
    for name in set(wrong) - {"model"}:
        assert f"\n  {name}: " in twin.json()["error"]


def test_a_fault_of_the_choices_and_an_unknown_or_repeated_field_are_said() -> None:
    said = faults_of(read(ask("/weighed?model=alexnet&choices=resolution%3D1,heads%3Dgap").text))
    assert "resolution: must be a whole number from 63 to 8,192" in said["choices"]
    assert "did you mean head?" in said["choices"]
    assert faults_of(read(ask("/weighed?model=alexnet&bach=1").text)) == {
        "": "there is no field 'bach'; did you mean batch?"
    }
    assert faults_of(read(ask("/weighed?model=alexnet&batch=1&batch=2").text)) == {"batch": "is there twice"}
    assert faults_of(read(ask("/weighed?model=alexnet&update=biases").text)).keys() == {"update"}


def test_an_error_that_only_weighing_finds_stands_beside_its_field_where_it_names_one() -> None:
    assert faults_of(read(ask("/weighed?model=lenet5&fps=30").text)) == {
        "on": "frames missed need a device; name one; see `weighbridge devices`"
    }
    said = faults_of(read(ask("/weighed?model=lenet5&weight_bits=nowhere%3D8").text))
    assert list(said) == [""]
    assert "nowhere" in said[""]


@pytest.mark.parametrize(
    ("where", "field"), [("--dim", "dims"), ("--input", "inputs"), ("--weight-bits", "weight_bits"), ("--depth", "")]
)
def test_an_option_of_the_command_line_is_the_field_of_its_name(where: str, field: str) -> None:
    assert field_of(BadSpec("is wrong", where=where)) == field


def test_hostile_values_are_text() -> None:
    for name in ("model", "choices", "batch", "on", "precision", "inputs", "lora", "<b>x"):
        answer = ask(f"/weighed?{urlencode({'model': 'alexnet', name: '<script>alert(1)</script>'})}")
        assert answer.status_code in (404, 422)
        assert "<script>alert" not in answer.text
        assert "<b>x" not in answer.text
        read(answer.text)


# --- the report

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("model=lenet5", {}),
    ("model=mobilenet_v2&choices=width%3D0.5,resolution%3D96", {"source": "mobilenet_v2:width=0.5,resolution=96"}),
    ("model=lenet5&batch=4", {"batch": 4}),
    (
        "model=lenet5&weight_bits=first%3D8,rest%3D4&activation_bits=8",
        {"weight_bits": ["first=8", "rest=4"], "activation_bits": 8},
    ),
    ("model=lenet5&precision=int8&on=mcu&on=jetson-nano", {"precision": "int8", "on": ["mcu", "jetson-nano"]}),
    ("model=lenet5&on=toy&batches=1,8&fps=30", {"on": ["toy"], "batches": (1, 8), "fps": "30"}),
    ("model=lenet5&on=stm32f746&reserve=sram%3D64KiB", {"on": ["stm32f746"], "reserve": ["sram=64KiB"]}),
    ("model=lenet5&energy=45nm&battery=2000mAh@3.7V", {"energy": "45nm", "battery": "2000mAh@3.7V"}),
    ("model=lenet5&as_written=1&convention=st&convention=fvcore", {"as_written": True, "convention": ["st", "fvcore"]}),
    ("model=lenet5&scratch=im2col", {"scratch": "im2col"}),
    (
        "model=lenet5&train=adam&mixed_precision=1&update=biases&freeze=f6",
        {"train": {"optimiser": "adam", "mixed_precision": True, "update": ["biases"], "freeze": ["f6"]}},
    ),
    ("model=lenet5&train=sgd&lora=f6%3D2", {"train": {"optimiser": "sgd", "lora": ["f6=2"]}}),
]


@pytest.mark.parametrize(("query", "options"), ASKED, ids=[query for query, _ in ASKED])
def test_every_option_is_what_it_is_on_the_command_line(query: str, options: dict[str, Any]) -> None:
    answer = ask(f"/weighed.json?{query}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    source = options.pop("source", "lenet5")
    assert answer.json() == json.loads(weigh(source, **options).to_json())


def test_the_page_is_the_one_that_the_command_line_writes() -> None:
    answer = ask("/weighed?model=lenet5&on=stm32f746&energy=45nm")
    report = weigh("lenet5", on="stm32f746", energy="45nm")
    assert answer.status_code == 200
    query = "model=lenet5&on=stm32f746&energy=45nm"
    in_app = around(form=f"/weigh?{query}", fields=[field.name for field in FIELDS])
    assert main_of(answer.text) == main_of(render({title(report): report}, around=in_app))
    page = read(answer.text)
    links = {has["href"] for tag, has in page.tags if tag == "a"}
    assert {f"/weigh?{query}", f"/weighed.json?{query}", "/compare?model=lenet5&on=stm32f746", "/reports", "/"} <= links
    assert page.fields["query"] == query
    assert page.fields["name"] == "lenet5"


def test_what_nobody_asked_for_is_asked_for_in_the_form_and_not_on_the_command_line() -> None:
    main = main_of(ask("/weighed?model=lenet5&choices=classes%3D3").text)
    assert "--" not in read(f"<p>{main.split('>', 1)[1]}</p>").text
    form = "/weigh?model=lenet5&amp;choices=classes%3D3"
    assert f'<a href="{form}#control-on">a device</a> gives a verdict' in main
    assert f'<a href="{form}#control-energy">a table of energies</a> gives a bill' in main
    with_device = main_of(ask("/weighed?model=lenet5&on=toy").text)
    assert '<a href="/weigh?model=lenet5&amp;on=toy#control-batches">several batches</a>' in with_device
    doubtful = main_of(ask("/weighed?model=lenet5&on=stm32h743&precision=int8").text)
    assert '<a href="/devices">the page of the device</a>' in doubtful
    ids = read(ask("/weigh?model=lenet5").text).ids()
    assert {"control-on", "control-energy", "control-batches", "control-train"} <= set(ids)


def test_the_page_holds_nothing_that_the_policy_in_its_headers_forbids() -> None:
    for address in ("/weigh", "/weighed?model=lenet5"):
        for tag, has in read(ask(address).text).tags:
            assert not [name for name in has if name == "style" or name.startswith("on")]
            assert tag != "style"
            if tag == "script":
                assert has.get("src", "").startswith("/static/") or has["type"] == "application/json"


def test_a_report_is_to_be_saved_under_what_was_chosen() -> None:
    page = read(ask("/weighed?model=lenet5&choices=classes%3D3&precision=int8").text)
    assert page.fields["name"] == "lenet5-classes-3-int8"


def test_a_report_leads_to_the_simulators_that_show_its_network() -> None:
    def links(query: str) -> set[str]:
        page = read(ask(f"/weighed?{query}").text)
        return {
            has["href"] for tag, has in page.tags if tag == "a" and has["href"].startswith(("/size", "/peak", "/bill"))
        }

    assert len(links("model=resnet18")) == 3
    assert links("model=alexnet&choices=resolution%3D256") == {"/size?resolution=256"}
    assert links("model=lenet5&choices=classes%3D3") == set()


def test_values_that_stand_in_no_address_are_refused() -> None:
    answer = ask(
        "/weigh",
        method="POST",
        data={"model": "lenet5", "train": "sgd", "freeze": ",".join(f"layer{n}" for n in range(2000))},
    )
    assert answer.status_code == 422
    assert "more than an address can say" in faults_of(read(answer.text))[""]


def test_a_device_of_the_folder_is_offered_first_and_gets_a_verdict(tmp_path: Path) -> None:
    toy = (Path(catalogue.__file__).parent / "toy.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(toy.replace('name = "toy"', 'name = "mine"'), encoding="utf-8")
    (tmp_path / "broken.toml").write_text("= [", encoding="utf-8")
    app = fresh(tmp_path)
    ticks = [has["value"] for tag, has in read(ask("/weigh", app=app).text).tags if has.get("name") == "on"]
    assert set(ticks[:2]) == {"own:mine", "own:broken"}
    twin = ask("/weighed.json?model=lenet5&on=own:mine&on=toy", app=app)
    assert [one["device"] for one in twin.json()["on"]] == ["toy", "mine"]
    page = ask("/weighed?model=lenet5&on=own:mine", app=app)
    assert page.status_code == 200
    assert "on mine" in " ".join(read(page.text).text.split())
    (tmp_path / "mine.toml").write_text(toy.replace('name = "toy"', 'name = "other"'), encoding="utf-8")
    again = ask("/weighed?model=lenet5&on=own:mine", app=app)
    assert "on other" in " ".join(read(again.text).text.split()), "what the file says now"
    for name, status in (("own:broken", 422), ("own:nowhere", 422), ("own:../mine", 422)):
        answer = ask(f"/weighed?model=lenet5&on={name}", app=app)
        assert answer.status_code == status
        assert faults_of(read(answer.text))
