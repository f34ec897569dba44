"""JSON text is refused with the path of what is no JSON in it, and with the place where it cannot be read on."""

from __future__ import annotations

import json

import pytest

import weighbridge
from weighbridge import BadSpec, Report
from weighbridge.report.json_text import parsed

SAVED = weighbridge.weigh("lenet5", on="toy").to_json()


def fault(text: str | bytes) -> BadSpec:
    with pytest.raises(BadSpec) as caught:
        parsed(text)
    assert str(caught.value).isprintable()
    return caught.value


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "$", "has the key 'a' twice"),
        ('{"a": [{}, {"b": {"c": 1, "c": 1}}]}', "$.a[1].b", "has the key 'c' twice"),
        ('{"a": 1, "a": {"b": 1, "b": NaN}}', "$", "has the key 'a' twice"),
        ('{"a": [0, NaN]}', "$.a[1]", "NaN is no JSON number"),
        ('{"a": -Infinity, "b": NaN}', "$.a", "-Infinity is no JSON number"),
        ('[{"a": ' + "9" * 5000 + "}]", "$[0].a", "is a number of 5,000 digits"),
        ('{"a": {"b": 1, "b": 1}, "c": ' + "9" * 5000 + "}", "$.a", "has the key 'b' twice"),
        ('{"\\u202e": [NaN]}', r"$.\u202e[0]", "NaN is no JSON number"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_json_has_its_path(text: str, where: str, what: str) -> None:
    error = fault(text)
    assert (error.where, error.what) == (where, what)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is empty"),
        (" \n\t ", "it is empty"),
        ("{", "it breaks off in line 1, before"),
        ('{"a": 1,\n"b', "it breaks off in line 2, before"),
        ('{\n"a": 1,\n"b": [1, 2\n\n', "it breaks off in line 3, before"),
        ('{"a": 1} {"b": 2}', "no JSON in line 1, column 10: "),
        ("{'a': 1}", "no JSON in line 1, column 2: "),
        ("[" * 100_000, "it is nested too deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "it is nested too deep"),
        (b"\xff\xfe", "this is no saved report: "),
    ],
    ids=lambda value: str(value[:20]),
)
def test_what_cannot_be_read_on_has_its_place(text: str | bytes, what: str) -> None:
    error = fault(text)
    assert error.where == ""
    assert what in error.what


SHORT = '{"a": [true, false, null, -1.5e-3, "\\u00e9\\n\\\\"], "b": -0}'


@pytest.mark.parametrize("text", [SHORT, SAVED], ids=["short", "a report"])
def test_what_is_cut_short_is_said_to_break_off(text: str) -> None:
    assert parsed(text)
    whole = text.rstrip()
    for end in range(1, len(whole), 1 if text is SHORT else 61):
        assert "it breaks off in line " in fault(whole[:end]).what, whole[:end][-20:]


def test_what_is_json_is_read_as_python_reads_it() -> None:
    text = f'{{"a": [1, 1.5, -2, 1e3, true, null, "\\ud800", {{}}], "b": {10**4000}}}'
    assert parsed(text) == json.loads(text)
    assert parsed(SAVED) == json.loads(SAVED)


def test_python_users_are_asked_whether_it_is_a_path() -> None:
    with pytest.raises(BadSpec, match="not the path of the file"):
        Report.from_json("saved.json")
    with pytest.raises(BadSpec, match=r"^\$\.tool: NaN is no JSON number; this is no saved report$"):
        Report.from_json('{"schema": 1, "tool": NaN}')


def test_a_value_that_is_nested_deep_is_refused_with_its_path() -> None:
    """Python reads what is nested some hundred levels deep."""
    data = json.loads(SAVED)
    data["facts"]["macs"] = json.loads("[" * 400 + "]" * 400)
    with pytest.raises(BadSpec, match=r"^\$\.facts\.macs: must be a whole number, not "):
        Report.from_json(json.dumps(data))
