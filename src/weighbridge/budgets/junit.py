"""A check as JUnit XML, which the pages of continuous integration read: a test a budget."""

from __future__ import annotations

from collections import Counter
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from weighbridge.budgets.record import NOT_EXACT, OVER, Checked, CheckedModel, Result, Unchecked
from weighbridge.budgets.words import NOT_CHECKED, blamed, outcome, reason, shown_budget
from weighbridge.errors import printable

__all__ = ["render"]

_ELEMENTS: Final = {OVER: "failure", NOT_EXACT: "error"}


def render(checked: Checked) -> str:
    """The XML text: a suite a model and a case a budget, a failure for what is over, an error for what nobody knows.

    A model that could not be read is a suite of one case in error.  The elements and attributes are those that Jenkins and
    GitLab read; there are no times, as nothing here was measured.
    """
    root = Element("testsuites", name=printable(checked.tool))
    of_model: dict[str, tuple[CheckedModel | None, list[Unchecked]]] = {
        model.name: (model, []) for model in checked.models
    }
    for one in checked.unchecked:
        of_model.setdefault(one.model, (None, []))[1].append(one)
    for name, (model, unchecked) in of_model.items():
        _suite(root, name, model, unchecked)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, name: str, model: CheckedModel | None, unchecked: list[Unchecked]) -> None:
    suite = SubElement(root, "testsuite", name=printable(name))
    for result in () if model is None else model.results:
        _result(suite, result)
    for one in unchecked:
        budget = "can be weighed" if one.budget is None else printable(one.budget)
        _trouble(_case(suite, budget), "error", NOT_CHECKED, reason(one), [])
    found = Counter(trouble.tag for case in suite for trouble in case)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(found["failure"]))
    suite.set("errors", str(found["error"]))


def _result(suite: Element, result: Result) -> None:
    case = _case(suite, shown_budget(result))
    element = _ELEMENTS.get(result.status)
    if element is not None:
        details = [*(printable(note, 600) for note in result.notes), *blamed(result, in_full=True)]
        _trouble(case, element, result.status, outcome(result), details)


def _case(suite: Element, name: str) -> Element:
    return SubElement(suite, "testcase", classname=f"weighbridge.{suite.get('name')}", name=name)


def _trouble(case: Element, element: str, kind: str, message: str, details: list[str]) -> None:
    trouble = SubElement(case, element, type=kind, message=message)
    trouble.text = "\n".join([message, *details])
