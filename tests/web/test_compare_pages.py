"""Comparing in the app: it says what the command says where the same files lie, and of bad input what the command says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import onnx
import pytest
from onnx import TensorProto, helper
from starlette.types import ASGIApp

import weighbridge
from tests.web.client import Page, ask, fresh, read
from weighbridge.cli.main import main
from weighbridge.published import find
from weighbridge.published import names as published_names
from weighbridge.report.asking import CALLED
from weighbridge.textbook import names
from weighbridge.web.compare_asked import COMPARED, MOST_MODELS, asked
from weighbridge.web.shelf import opened

SMALL = """
name = "small"
title = "Small"
source = "made for tests"
inputs = [{ name = "x", shape = [1, 8] }]
layers = [{ name = "fc", op = "linear", out = 4 }]
"""
DEVICE = """
name = "mine"
title = "Mine"
class = "board"
core = "a core"

[[peaks]]
unit = "core"
precision = "float32"
ops_per_s = { value = 1_000_000, source = "a sheet" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the command reads and what the app keeps: a network file, a device, saved reports, one of them damaged."""
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(DEVICE, encoding="utf-8")
    (tmp_path / "saved.json").write_text(weighbridge.weigh("lenet5", on="toy").to_json(), encoding="utf-8")
    (tmp_path / "no device.json").write_text(weighbridge.weigh("mlp").to_json(), encoding="utf-8")
    (tmp_path / "damaged.json").write_text('{"schema": 1, "tool": 4}', encoding="utf-8")
    return tmp_path


@pytest.fixture
def app(folder: Path) -> ASGIApp:
    return fresh(folder)


def upload(app: ASGIApp, file: Path) -> str:
    """The reference of a network file that was uploaded."""
    data = {"batch": "1"} if file.suffix == ".onnx" else {}
    answer = ask("/weigh", method="POST", app=app, data=data, files={"file": (file.name, file.read_bytes())})
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))["model"]


def write_open(path: Path) -> None:
    """A file that leaves its batch open."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ("n", size)) for name, size in (("x", 8), ("y", 4)))
    weight = helper.make_tensor("w", TensorProto.FLOAT, (8, 4), [0.0] * 32)
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w"], ["y"], "fc")], "open", [x], [y], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def faults(page: Page) -> dict[str, str]:
    """What is wrong, by field or by the number of the model."""
    return {
        name.removeprefix("fault-"): " ".join(text.split())
        for name, text in page.texts.items()
        if text.strip() and name.startswith("fault-")
    }


CASES = {
    "networks": ("lenet5 mlp", ""),
    "parameters": ("mobilenet_v2 mobilenet_v2:width=0.75", "--precision int8 --on stm32f746"),
    "a rate": ("lenet5 mlp", "--on toy --fps 29.97"),
    "published": ("published:segformer_b5 published:efficientvit_l1", "--fps 30"),
    "reports": ("saved.json lenet5", "--on toy --on jetson-nano"),
    "a report of a device and a rate": ("saved.json published:segformer_b5", "--fps 30"),
    "an upload": ("small.toml mlp", "--on ./mine.toml --weight-bits first=8,rest=4 --activation-bits 8 --energy 45nm"),
    "sizes that both take": ("lenet5 saved.json open.onnx", "--batch 4"),
    "a shape that one takes": ("open.onnx lenet5 saved.json", "--input x=2x8 --on toy"),
    "training": ("lenet5 mlp", "--train adam --on a100 --reserve hbm=1GiB --as-written"),
}
NAMES = {"--input": "inputs", "--dim": "dims"}


def as_command(models: str, options: str) -> list[str]:
    words = options.split()
    for place, word in enumerate(words):
        if word == "first=8,rest=4":
            words[place : place + 1] = ["first=8", "--weight-bits", "rest=4"]
    return ["compare", *models.split(), *words]


def as_query(models: str, options: str, references: Mapping[str, str]) -> str:
    pairs = [("model", references.get(one, one)) for one in models.split()]
    words = options.split()
    while words:
        name = words.pop(0)
        value = words.pop(0) if words and not words[0].startswith("--") else "1"
        name = NAMES.get(name, name.removeprefix("--").replace("-", "_"))
        pairs += [(name, "own:mine" if value == "./mine.toml" else value)]
    return urlencode(pairs)


@pytest.mark.parametrize(("models", "options"), CASES.values(), ids=CASES)
def test_it_says_what_the_command_says(
    models: str,
    options: str,
    app: ASGIApp,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "open.onnx" in models:
        write_open(folder / "open.onnx")
    references = {name: upload(app, folder / name) for name in models.split() if name in ("small.toml", "open.onnx")}
    references["saved.json"] = "report:saved"
    query = as_query(models, options, references)
    monkeypatch.chdir(folder)
    assert main([*as_command(models, options), "--json", "-", "-o", "page.html"]) == 0
    answer = ask(f"/compared.json?{query}", app=app)
    assert answer.status_code == 200, answer.text
    assert answer.json() == json.loads(capsys.readouterr().out)
    page = ask(f"/compared?{query}", app=app).text
    written = (folder / "page.html").read_text(encoding="utf-8")
    assert as_command_says(page) == as_command_says(written)


def as_command_says(html: str) -> str:
    """What stands in the comparison, with the command's words for what leads to the form or to the devices."""
    body = html.split("<main", 1)[1].split("</main>", maxsplit=1)[0].replace("<code>", "").replace("</code>", "")
    for words, called in CALLED.items():
        body = re.sub(rf'<a href="/(compare\?[^"]*#control-[a-z]+|devices)">{called}</a>', words, body)
    return body


def test_it_says_what_the_python_interface_says(app: ASGIApp) -> None:
    found = weighbridge.compare(["resnet18", "resnet34"], on="jetson-nano", precision="float16", batch=8, fps=30)
    query = "model=resnet18&model=resnet34&on=jetson-nano&precision=float16&batch=8&fps=30"
    assert ask(f"/compared.json?{query}", app=app).json() == found.to_dict()


def test_two_on_one_street_miss_nineteen_frames_and_one(app: ASGIApp, lecture: Mapping[str, object]) -> None:
    query = "model=published:segformer_b5&model=published:efficientvit_l1&fps=30"
    found = weighbridge.Comparison.from_dict(ask(f"/compared.json?{query}", app=app).json())
    assert found.deadline is not None
    text = read(ask(f"/compared?{query}", app=app).text).text
    assert [one.frames_missed for one in found.deadline.by] == [19, 1]
    assert "19" in text


def test_two_uploads_of_one_name_are_told_apart_as_two_files_of_one_name_are(app: ASGIApp, folder: Path) -> None:
    first = upload(app, folder / "small.toml")
    (folder / "small.toml").write_text(SMALL.replace("out = 4", "out = 5"), encoding="utf-8")
    second = upload(app, folder / "small.toml")
    found = ask(f"/compared.json?model={first}&model={second}", app=app).json()
    assert [one["name"] for one in found["models"]] == ["small.toml", "small.toml (2)"]
    (macs,) = [one for one in found["metrics"] if one["name"] == "macs"]
    assert macs["values"] == [32, 40]


def test_every_option_of_the_command_is_a_field_and_has_its_name() -> None:
    from weighbridge.cli.compare import Request

    elsewhere = {"models", "on", "json", "csv", "markdown", "outputs", "all_rows", "strict"}
    assert {field.name for field in COMPARED} == set(Request._fields) - elsewhere


# --- the form


def test_the_form_offers_all_that_can_be_compared(app: ASGIApp, folder: Path) -> None:
    reference = upload(app, folder / "small.toml")
    page = read(ask("/compare", app=app).text)
    offered = {has["value"] for tag, has in page.tags if tag == "option"}
    rows = {f"published:{name}" for name in published_names()}
    assert {*names(), *rows, reference, "report:saved", "report:no device"} <= offered
    ticks = {has["value"] for tag, has in page.tags if tag == "input" and has.get("name") == "on"}
    assert {"own:mine", "toy", "mcu"} <= ticks
    assert faults(page) == {}


def sent(page: Page) -> list[tuple[str, str]]:
    """What the form sends as it stands, in order."""
    pairs: list[tuple[str, str]] = []
    for tag, has in page.tags:
        if tag == "select":
            pairs.append((has["name"], ""))
        elif tag == "option" and "selected" in has:
            pairs[-1] = (pairs[-1][0], has["value"])
        elif tag == "textarea":
            pairs.append((has["name"], page.texts[has["id"]]))
        elif tag == "input" and (has["type"] != "checkbox" or "checked" in has):
            pairs.append((has["name"], has["value"]))
    return pairs


QUERY = (
    "model=mobilenet_v2:width=0.75&model=report:saved&model=published:segformer_b5"
    "&on=own:mine&on=toy&batch=2&weight_bits=8&energy=45nm&fps=30&as_written=1"
)


def test_a_form_sends_what_it_was_filled_with_and_is_led_to_the_address_that_says_no_more(app: ASGIApp) -> None:
    page = read(ask(f"/compare?{QUERY}", app=app).text)
    answer = ask(f"/compared?{urlencode(sent(page))}", app=app)
    assert answer.status_code == 303
    location = urlsplit(answer.headers["location"])
    assert sorted(parse_qsl(location.query)) == sorted(parse_qsl(QUERY))
    assert ask(f"/compared?{location.query}", app=app).status_code == 200


def test_a_page_leads_back_to_its_form_and_to_its_twin(app: ASGIApp) -> None:
    page = read(ask("/compared?model=lenet5&model=mlp&on=toy", app=app).text)
    links = [has["href"] for tag, has in page.tags if tag == "a"]
    assert "/compare?model=lenet5&model=mlp&on=toy" in links
    assert "/compared.json?model=lenet5&model=mlp&on=toy" in links
    assert "/devices" in links


def rows_of(page: Page) -> int:
    return sum(tag == "select" and has["name"] == "model" for tag, has in page.tags)


def test_a_button_gives_more_rows_and_loses_nothing(app: ASGIApp) -> None:
    page = read(ask(f"/compare?{QUERY}", app=app).text)
    (button,) = [has for tag, has in page.tags if tag == "button" and has.get("name") == "more"]
    more = read(ask(f"{button['formaction']}?{urlencode([*sent(page), ('more', '1')])}", app=app).text)
    assert (rows_of(page), rows_of(more)) == (3, 6)
    assert sorted(pair for pair in sent(more) if pair[1]) == sorted(pair for pair in sent(page) if pair[1])
    assert faults(more) == {}
    assert (
        rows_of(read(ask(f"/compare?{'&'.join(f'model={name}' for name in names()[:15])}&more=1").text)) == MOST_MODELS
    )


def test_every_example_can_be_compared(app: ASGIApp) -> None:
    page = read(ask("/compare", app=app).text)
    examples = [has["href"] for tag, has in page.tags if tag == "a" and has["href"].startswith("/compared?")]
    assert len(examples) == 3
    with opened() as shelf:
        for address in examples:
            found = asked(parse_qsl(urlsplit(address).query), shelf)
            assert found.is_good
            assert f"/compared?{found.query}" == address


def test_the_address_of_a_form_is_a_fault_of_nobody_while_it_is_filled_in(app: ASGIApp) -> None:
    for query in ("", "model=", "model=lenet5", "on=toy", "model=lenet5&model=&choices="):
        assert faults(read(ask(f"/compare?{query}", app=app).text)) == {}


# --- bad input


BAD = {
    "nothing": ("", {"": "no model is nothing to compare; give two or more"}),
    "one alone": ("model=lenet5", {"": "one model is nothing to compare; give two or more"}),
    "twice": ("model=lenet5&model=mlp&model=lenet5", {"model-3": "is there twice"}),
    "no such network": ("model=lenet5&model=lenet6", {"model-2": "did you mean lenet5?"}),
    "an upload that went": ("model=lenet5&model=upload:abc", {"model-2": "this model is not here any more"}),
    "a report that went": ("model=report:gone&model=mlp", {"model-1": "there is no saved report 'gone'"}),
    "a path": ("model=lenet5&model=report:../x", {"model-2": "is no name here"}),
    "no such row": ("model=lenet5&model=published:segformer_b6", {"model-2": "did you mean published:segformer_b5?"}),
    "a damaged report": ("model=lenet5&model=report:damaged", {"model-2": ""}),
    "no such parameter": ("model=mlp&model=lenet5:wdth=2", {"model-2": "wdth: there is no such parameter"}),
    "parameters of a report": ("model=mlp&model=report:saved&choices=a=1", {"model-2": "has no parameters"}),
    "parameters of nothing": ("model=mlp&model=lenet5&model=&choices=a=1", {"model-3": "choose the model"}),
    "nothing takes the batch": (
        "model=report:saved&model=published:segformer_b5&batch=2",
        {"batch": "nothing is left"},
    ),
    "nothing takes a device": ("model=report:saved&model=report:no device&on=toy", {"on": "nothing is left"}),
    "nothing takes inputs": ("model=report:saved&model=report:no device&inputs=x=1", {"inputs": "nothing is left"}),
    "a rate without a time": ("model=lenet5&model=mlp&fps=30", {"fps": "frames missed need a device"}),
    "no rate": ("model=lenet5&model=mlp&fps=fast&on=toy", {"fps": "'fast' is no frame rate"}),
    "no such device": ("model=lenet5&model=mlp&on=own:nobody", {"on": "there is no device file 'nobody'"}),
    "a path for a device": ("model=lenet5&model=mlp&on=./mine.toml", {"on": "there is no device './mine.toml'"}),
    "a batch below 1": ("model=lenet5&model=mlp&batch=0", {"batch": "must be a whole number from 1 on, not '0'"}),
    "no such field": ("model=lenet5&model=mlp&precison=int8", {"": "did you mean precision?"}),
    "too many": ("&".join(f"model=lenet5:classes={one}" for one in range(2, 19)), {"": "at most 16 models"}),
}


@pytest.mark.parametrize(("query", "said"), BAD.values(), ids=BAD)
def test_what_is_wrong_stands_where_it_is_and_the_form_is_as_it_was(
    query: str, said: Mapping[str, str], app: ASGIApp
) -> None:
    answer = ask(f"/compared?{quote(query, safe='=&:/')}", app=app)
    assert answer.status_code == 422
    page = read(answer.text)
    found = faults(page)
    assert set(found) == set(said)
    assert all(text in found[field] for field, text in said.items())
    assert all(
        any(value == given or value == given.partition(":")[0] for _, value in sent(page))
        for name, given in parse_qsl(query)
        if name not in ("on", "precison") and given != "lenet5:classes=18"
    )
    twin = ask(f"/compared.json?{quote(query, safe='=&:/')}", app=app)
    assert twin.status_code == 422
    assert set(twin.json()) == {"error"}


def test_two_faults_are_two_faults(app: ASGIApp) -> None:
    query = "model=lenet6&model=mlp&batch=0"
    assert set(faults(read(ask(f"/compared?{query}", app=app).text))) == {"model-1", "batch"}
    assert ask(f"/compared.json?{query}", app=app).json()["error"].startswith("there are 2 faults\n")


def test_a_hostile_name_is_text(folder: Path) -> None:
    """A report has the names that its file says, and the file was made by anybody."""
    hostile = "<img src=x onerror=alert(1)>"
    report = weighbridge.weigh("mlp", on="toy").to_json()
    (folder / "a (1).json").write_text(report.replace('"mlp"', json.dumps(hostile)), encoding="utf-8")
    app = fresh(folder)
    for address in ("/compare?model=report:a (1)", "/compared?model=report:a (1)&model=lenet5&on=toy"):
        answer = ask(address, app=app)
        assert answer.status_code == 200
        assert "<img" not in answer.text
    page = read(ask(f"/compared?model={quote(hostile)}&model={quote('upload:<b>')}", app=app).text)
    assert "img" not in {tag for tag, _ in page.tags}
    assert "upload:<b>" in {has["value"] for tag, has in page.tags if tag == "option"}


def test_published_rows_are_called_by_their_titles_above_the_page(app: ASGIApp) -> None:
    text = ask("/compared?model=published:segformer_b5&model=published:efficientvit_l1", app=app).text
    assert f"<b>{find('segformer_b5').title}, {find('efficientvit_l1').title}</b>" in text
