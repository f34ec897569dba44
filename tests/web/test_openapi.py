"""The twins in JSON: described, alike for all simulators, and the same as what the page asks of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.web.client import ask, fresh
from tests.web.states import states
from weighbridge import __version__
from weighbridge.api import weigh
from weighbridge.web.controls import Blank, Number, State, Switch, Words, stated, written
from weighbridge.web.simulator import Simulator, answered, plain
from weighbridge.web.simulators import simulators

ALL = list(simulators().values())
BY_NAME = pytest.mark.parametrize("simulator", ALL, ids=lambda one: one.name)
FEW = settings(max_examples=15, phases=[Phase.explicit, Phase.generate])
"""Networks take a tenth of a second a state, and a state is short to read as it is: none is made smaller, or kept."""
APP = fresh()


@pytest.fixture(scope="module")
def document() -> Any:
    return ask("/openapi.json").json()


@pytest.fixture(scope="module")
def schema(document: Any) -> Draft202012Validator:
    return Draft202012Validator(document["components"]["schemas"]["Answer"])


OTHERS = [
    "/weighed.json",
    "/weigh.json",
    "/reports.json",
    "/reports/{name}.json",
    "/compared.json",
    "/devices.json",
    "/devices/{name}.json",
]


def test_every_twin_is_described_and_nothing_else(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == __version__
    assert list(document["paths"]) == [*(f"/{name}.json" for name in simulators()), *OTHERS]
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for operation in operations:
        for response in operation["responses"].values():
            reference = response["content"]["application/json"]["schema"]["$ref"]
            assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]
    for name in simulators():
        assert set(document["paths"][f"/{name}.json"]["get"]["responses"]) == {"200", "422"}


FILE = {"file": ("x.onnx", b"x")}
ASKED: dict[str, list[tuple[str, int, dict[str, Any]]]] = {
    "/weighed.json": [
        ("?model=lenet5&on=stm32f746&batch=2", 200, {}),
        ("?model=nothing", 404, {}),
        ("?model=lenet5&batch=x", 422, {}),
    ],
    "/weigh.json": [("", 422, {"files": FILE}), ("", 200, {"data": {"model": "lenet5"}}), ("", 415, {"content": b"x"})],
    "/reports.json": [("", 200, {})],
    "/reports/{name}.json": [("", 404, {})],
    "/compared.json": [("?model=lenet5&model=alexnet", 200, {}), ("?model=lenet5", 422, {})],
    "/devices.json": [("", 200, {})],
    "/devices/{name}.json": [("", 404, {})],
}


@pytest.mark.parametrize("path", OTHERS)
def test_the_other_twins_answer_as_they_are_described(path: str, document: Any) -> None:
    [(method, operation)] = document["paths"][path].items()
    for query, status, sent in ASKED[path]:
        answer = ask(path.replace("{name}", "nothing") + query, method=method.upper(), app=APP, **sent)
        assert answer.status_code == status
        response = operation["responses"][str(status)]
        reference = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        Draft202012Validator(document["components"]["schemas"][reference]).validate(answer.json())
        known = {one["name"] for one in operation["parameters"]}
        assert {name for name, _ in parse_qsl(query.removeprefix("?"))} <= known


def test_the_lists_have_what_their_schemas_name_and_nothing_else(tmp_path: Path, document: Any) -> None:
    (tmp_path / "lenet.json").write_text(weigh("lenet5").to_json(), encoding="utf-8")
    (tmp_path / "broken.toml").write_text("= [", encoding="utf-8")
    app = fresh(tmp_path)
    schemas = document["components"]["schemas"]
    for name, path in (("Reports", "/reports.json"), ("Devices", "/devices.json")):
        found = ask(path, app=app).json()
        assert all(found.values())
        Draft202012Validator(closed(schemas[name])).validate(found)
    Draft202012Validator(schemas["Device"]).validate(ask("/devices/toy.json", app=app).json())


def test_every_schema_is_one(document: Any) -> None:
    for one in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(one)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                Draft202012Validator.check_schema(parameter["schema"])
    for name in simulators():
        for parameter in document["paths"][f"/{name}.json"]["get"]["parameters"]:
            Draft202012Validator(parameter["schema"]).validate(parameter["schema"]["default"])


def test_the_schema_of_answers_names_all_that_an_answer_has(schema: Draft202012Validator) -> None:
    """With what it does not name forbidden: a twin has nothing that is described nowhere."""
    strict = Draft202012Validator(closed(schema.schema))
    for one in ALL:
        strict.validate(ask(f"/{one.name}.json", app=APP).json())


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(one) for name, one in schema.items()}
    return {"additionalProperties": False, **inner} if "properties" in schema else inner


@BY_NAME
def test_the_parameters_are_the_controls(simulator: Simulator, document: Any) -> None:
    parameters = {one["name"]: one for one in document["paths"][f"/{simulator.name}.json"]["get"]["parameters"]}
    assert list(parameters) == [control.name for control in simulator.controls]
    for control in simulator.controls:
        schema = parameters[control.name]["schema"]
        assert parameters[control.name]["in"] == "query"
        assert parameters[control.name]["description"]
        if isinstance(control, Number):
            assert (schema["minimum"], schema["maximum"]) == (control.minimum, control.maximum)
            assert (schema["type"] == "integer") == control.is_whole
        elif isinstance(control, Blank):
            assert schema["oneOf"] == [{"type": "integer", "minimum": 0, "maximum": control.maximum}, {"const": ""}]
        elif isinstance(control, Words):
            assert (schema["type"], schema["maxLength"]) == ("string", control.longest)
        else:
            assert schema["enum"] == (["0", "1"] if isinstance(control, Switch) else list(control.choices))


@BY_NAME
def test_the_ends_that_a_schema_names_are_taken(simulator: Simulator, document: Any) -> None:
    for parameter in document["paths"][f"/{simulator.name}.json"]["get"]["parameters"]:
        schema = parameter["schema"]
        ranged = schema["oneOf"][0] if "oneOf" in schema else schema
        ends = [ranged[end] for end in ("minimum", "maximum") if end in ranged]
        for value in schema.get("enum", [*ends, schema["default"]]):
            found = stated(simulator.controls, [(parameter["name"], str(value))])
            assert found.faults == {}, (parameter["name"], value)


@BY_NAME
def test_defaults_and_presets_have_answers(simulator: Simulator) -> None:
    for preset in ({}, *(one.state for one in simulator.presets)):
        assert set(preset) <= {control.name for control in simulator.controls}
        found, answer = answered(simulator, parse_qsl(simulator.link(preset).partition("?")[2]))
        assert found.faults == {}
        assert answer is not None
        assert {name: found.state[name] for name in preset} == dict(preset)


@BY_NAME
@FEW
@given(data=st.data())
def test_every_state_has_an_answer_or_says_what_does_not_go_together(
    simulator: Simulator, schema: Draft202012Validator, data: st.DataObject
) -> None:
    state = data.draw(states(simulator))
    link = simulator.link(state)
    found, answer = answered(simulator, parse_qsl(link.partition("?")[2]))
    assert found.state == state
    assert simulator.link(found.state) == link
    twin = plain(simulator, found, answer)
    schema.validate(json.loads(json.dumps(twin, allow_nan=False)))
    if answer is None:
        assert len(found.faults) == 1
        (where, said), *_ = found.faults.items()
        assert where in {"", *state}
        assert said
        return
    assert found.faults == {}
    assert twin["address"] == link
    check(simulator, twin)
    assert plain(simulator, found, simulator.answer(state)) == twin


def check(simulator: Simulator, twin: Mapping[str, Any]) -> None:
    """What holds of every answer, whatever it is about."""
    controls = {control.name for control in simulator.controls}
    names = [(one["group"], one["name"]) for one in twin["readouts"]]
    assert len(names) == len(set(names))
    for one in twin["readouts"]:
        assert one["shown"]
        if one["value"] is None:
            assert "?" in one["shown"], one
    assert set(twin["unused"]) <= controls
    assert set(twin["remarks"]) <= controls
    for table in twin["tables"]:
        assert len(table["numbers"]) == len(table["columns"])
        assert {len(row) for row in table["rows"]} <= {len(table["columns"])}
    plots = [one["name"] for one in twin["plots"]]
    assert len(plots) == len(set(plots))
    for one in twin["plots"]:
        assert one["description"]
    for text in (*twin["sentences"], *twin["notes"]):
        assert text
        assert "None" not in text
        assert "nan" not in text.split()


@BY_NAME
@settings(FEW, max_examples=6)
@given(data=st.data())
def test_the_server_says_what_python_says(simulator: Simulator, data: st.DataObject) -> None:
    state: State = data.draw(states(simulator))
    query = urlencode([(name, written(value)) for name, value in state.items()])
    found, answer = answered(simulator, parse_qsl(query))
    twin = ask(f"/{simulator.name}.json?{query}", app=APP)
    page = ask(f"/{simulator.name}?{query}", app=APP)
    assert twin.status_code == page.status_code == (422 if found.faults else 200)
    assert twin.json() == json.loads(json.dumps(plain(simulator, found, answer)))


@BY_NAME
@settings(FEW, max_examples=6)
@given(data=st.data())
def test_no_query_brings_the_server_down(simulator: Simulator, data: st.DataObject) -> None:
    names = st.one_of(st.sampled_from([control.name for control in simulator.controls]), st.text(max_size=20))
    texts = st.one_of(st.text(max_size=20), st.integers().map(str), st.floats().map(str))
    query = urlencode(data.draw(st.lists(st.tuples(names, texts), max_size=5)))
    for path in (f"/{simulator.name}", f"/{simulator.name}.json"):
        assert ask(f"{path}?{query}", app=APP).status_code in (200, 422)
