"""Budgets as they are written: what each part says, every metric and unit, and what is refused with the nearest that there is."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge import BadSpec, weigh
from weighbridge.budgets.judge import figures_of
from weighbridge.budgets.language import budget_of
from weighbridge.budgets.metrics import metric_named
from weighbridge.budgets.record import Budget
from weighbridge.memory import POLICIES
from weighbridge.report.figures import PEAK, WORDS
from weighbridge.written import BYTE_UNITS, byte_size

SECONDS = {
    "s": 1,
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "peak_bytes <= 256 KiB under arena_tflm on stm32f746",
            ("peak_bytes.arena_tflm", "stm32f746", "<=", 262_144, False, False),
        ),
        ("peak_bytes <= 1 on a board under live", ("peak_bytes.live", "a board", "<=", 1, False, False)),
        ("peak_bytes.live < 3 kB", ("peak_bytes.live", None, "<", 3_000, False, False)),
        ("macs <= 30 M", ("macs", None, "<=", 30_000_000, False, False)),
        ("macs<=0.5k", ("macs", None, "<=", 500, False, False)),
        ("  macs \n <=  3e3 ", ("macs", None, "<=", 3_000, False, False)),
        ("macs grow <= 2 % against the baseline", ("macs", None, "<=", Fraction(1, 50), True, True)),
        ("macs grows < 2.5%", ("macs", None, "<", Fraction(1, 40), True, True)),
        ("macs grows <= -10 %", ("macs", None, "<=", Fraction(-1, 10), True, True)),
        ("parameters grow <= 1 k against baseline", ("parameters", None, "<=", 1_000, True, False)),
        ("peak_bytes grows <= 4 KiB under live", ("peak_bytes.live", None, "<=", 4_096, True, False)),
        ("parameters == 61706", ("parameters", None, "==", 61_706, False, False)),
        ("floor_s <= 40 ms on stm32f746", ("floor_s", "stm32f746", "<=", Fraction(1, 25), False, False)),
        ("energy_j <= 2 mJ on x", ("energy_j", "x", "<=", Fraction(1, 500), False, False)),
        ("energy.register file_j <= 1 nJ", ("energy.register file_j", None, "<=", Fraction(1, 10**9), False, False)),
        ("needed_bytes.SRAM <= 64KiB on ./my.toml", ("needed_bytes.SRAM", "./my.toml", "<=", 65_536, False, False)),
        ("fits on stm32f746", ("verdict", "stm32f746", "fits", None, False, False)),
        ("fits", ("verdict", None, "fits", None, False, False)),
    ],
)
def test_what_a_budget_says(text: str, expected: tuple[object, ...]) -> None:
    assert budget_of(text) == Budget(" ".join(text.split()), *expected)  # type: ignore[arg-type]


def test_there_is_a_metric_for_every_figure_of_a_report_in_its_unit() -> None:
    found = weigh("lenet5", on=["toy", "stm32f746"], energy="45nm", train="adam")
    figures = figures_of(found)
    assert {name for name, _ in figures if not name.startswith(PEAK)} > {
        "macs",
        "variable_bytes",
        "training.total_bytes",
    }
    for (name, device), value in figures.items():
        if name in WORDS:
            with pytest.raises(BadSpec, match="is a word"):
                metric_named(name)
            continue
        metric = metric_named(name)
        assert (metric.name, metric.unit, metric.of_device) == (name, value.unit, device is not None)
        budget = budget_of(f"{name} <= 3{' on toy' if metric.of_device else ''}")
        assert (budget.metric, budget.bound) == (name, 3)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_peak_has_each_policy_in_two_forms(policy: str) -> None:
    assert budget_of(f"peak_bytes <= 1 under {policy}").metric == budget_of(f"peak_bytes.{policy} <= 1").metric


@pytest.mark.parametrize("unit", BYTE_UNITS)
@pytest.mark.parametrize("space", ["", " "])
def test_bytes_are_read_as_everywhere(unit: str, space: str) -> None:
    assert budget_of(f"parameter_bytes <= 3{space}{unit}").bound == byte_size(f"3{unit}")


@pytest.mark.parametrize("unit", SECONDS)
def test_times_and_energies_have_their_units(unit: str) -> None:
    assert budget_of(f"floor_s <= 1.5 {unit} on x").bound == Fraction(3, 2) * SECONDS[unit]
    joules = unit.replace("s", "J") if unit != "s" else "J"
    assert budget_of(f"energy_j <= 1.5 {joules} on x").bound == Fraction(3, 2) * SECONDS[unit]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mac <= 3", "there is no metric 'mac'; did you mean macs?"),
        ("latency <= 10 ms", "there is no metric 'latency'; did you mean floor_s, "),
        ("inference_time_ms <= 10 ms", "did you mean floor_s, "),
        ("Model Size <= 1 MB", "did you mean deployed_bytes, or parameter_bytes?"),
        ("flash <= 1 MB", "did you mean needed_bytes.flash, "),
        ("sram grows <= 1 kB", "did you mean needed_bytes.SRAM, "),
        ("peak <= 1 kB under live", "there is no metric 'peak'; did you mean peak_bytes?"),
        ("MACs <= 3", "did you mean macs?"),
        ("parmeters <= 3", "did you mean parameters?"),
        ("peak <= 3", "did you mean peak_bytes?"),
        ("floor <= 3", "did you mean floor_s?"),
        ("colour of it <= 3", "the metrics are peak_bytes, parameters, "),
        ("peak_bytes <= 3", "a peak has a policy; write under POLICY: pair, live"),
        ("peak_bytes <= 3 under arena_tflmm", "there is no memory policy 'arena_tflmm'; did you mean arena_tflm?"),
        ("peak_bytes.liv <= 3", "there is no memory policy 'liv'; did you mean live?"),
        ("peak_bytes <= 3 under nothing at all", "the policies are pair, "),
        ("peak_bytes.live <= 3 under live", "the policy is there twice; write peak_bytes … under live"),
        ("macs <= 3 under live", "macs has no memory policy"),
        ("macs <= 3 on toy", "macs is the same on every device; leave out on toy"),
        ("needed_bytes. <= 3 on toy", "there is no metric 'needed_bytes.'"),
        ("energy._j <= 3", "there is no metric 'energy._j'; did you mean energy_j?"),
        ("verdict == 1 on toy", "verdict is a word and has no limit; write `fits on DEVICE`"),
        ("bound <= 3 on toy", "bound is a word"),
        ("macs <= 30 MB", "'MB' is no unit of macs, which is a count; did you mean M?"),
        ("macs <= 30 K", "did you mean k?"),
        ("macs <= 3 B", "'B' is no unit of macs, which is a count; it takes k, M, G, T"),
        (
            "parameter_bytes <= 3 KB",
            "'KB' is no unit of parameter_bytes, which is a number of bytes; did you mean kB or KiB?",
        ),
        ("parameter_bytes <= 3 M", "did you mean MB or MiB?"),
        ("parameter_bytes <= 3 mib", "did you mean MB or MiB?"),
        ("floor_s <= 3 kB on x", "'kB' is no unit of floor_s, which is a time; it takes s, ms, us, ns"),
        ("energy_j <= 3 s on x", "'s' is no unit of energy_j, which is an energy; it takes J, mJ, uJ, nJ"),
        ("macs <= 2 %", "'2 %' does not say of what it is a share; write macs grows <= 2 %"),
        ("macs < 0", "nothing is below 0; write macs <= 0"),
        ("floor_s < 0 ms on toy", "nothing is below 0; write floor_s <= 0"),
        ("macs grow <= 0.02", "and 1/50 is not whole; write a share with %"),
        ("macs grow <= -101 %", "nothing shrinks by more than all of it"),
        ("macs <= 0.5", "not whole; give a whole number"),
        ("parameter_bytes == 0.3 KiB", "not whole"),
        ("floor_s == 3 ms on x", "a time is computed with rounding and equals nothing; write <="),
        ("energy_j == 3 mJ on x", "an energy is computed with rounding"),
        ("macs <= -1", "nothing is below 0"),
        ("macs <=", "the limit is missing; write 30 M"),
        ("macs grow <=", "the limit is missing; write 2 %"),
        ("parameters == 61,706", "'61,706' is no limit; write 30 M, as digits alone"),
        ("macs <= nan", "'nan' is no limit"),
        ("macs <= 1e999", "no unit"),
        ("macs <= ٣", "no limit"),
        ("macs >= 3", "'>=' is no limit; a budget is a limit from above: <=, < or =="),
        ("macs != 3", "'!=' is no limit"),
        ("macs = 3", "'=' is no limit; write =="),
        ("macs ≤ 3", "'≤' is no limit"),
        ("macs <= 3 <= 4", "no limit"),
        ("macs 3", "there is no limit in it; write METRIC"),
        ("", "there is no limit in it"),
        ("fits in memory", "this cannot be read; write `fits on DEVICE`"),
        ("fits on", "nothing stands behind on"),
        ("fits under live", "this cannot be read"),
        ("peak_bytes <= 3 under live on", "nothing stands behind on"),
        ("floor_s <= 3 on a on b", "on is there twice"),
        ("macs grow <= 2 % against main", "growth is not measured against 'main'"),
        ("macs <= 3 against the baseline", "nothing is measured against the baseline but growth"),
        ("macs <= 3 \x1b[31m", r"'\x1b[31m' is no unit"),
        (f"macs <= {'3' * 500}", "a budget of 508 characters"),
    ],
)
def test_what_is_no_budget(text: str, words: str) -> None:
    with pytest.raises(BadSpec, match=re.escape(words)) as caught:
        budget_of(text)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("given", [None, 3, ["macs <= 3"]])
def test_a_budget_is_text(given: object) -> None:
    with pytest.raises(BadSpec, match="a budget is text, not a"):
        budget_of(given)  # type: ignore[arg-type]


PIECES = (
    *(
        "macs",
        "peak_bytes",
        ".live",
        "floor_s",
        "energy.",
        "_j",
        "grows",
        "fits",
        "<=",
        "<",
        "==",
        "3",
        "1e9",
        "-",
        "٣",
    ),
    *("%", "KiB", "ms", "M", "on", "toy", "under", "live", "against", "the baseline", " ", "\0"),
)
BUDGETS = st.lists(st.sampled_from(PIECES), max_size=9)


@given(BUDGETS.map(" ".join) | BUDGETS.map("".join))
def test_whatever_is_written_is_a_budget_or_a_reason(text: str) -> None:
    try:
        found = budget_of(text)
    except BadSpec as error:
        assert str(error).isprintable()
        return
    assert budget_of(found.text) == found
    assert (found.bound is None) == (found.relation == "fits")
