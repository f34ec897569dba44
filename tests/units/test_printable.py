"""A name of any length and of any characters is one line of text that ends where there is room for no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weighbridge.errors import printable


class Counted(str):
    """Text that counts how often all of it is walked through."""

    walks = 0

    def __iter__(self) -> object:  # type: ignore[override]
        Counted.walks += 1
        return super().__iter__()

    def isprintable(self) -> bool:
        Counted.walks += 1
        return super().isprintable()


@given(st.text(st.sampled_from("ab\n\x1b\u202e\ud800é🙂")), st.integers(1, 20))
def test_it_is_the_beginning_of_the_escaped_text(text: str, limit: int) -> None:
    whole = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
    shown = printable(text, limit)
    assert shown == (whole if len(whole) <= limit else f"{whole[: limit - 1]}…")
    assert shown.isprintable()


def test_what_is_cut_is_not_looked_at() -> None:
    assert printable(Counted("x" * 1_000_000 + "\n"), 10) == "xxxxxxxxx…"
    assert Counted.walks == 0
