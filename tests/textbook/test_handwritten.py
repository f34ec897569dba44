from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.steps import steps
from weighbridge.errors import BadSpec
from weighbridge.handwritten import MAX_FILE_BYTES, parse_toml

LONG = ".".join(["a"] * 17)
REFUSED = {
    "bare": f"{LONG} = 1",
    "spaced": LONG.replace(".", " . ") + " = 1",
    "header": f"[{LONG}]",
    "in an inline table": f"x = {{ y = 1, {LONG} = 2 }}",
    "quoted": ".".join(['"\\""', "'\"'"] * 9) + " = 1",
    "behind a string that ends in quotes": f'x = {{ y = """b"""", {LONG} = 1 }}',
    "behind a comment": f"# it's\n{LONG} = 1",
    "a whole file": ".".join(["a"] * 500_000) + " = 1",
}
FINE = {
    "sixteen parts": ".".join(["a"] * 16) + " = 1",
    "in a string": f'x = "{LONG}"',
    "in a string of several lines": f'x = """\n"{LONG}"\n"""',
    "in a literal": f"x = '{LONG}'",
    "in a literal of several lines": f"x = '''\n'{LONG}'\n'''",
    "in a comment": f"x = 1 # {LONG}",
    "many numbers": "x = [" + "1.5, " * 100 + "]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_keys_of_many_parts_are_refused(name):
    def refused() -> None:
        with pytest.raises(BadSpec, match="a key of more than 16 parts"):
            parse_toml(REFUSED[name].encode(), "here", "a file")

    assert steps(refused) < 5 * len(REFUSED[name]) + 5_000


@pytest.mark.parametrize("name", FINE)
def test_dots_elsewhere_are_fine(name):
    assert parse_toml(FINE[name].encode(), "here", "a file") == tomllib.loads(FINE[name])


@pytest.mark.parametrize("text", ['"' * 60_000, '"\\' * 60_000, "a b." * 40_000, "'\"" * 50_000, '"""' * 40_000 + "a"])
def test_hostile_quotes_take_linear_time(text):
    def refused() -> None:
        with pytest.raises(BadSpec):
            parse_toml(text.encode(), "here", "a file")

    assert steps(refused) < 20 * len(text) + 5_000


def test_a_file_that_is_too_large():
    with pytest.raises(BadSpec, match="here: this is not a file: it is larger than 1 MiB"):
        parse_toml(b"#" * (MAX_FILE_BYTES + 1), "here", "a file")


@given(st.text(max_size=200))
def test_any_text_is_what_tomllib_reads_or_refused(text):
    content = text.encode("utf-8", "surrogatepass")
    try:
        tables = parse_toml(content, "here", "a file")
    except BadSpec:
        return
    assert tables == tomllib.loads(content.decode())
