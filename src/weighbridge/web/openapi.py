"""The description of every twin in JSON, made of the controls themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from weighbridge.web.controls import Blank, Control, Number, Switch, Words
from weighbridge.web.openapi_pages import SCHEMAS, page_paths
from weighbridge.web.simulator import Simulator

__all__ = ["document"]

_FIGURE: Final = {"type": ["number", "string", "boolean", "null"]}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_ANSWER: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": [
        "simulator",
        "address",
        "state",
        "faults",
        "readouts",
        "sentences",
        "plots",
        "tables",
        "unused",
        "remarks",
        "reaches",
        "notes",
    ],
    "properties": {
        "simulator": {"type": "string"},
        "address": {"type": "string", "description": "The page that shows this."},
        "state": {"type": "object", "additionalProperties": _FIGURE},
        "faults": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": 'What is wrong, by the control that says it; "" where it is no single one.',
        },
        "readouts": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "required": ["name", "label", "value", "shown", "meaning", "group"],
                "properties": {
                    "name": {"type": "string"},
                    "label": {"type": "string"},
                    "value": {**_FIGURE, "description": "Null is unknown."},
                    "shown": {"type": "string"},
                    "meaning": {"type": "string"},
                    "group": {"type": "string"},
                },
            },
        },
        "sentences": {"type": ["array", "null"], "items": {"type": "string"}},
        "plots": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "required": ["name", "title", "spec", "rows", "description"],
                "properties": {
                    "name": {"type": "string"},
                    "title": {"type": "string"},
                    "spec": {"type": "object", "description": "Vega-Lite; its data have the name of the plot."},
                    "rows": {"type": "array", "items": {"type": "object", "additionalProperties": _FIGURE}},
                    "description": {"type": "string"},
                },
            },
        },
        "tables": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "required": ["title", "columns", "numbers", "rows", "notes"],
                "properties": {
                    "title": {"type": "string"},
                    "columns": _TEXTS,
                    "numbers": {
                        "type": "array",
                        "items": {"type": "boolean"},
                        "description": "Which columns are numbers, for people; the exact ones are the readouts.",
                    },
                    "rows": {"type": "array", "items": _TEXTS},
                    "notes": _TEXTS,
                },
            },
        },
        "unused": {**_TEXTS, "description": "Controls that mean nothing in this state."},
        "remarks": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "What is said of the value of a control, by its name: of an answer whether it is right.",
        },
        "reaches": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "Where the slider of a control ends in this state, by its name; a control takes values beyond it.",
        },
        "notes": _TEXTS,
    },
}


def document(simulators: Iterable[Simulator], version: str) -> Mapping[str, Any]:
    """The OpenAPI document of the twins of ``simulators`` and of all other pages, of the tool's ``version``."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Weighbridge",
            "version": version,
            "description": "What the pages of the local app show, as JSON.",
        },
        "paths": {**{f"/{one.name}.json": {"get": _operation(one)} for one in simulators}, **page_paths()},
        "components": {"schemas": {"Answer": _ANSWER, **SCHEMAS}},
    }


def _operation(simulator: Simulator) -> Mapping[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}}
    return {
        "operationId": simulator.name,
        "summary": simulator.question,
        "description": simulator.meaning,
        "parameters": [_parameter(control) for control in simulator.controls],
        "responses": {
            "200": {"description": "All readouts of this state.", **body},
            "422": {"description": "A control has a value that it cannot have, or values do not go together.", **body},
        },
    }


def _parameter(control: Control) -> Mapping[str, Any]:
    return {
        "name": control.name,
        "in": "query",
        "required": False,
        "description": control.meaning or control.label,
        "schema": _schema(control),
    }


def _schema(control: Control) -> Mapping[str, Any]:
    if isinstance(control, Switch):
        return {"type": "string", "enum": ["0", "1"], "default": str(int(control.default))}
    if isinstance(control, Number):
        kind = "integer" if control.is_whole else "number"
        return {"type": kind, "minimum": control.minimum, "maximum": control.maximum, "default": control.default}
    if isinstance(control, Blank):
        filled = {"type": "integer", "minimum": 0, "maximum": control.maximum}
        return {"oneOf": [filled, {"const": ""}], "default": control.default}
    if isinstance(control, Words):
        return {"type": "string", "maxLength": control.longest, "default": control.default}
    return {"type": "string", "enum": list(control.choices), "default": control.default}
