"""TOML files that a person wrote, network or device, or that somebody made to look so: parsed within bounds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from weighbridge.errors import BadSpec

__all__ = ["MAX_FILE_BYTES", "parse_toml"]

MAX_FILE_BYTES: Final = 1 << 20

_MAX_KEY_PARTS: Final = 16
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)"""
_TOKEN: Final = re.compile(
    rf"""\"{{3}}(?:[^"\\]|\\.|"{{1,2}}(?!"))*+(?:"{{3,5}}|\Z)  # a multi-line string
    |'{{3}}(?:[^']|'{{1,2}}(?!'))*+(?:'{{3,5}}|\Z)
    |\#[^\n]*+
    |(?P<long>(?:{_PART}[ \t]*+\.[ \t]*+){{{_MAX_KEY_PARTS}}})  # a dotted key
    |{_PART}
    |[^A-Za-z0-9_"'\#-]++""",
    re.DOTALL | re.VERBOSE,
)


def parse_toml(content: bytes, where: str, what: str) -> Mapping[str, Any]:
    """``content``, which should be ``what`` ("a network file"), as TOML's tables.

    Raises ``BadSpec``: larger than 1 MiB, no UTF-8, no TOML, nested or dotted beyond all sense.
    """
    if len(content) > MAX_FILE_BYTES:
        raise BadSpec(f"this is not {what}: it is larger than 1 MiB", where=where)
    try:
        text = content.decode("utf-8-sig")  # some editors of Windows begin a file with a byte order mark
    except UnicodeDecodeError:
        raise BadSpec(f"this is not {what}: it is not UTF-8 text", where=where) from None
    if _has_a_long_key(text):
        raise BadSpec(f"this is not {what}: it has a key of more than {_MAX_KEY_PARTS} parts", where=where)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        detail = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a number or a nesting beyond all sense"
        raise BadSpec(f"this is not TOML: {detail}", where=where, hint="correct the file there") from None


def _has_a_long_key(text: str) -> bool:
    """Whether some key has too many parts: tomllib takes time that grows with their square, minutes for one that fills a file."""
    return any(token.lastgroup == "long" for token in _TOKEN.finditer(text))
