"""What a check shows: on a terminal, as Markdown, as JUnit XML and as JSON, from records made by hand."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from weighbridge import weigh
from weighbridge.budgets.junit import render
from weighbridge.budgets.language import budget_of
from weighbridge.budgets.page import markdown, text
from weighbridge.budgets.record import NOT_EXACT, OVER, PASSED, Blame, Checked, CheckedModel, Result, Unchecked
from weighbridge.report.layers import LayerChange, LayerFigures
from weighbridge.report.markdown import escaped
from weighbridge.report.matching import Differences
from weighbridge.report.terminal import Look

_OLD = LayerFigures("conv", (1, 8, 4, 4), 72, 72, 288, 1_152, 512)
_WIDE = LayerFigures("conv", (1, 16, 4, 4), 144, 144, 576, 2_304, 1_024)
_PASSES = Result(budget_of("parameters <= 61706"), PASSED, "", 61_706, True, limit=61_706)
_OVER = Result(
    budget_of("macs <= 2 k"),
    OVER,
    "",
    2_304,
    True,
    limit=2_000,
    over_by=304,
    blame=(Blame("conv1", _OLD, _WIDE, "macs", 1_152),),
)
_GROWN = Result(
    budget_of("macs grow <= 2 % against the baseline"),
    OVER,
    "",
    2_304,
    True,
    baseline=1_152,
    limit=1_175,
    over_by=1_129,
)
_UNSURE = Result(
    budget_of("macs <= 1 G"), NOT_EXACT, "", 1_000, False, limit=10**9, notes=("not counted: odd_1 (mine.Odd)",)
)
_UNKNOWN = Result(budget_of("activations.total <= 3"), NOT_EXACT, "", None, False, limit=3)
_DIFFERENCES = Differences((LayerChange("conv1", _OLD, _WIDE, None, "name"),), 4, (("stem", "conv0"),))


def _checked(*results: Result, name: str = "net", differences: Differences | None = None) -> Checked:
    model = CheckedModel(name, "lenet5", weigh("lenet5"), results, differences)
    return Checked("weighbridge 1", (model,))


def _text(checked: Checked, **options: bool) -> str:
    return text(checked, Look(100), **options)


def test_all_pass() -> None:
    shown = _text(_checked(_PASSES, _PASSES))
    assert shown == str(_checked(_PASSES, _PASSES))
    assert shown.startswith("2 budgets of 1 model: all pass\n")
    assert "over" not in shown
    assert "passed  parameters <= 61706  61,706  <= 61,706" in shown


def test_the_table_marks_what_is_a_lower_bound_and_what_is_unknown() -> None:
    over = _OVER._replace(exact=False)
    rows = [re.split(" {2,}", line.strip()) for line in _text(_checked(_PASSES, over, _UNSURE, _UNKNOWN)).splitlines()]
    cells = {row[1]: row[2:] for row in rows if row[0] in (PASSED, OVER, NOT_EXACT)}
    assert cells == {
        "parameters <= 61706": ["61,706", "<= 61,706"],
        "macs <= 2 k": [">= 2,304", "<= 2,000", ">= 304"],
        "macs <= 1 G": [">= 1,000", "<= 1,000,000,000"],
        "activations.total <= 3": ["?", "<= 3"],
    }


@pytest.mark.parametrize(
    ("budget", "unit", "value", "limit", "shown"),
    [
        ("macs < 10", "", 3, 9, "<= 9"),  # of whole numbers the limit is the largest that passes
        ("macs <= 10", "", 3, 10, "<= 10"),
        ("parameter_bytes < 10 B", "B", 3, 9, "<= 9 B"),
        ("parameters == 3", "", 3, 3, "== 3"),
        ("floor_s < 40 ms on toy", "s", 0.001, 0.04, "< 40.00 ms"),
    ],
)
def test_a_limit_has_the_relation_that_it_is_one_by(
    budget: str, unit: str, value: float, limit: float, shown: str
) -> None:
    page = _text(_checked(Result(budget_of(budget), PASSED, unit, value, True, limit=limit)))
    (row,) = (line for line in page.splitlines() if line.lstrip().startswith("passed "))
    assert re.split(" {2,}", row.strip())[3] == shown


def test_what_broke_by_how_much_and_at_which_layer() -> None:
    shown = _text(_checked(_PASSES, _OVER, differences=_DIFFERENCES))
    assert shown.startswith("2 budgets of 1 model: 1 passed, 1 over budget\n")
    assert "over budget: macs <= 2 k: 2,304, which is 304 too much (15.20 % of the limit)\n" in shown
    assert "  conv1 has 1,152 MACs more: 1,152 -> 2,304\n" in shown
    assert "layers: 4 as in the baseline, 1 of them renamed (stem -> conv0), 1 changed\n" in shown
    assert "layers that differ from the baseline: 1\n" in shown


def test_growth_is_told_from_what_it_was() -> None:
    shown = _text(_checked(_GROWN))
    assert "1,152 in the baseline, 2,304 now (100.0 % more), which is 1,129 too much" in shown.replace("\n  ", " ")
    at_least = _GROWN._replace(exact=False)
    assert "1,152 in the baseline, >= 2,304 now (at least 100.0 % more)" in render(_checked(at_least)).replace(
        "&gt;", ">"
    )
    assert ">= 1,129 too much (>= 96.09 % of the limit)" in render(_checked(at_least)).replace("&gt;", ">")


@pytest.mark.parametrize("value", [1_000, 1_152])
def test_a_lower_bound_that_is_no_more_than_it_was_says_nothing_of_growth(value: int) -> None:
    shown = _text(_checked(_GROWN._replace(status=NOT_EXACT, value=value, exact=False, over_by=None)))
    assert f"1,152 in the baseline, >= {value:,} now is a lower bound" in shown.replace("\n  ", " ")
    assert "less" not in shown


def test_growth_from_a_lower_bound_shows_that_it_is_one() -> None:
    result = _GROWN._replace(status=NOT_EXACT, baseline_exact=False, over_by=None)
    shown = _text(_checked(result)).replace("\n  ", " ")
    assert ">= 1,152 in the baseline, 2,304 now, and the baseline is not exact" in shown
    assert "<= 1,175 or more  >= 1,152" in shown


def test_figures_that_no_float_holds_are_shown_all_the_same() -> None:
    huge = 10**400
    shown = render(_checked(_GROWN._replace(value=huge, over_by=huge - 1_175)))
    assert f"{huge:,} now" in shown


def test_growth_to_what_it_was_and_from_nothing() -> None:
    assert "1,152 in the baseline, 1,152 now, as it was" in render(_checked(_GROWN._replace(value=1_152)))
    from_nothing = render(_checked(_GROWN._replace(baseline=0)))
    assert "0 in the baseline, 2,304 now (2,304 more)" in from_nothing


def test_nothing_is_a_share_of_less_than_nothing() -> None:
    shrunk = budget_of("macs grows <= -2 k")
    shown = _text(_checked(_GROWN._replace(budget=shrunk, limit=-848, over_by=3_152)))
    assert "which is 3,152 too" in shown
    assert "of the limit" not in shown


def test_a_figure_that_must_equal_something() -> None:
    less = Result(budget_of("parameters == 61706"), OVER, "", 60_000, True, limit=61_706, over_by=-1_706)
    shown = _text(_checked(less))
    assert "60,000, not 61,706" in shown
    assert "too much (" not in shown


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (_UNSURE, "not exact: macs <= 1 G: >= 1,000 is a lower bound, so nobody knows whether it passes"),
        (_UNKNOWN, "not exact: activations.total <= 3: unknown, so nobody knows whether it passes"),
        (
            Result(budget_of("fits on toy"), NOT_EXACT, "B", "unknown", False),
            "not exact: fits on toy: nobody knows whether it fits",
        ),
    ],
)
def test_what_is_not_exact(result: Result, said: str) -> None:
    assert said in _text(_checked(result)).replace("\n  ", " ")
    assert f"- **{escaped(said)}**\n" in markdown(_checked(result))
    (case,) = ElementTree.fromstring(render(_checked(result))).iter("testcase")
    assert [(one.tag, one.get("type")) for one in case] == [("error", NOT_EXACT)]


def test_a_verdict() -> None:
    result = Result(budget_of("fits on toy"), OVER, "B", "does not fit", True, over_by=4_096)
    assert "does not fit: at the worst 4,096 B short" in _text(_checked(result)).replace("\n  ", " ")


def test_what_was_not_checked_is_never_passed_over() -> None:
    checked = Checked(
        "weighbridge 1",
        _checked(_PASSES).models,
        (
            Unchecked("net", "lenet5", "floor_s <= 4 ms on toy", "this model is not weighed on 'toy'"),
            Unchecked("lost", "lost.onnx", None, "there is no such file"),
        ),
    )
    assert checked.exit_code == 2
    shown = _text(checked)
    assert shown.startswith("2 budgets of 1 model: 1 passed, 1 not checked; 1 model could not be weighed: lost\n")
    assert "net: floor_s <= 4 ms on toy: this model is not weighed on 'toy'\n" in shown
    assert "lost: there is no such file\n" in shown
    assert "lost: there is no such file" in markdown(checked)
    suites = ElementTree.fromstring(render(checked))
    assert [(suite.get("name"), suite.get("tests"), suite.get("errors")) for suite in suites] == [
        ("net", "2", "1"),
        ("lost", "1", "1"),
    ]
    assert checked.to_dict()["unchecked"] == [one._asdict() for one in checked.unchecked]
    alone = checked._replace(models=(), unchecked=checked.unchecked[1:])
    assert _text(alone).startswith("1 model could not be weighed: lost\n")


def test_many_layers_are_cut_short_unless_all_are_asked_for() -> None:
    many = _OVER._replace(blame=tuple(Blame(f"conv{place}", _OLD, _WIDE, "macs", 1_152) for place in range(9)))
    assert "  --all names 6 more\n" in _text(_checked(many))
    assert "conv8" in _text(_checked(many), all_rows=True)
    assert "conv8" in markdown(_checked(many))
    assert "conv8" in render(_checked(many))


def test_layers_without_a_baseline_new_ones_and_those_as_they_were() -> None:
    result = _OVER._replace(
        blame=(
            Blame("largest", None, _WIDE, "macs"),
            Blame("added", None, _WIDE, "macs", 2_304),
            Blame("peak", _WIDE, _WIDE),
        )
    )
    shown = _text(_checked(result))
    assert "  largest: conv, 144 weights, 2,304 MACs, output 1x16x4x4\n" in shown
    assert "  added has 2,304 MACs more, as it is new: conv, 144 weights, 2,304 MACs, output 1x16x4x4\n" in shown
    assert "  peak, where the peak is: conv, 144 weights, 2,304 MACs, output 1x16x4x4\n" in shown


def test_layers_that_did_not_grow_are_called_the_largest() -> None:
    known = (Blame("a", _WIDE, _WIDE, "macs"), Blame("b", _OLD, _OLD, "macs"))
    shown = _text(_checked(_OVER._replace(blame=known)))
    assert (
        "  no layer is known to have grown since the baseline; these have most MACs:\n  a: conv, 144 weights" in shown
    )
    alone = _text(_checked(_OVER._replace(blame=tuple(one._replace(before=None) for one in known))))
    assert "  these have most MACs:\n  a: conv, 144 weights" in alone
    grown = _OVER._replace(blame=(Blame("a", _OLD, _WIDE, "time_s"),))
    assert "  of the layers that grew these take longest:\n  a: weights 72 -> 144, MACs" in _text(_checked(grown))
    slow = _text(_checked(_OVER._replace(blame=tuple(one._replace(by="time_s", before=None) for one in known))))
    assert "  these take longest:\n" in slow


def test_junit_counts_what_its_cases_say() -> None:
    checked = _checked(_PASSES, _OVER, _GROWN, _UNSURE, _UNKNOWN)
    root = ElementTree.fromstring(render(checked))
    (suite,) = root
    assert root.tag == "testsuites"
    for element in (root, suite):
        assert [element.get(name) for name in ("tests", "failures", "errors")] == ["5", "2", "2"]
    cases = {case.get("name"): [(one.tag, one.get("type")) for one in case] for case in suite}
    assert cases == {
        "parameters <= 61706": [],
        "macs <= 2 k": [("failure", OVER)],
        "macs grow <= 2 % against the baseline": [("failure", OVER)],
        "macs <= 1 G": [("error", NOT_EXACT)],
        "activations.total <= 3": [("error", NOT_EXACT)],
    }
    assert {case.get("classname") for case in suite} == {"weighbridge.net"}
    failure = suite.find("testcase/failure")
    assert failure is not None
    told = "conv1 has 1,152 MACs more: weights 72 -> 144, MACs 1,152 -> 2,304, output 1x8x4x4 -> 1x16x4x4"
    assert told in (failure.text or "")


@pytest.mark.parametrize("name", ["<b>&\"'", "a\x00b\x1b[31m", "\ud800", "\ufffe", "|`*_[x](javascript:1)", "x" * 900])
def test_hostile_names_harm_no_page(name: str) -> None:
    blame = Blame(name, _OLD, _WIDE, "macs", 1_152)
    differences = Differences((LayerChange(name, _OLD, _WIDE, None, "name"),), 0, ((name, name + "2"),))
    checked = _checked(_OVER._replace(blame=(blame,), notes=(name,)), name=name, differences=differences)
    checked = checked._replace(unchecked=(Unchecked(name, name, None, name),))
    for page in (_text(checked), markdown(checked), render(checked)):
        page.encode()
        assert "\x1b" not in page
        assert "\x00" not in page
    ElementTree.fromstring(render(checked))
    assert "<b>" not in markdown(checked)
    assert "[x](javascript" not in markdown(checked)
    json.loads(checked.to_json())


def test_json_has_the_records_under_their_names() -> None:
    data = json.loads(_checked(_OVER, _GROWN, differences=_DIFFERENCES).to_json())
    assert list(data) == ["schema", "tool", "exit_code", "models", "unchecked"]
    assert (data["schema"], data["exit_code"]) == (1, 1)
    (model,) = data["models"]
    assert list(model) == ["name", "source", "results", "differences"]
    over, grown = model["results"]
    assert list(over) == list(Result.__annotations__)
    assert over["budget"] == {
        "text": "macs <= 2 k",
        "metric": "macs",
        "device": None,
        "relation": "<=",
        "bound": 2000,
        "grows": False,
        "is_share": False,
    }
    assert grown["budget"]["bound"] == float(Fraction(1, 50))
    assert over["blame"][0]["before"]["macs"] == 1_152
    assert model["differences"]["renamed"] == [["stem", "conv0"]]


def test_ascii_terminals_get_ascii() -> None:
    assert text(_checked(_OVER, _UNSURE, differences=_DIFFERENCES), Look(60, unicode=False)).isascii()
