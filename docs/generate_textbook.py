"""Makes docs/textbook.md from the network files that come with the package."""

from __future__ import annotations

from weighbridge import textbook, weigh
from weighbridge.frontends.toml_values import described

__all__ = ["page"]

HEAD = """\
# Textbook networks

Weigh one by its name: `weighbridge weigh resnet50`. Parameters stand after a colon: `alexnet:resolution=256,head=gap`. The
counts below are of the network as it comes. How to write such a file yourself: [networks](networks.md).

This page is made from the files themselves.
"""


def page() -> str:
    """The page as Markdown."""
    names = textbook.names()
    summary = ["| name | network | parameters | MACs |", "|---|---|---|---|", *map(row, names), ""]
    return "\n".join([HEAD, *summary, *map(section, names)])


def row(name: str) -> str:
    facts = weigh(name).facts
    title = textbook.specification(name).header.title
    return f"| [`{name}`](#{name}) | {title} | {facts.parameters:,} | {facts.macs:,} |"


def section(name: str) -> str:
    found = textbook.specification(name)
    header = found.header
    lines = [f"## {name}", "", f"{header.title}. Source: {header.source}.", "", header.description.strip(), ""]
    lines += ["| parameter | default | what it may be | what it is |", "|---|---|---|---|"]
    for key, parameter in found.parameters.items():
        default = str(parameter.default).lower() if isinstance(parameter.default, bool) else parameter.default
        lines.append(f"| `{key}` | {default} | {described(parameter)} | {parameter.description} |")
    return "\n".join([*lines, ""])
