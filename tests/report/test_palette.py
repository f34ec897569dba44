"""The palette is a published one whose colours people with colour-blindness tell apart, and that is seen on both grounds."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import pytest
from coloraide import Color

from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE, config

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "bluish green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "reddish purple": "#CC79A7",
}
"""Masataka Okabe and Kei Ito, Color Universal Design, 2008, https://jfly.uni-koeln.de/color/"""
GROUNDS = [config(theme)["background"] for theme in ("light", "dark")]
SIGHTS = ("normal", "protan", "deutan", "tritan")


def seen(colour: str, sight: str) -> Color:
    """``colour`` as it looks without one kind of cone altogether."""
    return Color(colour) if sight == "normal" else Color(colour).filter(sight, 1)


def difference(one: str, other: str, sight: str) -> float:
    return float(seen(one, sight).delta_e(seen(other, sight), method="2000"))


def test_the_palette_is_published() -> None:
    assert set(PALETTE) < set(OKABE_ITO.values())
    assert len(set(PALETTE)) == len(PALETTE)
    assert ACCENT in PALETTE
    assert config("page")["range"]["category"] == list(PALETTE)


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_are_told_apart(sight: str) -> None:
    """Not neighbours alone: in a plot of dots anything may lie beside anything."""
    for one, other in combinations(PALETTE, 2):
        assert difference(one, other, sight) >= 10, (one, other)


@pytest.mark.parametrize("sight", SIGHTS)
def test_what_is_not_known_is_told_from_what_computes_and_what_moves(sight: str) -> None:
    for colour in (PALETTE[0], ACCENT):
        assert difference(colour, MUTED, sight) >= 20


@pytest.mark.parametrize("ground", GROUNDS)
def test_every_colour_is_seen_on_the_ground(ground: str) -> None:
    """3:1 is what the Web Content Accessibility Guidelines 2.1 ask of graphics (1.4.11)."""
    for colour in (*PALETTE, MUTED):
        assert Color(colour).contrast(ground) >= 3, colour


def test_the_colours_that_were_left_out_are_not_seen_on_one_of_the_grounds() -> None:
    for colour in set(OKABE_ITO.values()) - set(PALETTE):
        assert min(Color(colour).contrast(ground) for ground in GROUNDS) < 3


def test_a_page_has_the_grounds_of_the_pictures() -> None:
    css = (files("weighbridge.report") / "templates" / "report.css").read_text("utf-8")
    grounds = re.findall(r"--ground: (#\w+)", css)
    assert {ground.upper() for ground in grounds} == set(GROUNDS)
