"""Makes docs/lecture.md: the numbers of the source material beside what Weighbridge gives for them.

The entries stand in docs/lecture_entries.toml. Each figure of ours comes from the line that the page shows; a page whose figures
are not those that are stated cannot be made.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["agrees", "entries", "later", "page"]

_FILE = Path(__file__).with_name("lecture_entries.toml")
_NEAR = 1e-9
"""How far two figures may lie apart that are computed in different orders, in floating point."""

_HEAD = """\
# The lecture, number by number

Weighbridge follows a lecture on the cost of neural networks: latency, throughput and energy, parameters and size, activations and
memory, MACs and rates. Here is every number that it states, part by part, with what Weighbridge gives.

- **Stated** is the figure of the source, or the rule that it states, written as Python. In brackets stands what the source
  prints where it rounds.
- **Weighbridge** is what the line beside it gives. It was computed when this page was made, and a test makes the page anew. A stated
  figure with a fraction is met to the digits that are stated, a whole number exactly. **Carried** are measurements of others, and
  the quotient of two figures of theirs; **given** is what an example starts from. Neither is a result of Weighbridge.
- The **line** is Python and uses what the blocks above it define, from the top of the page.

These stand at the top:

```python
{prelude}
```
"""


@cache
def _sheet() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"), parse_float=Decimal)


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every entry with its path in the table of facts, ``alexnet_totals.macs``."""
    for section in _sheet()["sections"]:
        for entry in section["entries"]:
            yield f"{section['table']}.{entry['key']}", entry


def later() -> set[str]:
    """The paths of what is not reproduced yet: of tables, or of single entries."""
    return {key for group in _sheet().get("later", []) for key in group["keys"]}


def page() -> str:
    """The page as Markdown.  Raises ``ValueError`` where a figure of ours is not the stated one."""
    sheet, names = _sheet(), {}
    prelude = sheet["prelude"].strip()
    exec(prelude, names)  # the page shows it
    names["weigh"] = _once(names["weigh"])
    parts = [_HEAD.format(prelude=prelude)]
    for section in sheet["sections"]:
        if "part" in section:
            parts.append(f"## {section['part']}\n")
        parts.append(_section(section, names))
    if "later" in sheet:
        parts += ["## Not yet\n", *(f"- {group['says']} ({group['reason']})" for group in sheet["later"])]
    return "\n".join(parts) + "\n"


def _once(weigh: Callable[..., object]) -> Callable[..., object]:
    """``weigh`` that weighs equal sources once."""
    known: dict[str, object] = {}

    def weigh_once(source: str, **options: object) -> object:
        key = repr((source, options))
        if key not in known:
            known[key] = weigh(source, **options)
        return known[key]

    return weigh_once


def _section(section: dict[str, Any], names: dict[str, Any]) -> str:
    parts = [f"### {section['title']}\n"]
    if "text" in section:
        parts.append(section["text"].strip() + "\n")
    if "shell" in section:
        parts.append("\n".join(["```shell", *section["shell"], "```\n"]))
    if "setup" in section:
        setup = section["setup"].strip()
        exec(setup, names)  # the page shows it
        parts.append(f"```python\n{setup}\n```\n")
    rows = ["| | stated | Weighbridge | line |", "|---|---|---|---|"]
    rows += [_row(f"{section['table']}.{entry['key']}", entry, names) for entry in section["entries"]]
    return "\n".join([*parts, *rows, ""])


def _row(path: str, entry: dict[str, Any], names: dict[str, Any]) -> str:
    unit = f" {entry['unit']}" if "unit" in entry else ""
    expected = eval(entry["rule"], names) if "rule" in entry else entry.get("stated")
    stated = f"`{entry['rule']}`" if re.search(r"\d", entry.get("rule", "")) else f"{_shown(expected)}{unit}"
    if "printed" in entry:
        stated += f" ({entry['printed']})"
    if "see" in entry:
        return f"| {entry['says']} | {stated} | {entry['see']} | |"
    ours = eval(entry["line"], names)
    if not agrees(ours, expected):
        raise ValueError(f"{path}: stated is {expected!r}, and {entry['line']} gives {ours!r}")
    return f"| {entry['says']} | {stated} | {_shown(ours)}{unit} | `{entry['line']}` |"


def agrees(ours: object, stated: object) -> bool:
    """Whether a figure of ours is the stated one: to the digits that are stated, where these are decimals."""
    if isinstance(stated, list) and isinstance(ours, list):
        return len(ours) == len(stated) and all(map(agrees, ours, stated))
    if isinstance(stated, Decimal) and isinstance(ours, (int, float, Fraction)):
        exact = Fraction(repr(ours)) if isinstance(ours, float) else Fraction(ours)
        digits = Decimal(exact.numerator) / exact.denominator
        return digits.quantize(stated, ROUND_HALF_UP) == stated
    if isinstance(stated, float) and isinstance(ours, (float, Fraction)):
        return abs(ours - stated) <= _NEAR * abs(stated)
    return ours == stated


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, (float, Fraction)):
        return f"{float(value):,.0f}" if float(value).is_integer() else f"{float(value):,.9g}"
    return f"{value:,}" if isinstance(value, (int, Decimal)) else str(value or "")


if __name__ == "__main__":
    print(page())
