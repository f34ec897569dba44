"""Every page and its twin: what they show, what they say of bad input, and what no answer goes out without."""

from __future__ import annotations

import json
from itertools import pairwise
from urllib.parse import quote, urlencode

import pytest

from tests.web.client import ask, fresh, read
from tests.web.states import bad_values
from weighbridge.errors import BadSpec, MissingExtra, WeighbridgeError
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.web import server
from weighbridge.web.controls import Choice, Number, State, Switch
from weighbridge.web.simulator import Answer, Preset, Readout, Simulator
from weighbridge.web.simulators import simulators

ALL = list(simulators().values())
BY_NAME = pytest.mark.parametrize("simulator", ALL, ids=lambda one: one.name)
CONTROLS = [(one, control) for one in ALL for control in one.controls]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-resource-policy",
    "cross-origin-opener-policy",
    "cache-control",
}


def made(error: Exception | None = None) -> Simulator:
    """A simulator with one control of each kind; with an ``error`` it raises that."""

    def answer(state: State) -> Answer:
        if error is not None:
            raise error
        grid = Grid("A table", (Column("name"), Column("bytes", is_number=True)), (GridRow(("<i>", "12")),), ("<u>",))
        return Answer((Readout("n", "<n>", state["n"], str(state["n"]), "<meaning>", "<group>"),), tables=(grid,))

    controls = (
        Number("n", "<b>n</b>", 3, 1, 9, meaning="<em>"),
        Choice("kind", "kind", "a", {"a": "<a>", "b": "b"}),
        Switch("on", "on", False),
    )
    return Simulator("made", "<title>", "What?", "<p>", controls, answer, (Preset("<preset>", {"n": 4}),))


