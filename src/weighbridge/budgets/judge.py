"""Holds a report to budgets: exact numbers pass or break, a lower bound can only break, and what is unknown decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, isfinite
from sys import float_info
from typing import Final

from weighbridge.budgets.blame import Blamed
from weighbridge.budgets.metrics import VERDICT, metric_named, nearest
from weighbridge.budgets.record import (
    FITS,
    NOT_EXACT,
    OVER,
    PASSED,
    BaselineModel,
    Budget,
    CheckedModel,
    ModelBudgets,
    Result,
    Unchecked,
)
from weighbridge.budgets.weighed_on import Devices, on_device
from weighbridge.devices.reserve import region_key
from weighbridge.errors import BadSpec, printable
from weighbridge.estimates.deadline import ROUNDING
from weighbridge.estimates.fit import DOES_NOT_FIT, Region
from weighbridge.report.expectations import basis, expected_energy, expected_time, no_time_lines, timed
from weighbridge.report.figures import EXPECTED_BEGINNINGS, PEAK, Value, is_rough, values_of
from weighbridge.report.layers import layers_of
from weighbridge.report.matching import differences
from weighbridge.report.record import OnDevice, Report, by_device

__all__ = ["figures_of", "judged"]

_NAMED: Final = 3
_UPDATE: Final = "run `weighbridge check --update` and commit the file that it writes"
_UNKNOWN_BEFORE: Final = f"it is unknown in the baseline; once it is known, {_UPDATE}"
_VARIABLES: Final = "variable_bytes"


def judged(
    model: ModelBudgets, report: Report, baseline: BaselineModel | None, devices: Devices
) -> tuple[CheckedModel, tuple[Unchecked, ...]]:
    """What became of the budgets of a model that was weighed, and those that could not be held against anything.

    ``devices`` are those that it was weighed on.
    """
    judge = _Judge(report, baseline, model)
    results, unchecked = [], []
    for budget in model.budgets:
        try:
            results.append(judge.result(on_device(budget, devices)))
        except BadSpec as error:
            unchecked.append(Unchecked(model.name, model.shown, budget.text, str(error)))
    return CheckedModel(model.name, model.shown, report, tuple(results), judge.blamed.differences), tuple(unchecked)


def figures_of(report: Report) -> Mapping[tuple[str, str | None], Value]:
    """Every figure of a report that a budget can be on: also variables where there are none, and exact only what is known."""
    found = {key: _known(value) for key, value in values_of(report).items()}
    found.setdefault((_VARIABLES, None), Value("B", 0, exact=True))
    for device, on in by_device(report).items():
        for beginning, one in product(EXPECTED_BEGINNINGS, on.expected):
            if one.time_s is None:
                found[f"{beginning}{one.kernels}", device] = Value(
                    metric_named(f"{beginning}-").unit, None, exact=False
                )
    return found


def _known(value: Value) -> Value:
    """``value``, which is unknown where it is no finite number, and not exact where it is unknown."""
    number = value.value
    if number is None or (isinstance(number, float) and not isfinite(number)):
        return Value(value.unit, None, exact=False)
    return value


class _Judge:
    """A report, what it is held against, and its figures."""

    def __init__(self, report: Report, baseline: BaselineModel | None, model: ModelBudgets) -> None:
        self._report = report
        self._baseline = baseline
        self._model = model
        self._figures = figures_of(report)
        self._on = by_device(report)
        layers = layers_of(report.nodes)
        found = None if baseline is None else differences(baseline.layers, layers)
        self.blamed = Blamed(report, layers, found, {} if baseline is None else baseline.peak_nodes)

    def result(self, budget: Budget) -> Result:
        """Raises ``BadSpec`` for a figure that the model or the baseline does not have."""
        budget = budget._replace(metric=self._metric(budget))
        value = self._figures[budget.metric, budget.device]
        return self._of_verdict(budget) if budget.relation == FITS else self._of_number(budget, value)

    def _metric(self, budget: Budget) -> str:
        """The name of the figure; capitals and the like do not matter in that of a region, as elsewhere.  Raises ``BadSpec``."""
        names = [name for name, device in self._figures if device == budget.device]
        if budget.metric in names:
            return budget.metric
        alike = (name for name in names if region_key(name) == region_key(budget.metric))
        found = next(alike, None)
        if found is None:
            raise self._no_figure(budget, names)
        return found

    def _of_verdict(self, budget: Budget) -> Result:
        on = self._on[budget.device or ""]
        verdict = on.fit.verdict
        status = {FITS: PASSED, DOES_NOT_FIT: OVER}.get(verdict, NOT_EXACT)
        short = [region for region in on.fit.regions if region.short_bytes] if status == OVER else []
        most = max((region.short_bytes or 0 for region in short), default=None)
        missing = (
            f"{printable(region.name, 40)} is {'' if region.exact else 'at least '}{region.short_bytes:,} B short"
            for region in short
        )
        return Result(
            budget,
            status,
            "B",
            verdict,
            status != NOT_EXACT,
            over_by=most,
            blame=self.blamed.layers(budget) if status == OVER else (),
            notes=(*missing, *(on.fit.notes if status == NOT_EXACT else self._doubts(budget))),
        )

    def _of_number(self, budget: Budget, value: Value) -> Result:
        base = self._base(budget, value) if budget.grows else None
        exact = value.exact
        notes = [*(() if exact else self._missing(budget)), *self._doubts(budget)]
        before = None if base is None or isinstance(base.value, str) else base.value
        base_exact = base is None or base.exact
        told = Result(budget, NOT_EXACT, value.unit, value.value, exact, before, base_exact)
        limit = _limit(budget, base)
        if limit is None:
            return told._replace(notes=(*notes, _UNKNOWN_BEFORE))
        if self._baseline is not None and budget.grows and self._baseline.source != self._model.shown:
            notes.append(printable(f"the baseline is of another source: {self._baseline.source}"))
        if not base_exact:
            notes.append(f"it is a lower bound in the baseline; once it is exact, {_UPDATE}")
        told = told._replace(limit=_shown_limit(limit, budget.relation, value.unit))
        if value.value is None or isinstance(value.value, str):
            return told._replace(notes=tuple(notes))
        least = Fraction(value.value)
        if budget.relation == "<=" and isinstance(value.value, float):
            least *= 1 - ROUNDING
        status = _status(budget.relation, least, limit, exact=exact, base_exact=base_exact)
        if status != OVER:
            return told._replace(status=status, notes=tuple(notes))
        assert told.limit is not None
        over = value.value - told.limit if value.unit in ("", "B") else float(Fraction(value.value) - limit)
        blame, why = self.blamed.layers(budget), self.blamed.notes(budget)
        return told._replace(status=OVER, over_by=over, blame=blame, notes=(*notes, *why))

    def _base(self, budget: Budget, value: Value) -> Value:
        """The figure in the baseline.  Raises ``BadSpec`` where there is none, or it is that of another batch or the like."""
        if self._baseline is None:
            raise BadSpec("growth is measured from a baseline, and there is none of this model", hint=_UPDATE)
        before, now = self._baseline.weighed_with, self._model.weighed_with
        if before != now:
            what = f"the baseline was weighed with {before or 'no option'}, and the model is weighed with {now or 'none'} now"
            raise BadSpec(what, hint=_UPDATE)
        found = self._baseline.figures.get((budget.metric, budget.device))
        if found is None or found.unit != value.unit:
            where = f" on {budget.device}" if budget.device else ""
            raise BadSpec(f"the baseline has no {budget.metric}{where} of this model", hint=_UPDATE)
        return found

    def _no_figure(self, budget: Budget, names: Sequence[str]) -> BadSpec:
        metric, memory = budget.metric, self._report.memory
        if metric.startswith(PEAK):
            policy = metric.removeprefix(PEAK)
            why = printable(memory.inapplicable.get(policy, "this report has no such peak"))
            have = [name.removeprefix(PEAK) for name in names if name.startswith(PEAK)]
            return BadSpec(f"{policy} does not apply to this model: {why}", hint=f"there are {', '.join(have)}")
        if metric.startswith("training."):
            return BadSpec("training is not weighed", hint='say how it is trained: train = "adam"')
        if is_rough(metric):
            return _not_expected(budget, self._on[budget.device or ""], names)
        if metric == "energy_j":
            what = f"{budget.device} has no energies, so this model has no {metric} on it"
            return BadSpec(what, hint='limit energy.arithmetic_j by a table of energies: energy = "45nm"')
        if metric.startswith("energy.") and self._report.energy is None:
            return BadSpec("no energy is weighed", hint='name a table of energies: energy = "45nm"')
        beginning = metric.partition(".")[0]
        alike = tuple(name for name in names if name.partition(".")[0] == beginning)
        where = f" on {budget.device}" if budget.device else ""
        return BadSpec(f"this model has no {metric}{where}", hint=nearest(metric, alike, "there are") if alike else "")

    def _missing(self, budget: Budget) -> Iterator[str]:
        """Why a figure is unknown or a lower bound."""
        facts, memory = self._report.facts, self._report.memory
        if budget.device is not None:
            yield from _notes_of(self._on[budget.device], budget.metric)
        for one in facts.uncounted[:_NAMED]:
            yield printable(f"not counted: {one.node} ({one.operator}): {one.reason}")
        if len(facts.uncounted) > _NAMED:
            yield f"not counted: {len(facts.uncounted) - _NAMED:,} nodes more"
        unknown = [printable(tensor.name, 60) for tensor in memory.tensors if tensor.bytes is None]
        if unknown and _is_of_bytes(budget.metric):
            more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
            yield f"the size of {', '.join(unknown[:_NAMED])}{more} is not known"

    def _doubts(self, budget: Budget) -> Iterator[str]:
        """What a number on a device rests on, or leaves out, although it is exact."""
        on = None if budget.device is None else self._on[budget.device]
        if on is None:
            return
        _, _, name = budget.metric.partition(".")
        if is_rough(budget.metric):
            yield from _rests_on(on, name)
        elif budget.metric == VERDICT or name:
            regions = (region for region in on.fit.regions if name in ("", region.name))
            yield from (note for region in regions for note in _of_region(region, in_verdict=not name))
        elif not (on.latency.verified if budget.metric != "energy_j" else on.energy is None or on.energy.verified):
            yield f"it rests on a figure of {budget.device} that is not verified"


def _rests_on(on: OnDevice, kernels: str) -> Iterator[str]:
    """What an expected time or energy is, with its range."""
    for one in timed(on):
        if one.kernels == kernels:
            energy = expected_energy(one)
            yield f"expected {expected_time(one)}{f', and {energy}' if energy else ''}: {basis(one)}"


def _not_expected(budget: Budget, on: OnDevice, names: Sequence[str]) -> BadSpec:
    """Why there is no such time or energy on a device: nobody measured it, or not with these kernels."""
    known = tuple(name for name in names if is_rough(name))
    what = f"nobody measured networks on {on.device}, so nothing is expected there"
    kernels = region_key(budget.metric.partition(".")[2])
    if any(kernels == region_key(one.kernels) for one in timed(on)):
        what = f"nobody measured the power on {on.device} with these kernels"
    elif known:
        what = f"this model has no {budget.metric} on {on.device}"
    hint = (
        nearest(budget.metric, known, "there are")
        if known
        else "limit floor_s, the least time that the device can take"
    )
    return BadSpec(what, hint=hint)


def _of_region(region: Region, *, in_verdict: bool) -> Iterator[str]:
    name = printable(region.name, 40)
    if not region.verified:
        yield f"the size of {name} is not verified"
    if region.estimated_bytes is not None:
        where = "which the verdict takes in" if in_verdict else "and not in it"
        yield f"{region.estimated_bytes:,} B of the runtime's own data in {name} are an estimate, {where}"
    if region.uncounted:
        yield f"{printable(' and '.join(region.uncounted))} in {name} is not counted"


def _is_of_bytes(name: str) -> bool:
    """Whether the size of tensors is in this figure."""
    return name != VERDICT and metric_named(name).unit == "B"


def _notes_of(on: OnDevice, metric: str) -> tuple[str, ...]:
    """What a device's entry says about a figure."""
    if is_rough(metric):
        return tuple(no_time_lines(on))
    if metric in ("floor_s", "layerwise_s"):
        return on.latency.notes
    if metric == "energy_j":
        return () if on.energy is None else on.energy.notes
    return on.fit.notes


def _limit(budget: Budget, base: Value | None) -> Fraction | None:
    """What the value may be, in the metric's unit; None where the baseline does not know."""
    assert budget.bound is not None
    if base is None:
        return budget.bound
    if base.value is None or isinstance(base.value, str):
        return None
    before = Fraction(base.value)
    return before * (1 + budget.bound) if budget.is_share else before + budget.bound


def _shown_limit(limit: Fraction, relation: str, unit: str) -> int | float:
    """The largest value that passes: of counts and bytes a whole one, of times and energies one that a float holds."""
    if unit not in ("", "B"):
        return float(min(limit, Fraction(float_info.max)))
    return ceil(limit) - 1 if relation == "<" else floor(limit)


def _status(relation: str, value: Fraction, limit: Fraction, *, exact: bool, base_exact: bool) -> str:
    """What is sure of every value from a lower bound on, and of every limit from that of a baseline that is one."""
    above = value > limit or (relation == "<" and value == limit)
    below = relation == "==" and value < limit
    if (above and base_exact) or (below and exact):
        return OVER
    passes = exact and not above and (relation != "==" or (value == limit and base_exact))
    return PASSED if passes else NOT_EXACT
