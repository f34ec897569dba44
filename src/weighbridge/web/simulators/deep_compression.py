"""Deep Compression one step after the other: pruned, shared, Huffman coded, as the core sizes each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from weighbridge.compressing import compress
from weighbridge.compression import Compression, LayerSize
from weighbridge.frontends.compression_plan import read_plan
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import ACCENT, PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.units import as_number, exact, in_full, significant
from weighbridge.web.figures import UNKNOWN, size, sized, words
from weighbridge.web.simulator import Figure, Plot, Readout

__all__ = ["LAST", "Step", "chart", "grid", "readouts", "steps"]

_PLAN: Final = "deep-compression"
_PRUNING: Final = "keep"
"""The field of the plan's rules that is pruning alone; the others share values and code them."""
_NAMES: Final[Mapping[str, str]] = {
    "dense": "32 bits for every weight and bias",
    "pruned": "the weights that are kept in 32 bits, each with the distance to the one before",
    "shared": "each kept weight a place in its layer's codebook",
    "Huffman coded": "places and distances in codes, the commonest in the fewest bits",
}
LAST: Final = len(_NAMES) - 1
"""The number of the last step; 0 is nothing done yet."""
_DENSE, _PRUNED, _SHARED, _CODED = range(len(_NAMES))


class _Size(NamedTuple):
    """What a layer, or all of it, takes: in bits, of those it has dense; ``exact`` where no filler is left out."""

    bits: int | Fraction
    dense_bits: int
    exact: bool

    @property
    def bytes(self) -> int:
        return -(-self.bits // 8)

    @property
    def shown(self) -> str:
        return lower_bound(exact(self.bytes), self.exact)

    @property
    def ratio(self) -> Fraction | None:
        return Fraction(self.dense_bits) / self.bits if self.bits else None

    @property
    def smaller(self) -> str:
        said = UNKNOWN if self.ratio is None else f"{significant(float(self.ratio))} times"
        return said if self.exact else f"at most {said}"


class Step(NamedTuple):
    """One of the steps: what it is called, what it takes altogether and by layer, and the compression that has all its figures."""

    name: str
    total: _Size
    layers: Mapping[str, _Size]
    found: Compression


def steps(graph: Graph) -> tuple[Step, ...]:
    """The steps by the published ratios, which are for AlexNet.  Raises what ``compress`` does."""
    rules = [f"{rule.target}={rule.value}" for rule in read_plan(_PLAN).rules if rule.field == _PRUNING]
    pruned, coded = compress(graph, keep=rules), compress(graph, plan=_PLAN)
    found = (coded, pruned, coded, coded)
    return tuple(_step(place, name, one) for place, (name, one) in enumerate(zip(_NAMES, found, strict=True)))


def _step(place: int, name: str, found: Compression) -> Step:
    return Step(name, _size(place, found.total), {one.name: _size(place, one) for one in found.layers}, found)


def _size(place: int, of: Any) -> _Size:
    """Of a layer or a total, whose fields are the same."""
    if place == _DENSE:
        return _Size(of.dense_bits, of.dense_bits, exact=True)
    return _Size(of.bits if place == _CODED else of.before_huffman_bits, of.dense_bits, of.exact)


def readouts(every: tuple[Step, ...], place: int) -> Iterator[Readout]:
    """What the step at ``place`` takes and saves, and what is published of it."""
    group, here = "Deep Compression, by its published ratios", every[place]
    total = here.total
    yield words("compression", "step", here.name, group, _NAMES[here.name])
    shown = lower_bound(sized(total.bytes), total.exact)
    yield Readout("compressed_bytes", "size", total.bytes, shown, f"{total.smaller} smaller than dense", group)
    if place:
        saved = every[_DENSE].total.bytes - total.bytes
        shown = sized(saved) if total.exact else f"<= {sized(saved)}"
        yield Readout("saved_bytes", "saved so far", saved, shown, "dense less the size", group)
        kept = Fraction(here.found.total.kept)
        shown = exact(round(kept)) if kept.denominator != 1 else in_full(kept)
        ratio = here.found.total.pruned_ratio
        times = UNKNOWN if ratio is None else significant(float(ratio))
        yield Readout("kept", "weights kept", as_number(kept), shown, f"pruned {times} times", group)
    if place == _CODED and here.found.total.bytes_with_expected_fillers is not None and not total.exact:
        said = "an estimate: fillers of positions that are independent of each other"
        expected = here.found.total.bytes_with_expected_fillers
        yield size("bytes_with_expected_fillers", "with expected fillers", expected, group, said)
    yield from _published(every[_CODED].found, place)


def _published(found: Compression, place: int) -> Iterator[Readout]:
    published = None if found.compared_total is None else found.compared_total.published
    if published is None:
        return
    group, source = "Deep Compression, as published", published.source
    if place == _DENSE and published.dense_mb is not None:
        yield _megabytes("published_dense_mb", "dense", published.dense_mb, group, source)
    if place == _PRUNED and published.pruned_ratio is not None:
        shown = f"{significant(float(published.pruned_ratio))} times"
        yield Readout("published_pruned_ratio", "pruned", float(published.pruned_ratio), shown, source, group)
    if place == _CODED and published.compressed_mb is not None:
        yield _megabytes("published_mb", "Huffman coded", published.compressed_mb, group, source)


def _megabytes(name: str, label: str, value: Fraction, group: str, source: str) -> Readout:
    return Readout(name, label, float(value), f"{in_full(value)} MB", source, group)


def grid(every: tuple[Step, ...], place: int) -> Grid:
    """Each layer dense, before this step and after it, beside what is published of it."""
    here, before = every[place], every[max(place - 1, 0)]
    titles = ("layer", "dense, B", *((f"{before.name}, B",) if place > 1 else ()), f"{here.name}, B", "% of dense")
    columns = tuple(Column(title, is_number=number > 0) for number, title in enumerate((*titles, "published, %")))
    rows = []
    for layer in here.found.layers:
        now = here.layers[layer.name]
        then = (before.layers[layer.name].shown,) if place > 1 else ()
        percent = lower_bound(significant(float(Fraction(100 * now.bits) / now.dense_bits)), now.exact)
        dense = exact(every[_DENSE].layers[layer.name].bytes)
        rows.append(GridRow((layer.name, dense, *then, now.shown, percent, _percent(layer, place))))
    notes = (
        ("the fillers between weights that are far apart are not known, and left out",) if not here.total.exact else ()
    )
    return Grid(f"Deep Compression by layer: {here.name}", columns, tuple(rows), notes)


def _percent(layer: LayerSize, place: int) -> str:
    published = layer.published
    if published is None or place in (_DENSE, _PRUNED):
        return ""
    return in_full(published.percent if place == _CODED else published.before_huffman_percent)


def chart(every: tuple[Step, ...], place: int) -> Plot:
    """A bar a step, that of now in another colour."""
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "step": one.name,
            "bytes": one.total.bytes,
            "shown": lower_bound(sized(one.total.bytes), one.total.exact),
            "state": "this step" if number == place else "other steps",
        }
        for number, one in enumerate(every)
    )
    said = "; ".join(f"{one.name} {lower_bound(sized(one.total.bytes), one.total.exact)}" for one in every)
    return Plot("compression", "Deep Compression, step by step", _CHART, rows, said)


_CHART: Final[Mapping[str, Any]] = {
    "data": {"name": "compression"},
    "width": 560,
    "height": {"step": 26},
    "mark": {"type": "bar"},
    "encoding": {
        "y": {"field": "step", "type": "nominal", "sort": None, "title": None},
        "x": {"field": "bytes", "type": "quantitative", "title": "bytes", "axis": {"format": "~s"}},
        "color": {
            "field": "state",
            "type": "nominal",
            "scale": {"domain": ["this step", "other steps"], "range": [ACCENT, PALETTE[0]]},
            "legend": {"title": None, "orient": "bottom"},
        },
        "tooltip": [{"field": "step", "type": "nominal"}, {"field": "shown", "type": "nominal", "title": "size"}],
    },
}