def app_of(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> server.ASGIApp:
    monkeypatch.setattr(server, "simulators", lambda *_: {simulator.name: simulator})
    return fresh()


@BY_NAME
def test_a_page_shows_without_scripts_all_that_its_twin_has(simulator: Simulator) -> None:
    answer = ask(f"/{simulator.name}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page, twin = read(answer.text), ask(f"/{simulator.name}.json").json()
    shown = " ".join(page.texts["answer"].split())
    for readout in twin["readouts"]:
        for part in ("label", "shown", "meaning", "group"):
            assert " ".join(readout[part].split()) in shown
    cells = [cell for table in twin["tables"] for row in table["rows"] for cell in row]
    titles = [text for table in twin["tables"] for text in (table["title"], *table["columns"], *table["notes"])]
    said = [text for plot in twin["plots"] for text in (plot["title"], plot["description"])]
    for text in (*twin["sentences"], *twin["notes"], *cells, *titles, *said):
        assert " ".join(text.split()) in shown


@BY_NAME
def test_the_form_of_a_page_sends_the_state_that_it_shows(simulator: Simulator) -> None:
    """Without scripts, where the button is all that moves: each preset is a page whose form comes to the same again."""
    for preset in (Preset("as it opens", {}), *simulator.presets):
        link = simulator.link(preset.state)
        page, twin = read(ask(link).text), ask(link.replace(simulator.name, f"{simulator.name}.json", 1)).json()
        form = next(has for tag, has in page.tags if tag == "form")
        assert (form["action"], form["method"]) == (f"/{simulator.name}", "get")
        assert set(page.fields) == {control.name for control in simulator.controls}
        again = ask(f"{form['action']}.json?{urlencode(page.fields)}")
        assert again.status_code == 200, preset.title
        assert again.json() == twin
        assert {name: twin["state"][name] for name in preset.state} == dict(preset.state)
        assert twin["address"] == link


@BY_NAME
def test_what_assistive_technology_needs_is_there(simulator: Simulator) -> None:
    page = read(ask(f"/{simulator.name}").text)
    ids = page.ids()
    assert len(ids) == len(set(ids))
    labelled = {has["for"] for tag, has in page.tags if tag == "label"}
    for tag, has in page.tags:
        if tag in ("input", "select"):
            assert has.get("id") in labelled or has.get("aria-label")
            assert set(has.get("aria-describedby", "").split()) <= set(ids)
        if tag == "th":
            assert has["scope"] in ("col", "row")
        if has.get("role") in ("region", "img"):
            assert has["aria-label"]
    headings = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3", "h4")]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert page.tags[0] == ("html", {"lang": "en"})


@pytest.mark.parametrize("path", ["/", "/nowhere", *(f"/{one.name}" for one in ALL)])
def test_a_page_holds_nothing_that_the_policy_in_its_headers_forbids(path: str) -> None:
    for tag, has in read(ask(path).text).tags:
        assert not [name for name in has if name == "style" or name.startswith("on")]
        assert tag != "style"
        if tag == "script":
            assert has.get("src", "").startswith("/static/") or has["type"] == "application/json"
        for name in ("src", "href", "action"):
            assert has.get(name, "/").startswith(("/", "#", "data:,"))
            assert not has.get(name, "/").startswith("//")


@BY_NAME
def test_what_a_page_hands_its_script_is_the_twin(simulator: Simulator) -> None:
    html = ask(f"/{simulator.name}").text
    held = html.split('id="held">', 1)[1].split("</script>", 1)[0]
    assert not set("<>&") & set(held)
    assert json.loads(held)["answer"] == ask(f"/{simulator.name}.json").json()


@pytest.mark.parametrize(
    ("simulator", "control"), CONTROLS, ids=[f"{one.name}.{control.name}" for one, control in CONTROLS]
)
def test_a_bad_value_is_said_beside_its_control(simulator: Simulator, control: Number | Choice | Switch) -> None:
    app = fresh()
    for place, text in enumerate(bad_values(control)):
        query = f"?{urlencode({control.name: text})}"
        twin = ask(f"/{simulator.name}.json{query}", app=app)
        assert twin.status_code == 422, text
        body = twin.json()
        assert list(body["faults"]) == [control.name]
        assert body["state"][control.name] == control.default
        assert body["readouts"] is body["sentences"] is body["plots"] is body["tables"] is None
        if place % 4:  # a page takes longer than its twin, and says the same
            continue
        answer = ask(f"/{simulator.name}{query}", app=app)
        page = read(answer.text)
        assert answer.status_code == 422
        assert page.texts[f"fault-{control.name}"].startswith(body["faults"][control.name])
        marked = [has["name"] for tag, has in page.tags if tag in ("input", "select") and "aria-invalid" in has]
        assert marked == [control.name]
        assert "<b>" not in answer.text.split("<main", 1)[1].split("</form>", 1)[0]
        assert page.texts["readouts"].strip()


@BY_NAME
def test_a_control_that_is_not_there_or_there_twice_is_said(simulator: Simulator) -> None:
    known = simulator.controls[0]
    twice = urlencode([(known.name, known.default), (known.name, known.default)])
    assert ask(f"/{simulator.name}.json?{twice}").json()["faults"] == {known.name: "is there twice"}
    unknown = ask(f"/{simulator.name}.json?{known.name}x=1").json()["faults"]
    assert unknown == {f"{known.name}x": f"there is no such control; did you mean {known.name}?"}
    page = read(ask(f"/{simulator.name}?%3Cscript%3E=1").text)
    assert page.texts["fault-"].strip() == "<script>: there is no such control"


def test_names_and_figures_are_text_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(made(), monkeypatch)
    page = read(ask("/made", app=app).text)
    for text in ("<title>", "<b>n</b>", "<em>", "<a>", "<n>", "<meaning>", "<group>", "<i>", "<u>", "<preset>"):
        assert text in page.text
    assert {tag for tag, _ in page.tags}.isdisjoint({"b>", "em", "i", "u", "preset", "n", "group"})
    assert "&lt;title&gt;" in ask("/", app=app).text


ERRORS = {
    "beside a control": (
        BadSpec("is no divisor", where="n", hint="try 3", details=("one", "two")),
        "n",
        "is no divisor; try 3\n  one\n  two",
    ),
    "at no control": (
        BadSpec("does not fit", where="$.layers[2]", hint="mend it"),
        "",
        "$.layers[2]: does not fit; mend it",
    ),
    "of another kind": (MissingExtra("no library", hint="pip install it"), "", "no library; pip install it"),
}


@pytest.mark.parametrize(("error", "where", "said"), ERRORS.values(), ids=ERRORS)
def test_values_that_do_not_go_together_are_the_error_of_the_command_line(
    error: WeighbridgeError, where: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(made(error), monkeypatch)
    twin, answer = ask("/made.json?n=4", app=app), ask("/made?n=4", app=app)
    assert (twin.status_code, answer.status_code) == (422, 422)
    assert twin.json()["faults"] == {where: said}
    assert twin.json()["state"]["n"] == 4
    assert " ".join(read(answer.text).texts[f"fault-{where}"].split()) == " ".join(said.split())
    assert "There is no answer" in answer.text


@pytest.mark.parametrize("path", ["/made", "/made.json"])
def test_a_fault_of_ours_is_one_line_in_the_terminal_and_none_of_it_leaves(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = app_of(made(ZeroDivisionError("secret\x1b[31m")), monkeypatch)
    answer = ask(path, app=app)
    assert answer.status_code == 500
    assert "a fault of weighbridge, not yours" in answer.text
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers.keys() >= HEADERS
    error = capsys.readouterr().err
    assert error.startswith("weighbridge: internal error: ZeroDivisionError: secret\\x1b[31m; ")
    assert error.count("\n") == 1


def test_a_fault_of_ours_comes_whole_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        ask("/made", app=app_of(made(ZeroDivisionError()), monkeypatch))


def test_a_page_that_is_not_there_names_those_that_are() -> None:
    answer = ask("/layr")
    page = read(answer.text)
    links = [has["href"] for tag, has in page.tags if tag == "a"]
    assert answer.status_code == 404
    assert "Did you mean One layer?" in page.text
    assert {f"/{name}" for name in simulators()} <= set(links)
    assert "Did you mean" not in ask("/%3Cscript%3Ealert(1)%3C/script%3E").text


@pytest.mark.parametrize("path", ["/layr.json", "/%FF.json", "/../../etc/passwd.json", "/static/../x.json"])
def test_a_twin_that_is_not_there_is_said_in_json(path: str) -> None:
    answer = ask(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
    hint = "did you mean /layer.json?" if "layr" in path else "/openapi.json lists all"
    assert answer.json() == {"error": f"there is no such page; {hint}"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/layer", 200),
        ("HEAD", "/layer", 200),
        ("GET", "/layer.json", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/static/app.css", 200),
        ("GET", "/static/app.js", 200),
        ("GET", "/static/vega.js", 200),
        ("GET", "/layer/", 307),
        ("GET", "/nowhere", 404),
        ("GET", "/static/../server.py", 404),
        ("POST", "/layer", 405),
        ("DELETE", "/layer.json", 405),
        ("GET", f"/layer?k={'1' * 9000}", 414),
        ("GET", f"/{'x' * 9000}", 414),
        ("GET", "/layer?k=0", 422),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_answer_tells_the_browser_what_it_may_do(method: str, path: str, status: int) -> None:
    answer = ask(path, method=method)
    assert answer.status_code == status
    assert answer.headers.keys() >= HEADERS
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_what_dresses_a_page_is_asked_for_anew_and_says_so_once() -> None:
    assert ask("/static/app.css").headers.get_list("cache-control") == ["no-cache"]


@pytest.mark.parametrize("path", ["/", "/layer", "/layer.json"])
def test_nothing_of_an_answer_is_stored(path: str) -> None:
    assert ask(path).headers["cache-control"] == "no-store"
    assert ask(path, method="HEAD").headers == ask(path).headers


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8631", "localhost", "localhost:9000"])
def test_the_names_of_this_machine_are_answered(host: str) -> None:
    assert ask("/layer.json", host=host).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8631", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "", "*"],
)
@pytest.mark.parametrize("path", ["/", "/layer.json", "/static/app.js", "/nowhere", "/layer/"])
def test_no_other_name_is_answered(host: str, path: str) -> None:
    """A page elsewhere whose name is made to lead to this machine reads nothing."""
    answer = ask(path, host=host)
    assert answer.status_code == 400
    assert answer.headers.keys() >= HEADERS - {"cross-origin-opener-policy"}
    assert "simulator" not in answer.text


@pytest.mark.parametrize("written", ["k=5", "%6B=%35", "k=+5+", "k=%2B5", "k=5.0", "k=5e0", "k=05"])
def test_a_value_may_be_written_in_several_ways_and_the_address_says_it_in_one(written: str) -> None:
    twin = ask(f"/layer.json?{written}").json()
    assert twin["faults"] == {}
    assert twin["state"]["k"] == 5
    assert isinstance(twin["state"]["k"], int)
    assert twin["address"] == "/layer?k=5"


@pytest.mark.parametrize(
    "hostile", ["%00", "%FF", "%ED%A0%80", "%E2%80%AE", "%0D%0AX-Y:1", quote("{{7*7}}"), "%1B[31m"]
)
def test_hostile_text_is_shown_in_a_form_that_does_nothing(hostile: str) -> None:
    for query in (f"?k={hostile}", f"?{hostile}=1", f"?kind={hostile}"):
        for path in ("/layer", "/layer.json"):
            answer = ask(f"{path}{query}")
            assert answer.status_code == 422
            assert answer.text.replace("\n", "").isprintable()
            assert "x-y" not in answer.headers
            assert "49" not in read(answer.text).texts["controls"] if path == "/layer" else True


def test_as_many_unknown_names_as_an_address_holds_are_answered() -> None:
    query = "&".join(f"{letter}{other}" for letter in "abcdefgh" for other in "qrstuvwxyz" for _ in range(20))
    answer = ask(f"/layer?{query[:7900]}")
    assert answer.status_code == 422


def test_the_app_keeps_nothing_between_requests() -> None:
    app = fresh()
    before = ask("/layer", app=app).content
    for query in ("k=11", "k=x", "kind=linear&bias=1", "nothing=1"):
        ask(f"/layer?{query}", app=app)
    assert ask("/layer", app=app).content == before
