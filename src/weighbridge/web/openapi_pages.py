"""The description of the twins of all pages but the simulators: what is weighed, saved and compared, and the devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from weighbridge.web.compare_asked import COMPARED, MOST_MODELS
from weighbridge.web.fields import FIELDS, Field

__all__ = ["SCHEMAS", "page_paths"]

_TEXT: Final = {"type": "string"}
_ON: Final = {"type": "string", "description": "The name that an address has for it in on."}
_REPORT: Final = {
    "name": _TEXT,
    "address": {"type": "string", "description": "Its page; with .json behind it the report."},
    "network": {"type": ["string", "null"]},
    "size_bytes": {"type": "integer"},
    "size": _TEXT,
    "saved": {"type": "string", "description": "When, in the time of the machine."},
    "reference": {"type": "string", "description": "The name that an address has for it in model."},
}
_DEVICE: Final = {
    "on": _ON,
    "name": _TEXT,
    "title": _TEXT,
    "kind": _TEXT,
    "class": _TEXT,
    "core": _TEXT,
    "address": {"type": "string", "description": "All of it as JSON."},
}
_MODEL: Final = "NAME of a textbook network, or upload:ID"


def _entry(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


SCHEMAS: Final[Mapping[str, Any]] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "What is wrong, where, and what to do."}},
    },
    "Report": {"type": "object", "description": "A report, as weighbridge weigh --json writes it."},
    "Comparison": {"type": "object", "description": "Models side by side, as weighbridge compare --json writes it."},
    "Reports": {
        "type": "object",
        "required": ["reports"],
        "properties": {"reports": {"type": "array", "items": _entry(_REPORT)}},
    },
    "Devices": {
        "type": "object",
        "required": ["devices", "faulty"],
        "properties": {
            "devices": {"type": "array", "items": _entry(_DEVICE)},
            "faulty": {
                "type": "array",
                "items": _entry({"on": _TEXT, "error": _TEXT}),
                "description": "Files of the folder that are no devices.",
            },
        },
    },
    "Device": {
        "type": "object",
        "required": ["on", "name", "title", "kind", "class", "gaps"],
        "properties": {
            "on": _ON,
            "kind": _TEXT,
            "gaps": {"type": "array", "items": _TEXT, "description": "What the file leaves out."},
        },
        "description": "The tables of a device file, and beside them these.",
    },
}
_REFUSED: Final = {
    "400": "The form cannot be read.",
    "404": "There is none of this name, or none any more.",
    "408": "The form comes too slowly.",
    "413": "The file is too large.",
    "415": "What was sent is no form.",
    "422": "Something that was asked for is wrong, or the file is.",
    "503": "Too much is asked for at once; the header Retry-After says when to come again.",
}
_ASKED: Final = ("404", "422", "503")
_SENT: Final = ("400", "408", "413", "415", "422", "503")


def page_paths() -> Mapping[str, Any]:
    """The paths of these twins."""
    named = {"name": "name", "in": "path", "required": True, "schema": _TEXT}
    weighed = [
        _query("model", _MODEL, is_needed=True),
        _query("choices", "What a network's parameters are: NAME=VALUE,…"),
        _on(),
    ]
    many = {"type": "array", "minItems": 2, "maxItems": MOST_MODELS, "items": _TEXT}
    models = {**_query("model", f"{_MODEL}, report:NAME or published:NAME", is_needed=True), "schema": many}
    return {
        "/weighed.json": {
            "get": _operation("weighed", "What a network weighs.", "Report", _ASKED, [*weighed, *map(_field, FIELDS)])
        },
        "/weigh.json": {
            "post": {
                **_operation("weigh", "What a file weighs; it is not kept.", "Report", _SENT, []),
                "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _form()}}},
            }
        },
        "/reports.json": {"get": _operation("reports", "The saved reports, the newest first.", "Reports", (), [])},
        "/reports/{name}.json": {
            "get": _operation("report", "A saved report.", "Report", _ASKED, [named]),
        },
        "/compared.json": {
            "get": _operation(
                "compared",
                "Several models side by side.",
                "Comparison",
                _ASKED[1:],
                [models, _on(), *map(_field, COMPARED)],
            )
        },
        "/devices.json": {
            "get": _operation("devices", "The devices of the catalogue and of the folder.", "Devices", (), [])
        },
        "/devices/{name}.json": {
            "get": _operation("device", "A device with every number and its source.", "Device", ("404", "422"), [named])
        },
    }


def _operation(
    name: str, summary: str, schema: str, refused: Iterable[str], parameters: list[Mapping[str, Any]]
) -> Mapping[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": _response(summary, schema),
            **{status: _response(_REFUSED[status], "Error") for status in refused},
        },
    }


def _response(said: str, schema: str) -> Mapping[str, Any]:
    return {
        "description": said,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


def _query(name: str, meaning: str, *, is_needed: bool = False) -> Mapping[str, Any]:
    return {"name": name, "in": "query", "required": is_needed, "description": meaning, "schema": _TEXT}


def _on() -> Mapping[str, Any]:
    meaning = "Devices or groups of the catalogue, and own:NAME of the folder."
    return {**_query("on", meaning), "schema": {"type": "array", "items": _TEXT}}


def _field(field: Field) -> Mapping[str, Any]:
    schema = _schema(field)
    return {**_query(field.name, field.meaning or field.label), "schema": schema}


def _schema(field: Field) -> Mapping[str, Any]:
    return _TEXT if field.is_single else {"type": "array", "items": _TEXT}


def _form() -> Mapping[str, Any]:
    several = {"type": "array", "items": _TEXT}
    about = "The model first, and with it the files that it keeps its weights in."
    return {
        "type": "object",
        "properties": {
            "file": {"type": "array", "items": {"type": "string", "format": "binary"}, "description": about},
            "model": {"type": "string", "description": "In place of a file."},
            "choices": _TEXT,
            "on": several,
            **{one.name: {**_schema(one), "description": one.meaning or one.label} for one in FIELDS},
        },
    }
