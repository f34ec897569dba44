"""Pages that were just made are kept in bounded room."""

from __future__ import annotations

from weighbridge.web.recent import Recent


def test_the_pages_that_were_not_asked_for_longest_go() -> None:
    kept = Recent(most_bytes=10)
    for name in "abc":
        kept.put(name, b"1234")
    assert [kept.get(name) is not None for name in "abc"] == [False, True, True]
    kept.get("b")
    kept.put("d", b"1234")
    assert [kept.get(name) is not None for name in "bcd"] == [True, False, True]


def test_a_page_that_is_put_twice_counts_once_and_one_that_is_too_large_is_not_kept() -> None:
    kept = Recent(most_bytes=10)
    kept.put("a", b"1234")
    kept.put("a", b"12345678")
    assert kept.get("a") == b"12345678"
    kept.put("b", b"12345678901")
    assert kept.get("b") is None
    assert kept.get("a") is not None
