"""Fits the measured efficiencies of the catalogue's microcontrollers to the results of MLPerf Tiny.

Cycles of a network = MACs of its convolutions x cycles each + MACs of its fully connected layers x cycles each + values that these
layers put out x cycles each, by least squares without negative cycles.  A squared error is divided by the network's MACs: what
layers take is off one by one, so that the error grows with the root of their number.  Values that are put out have a term with a
library of kernels for which the fit to all networks gives them one on every board.  Then each network is left out of the fit in
turn; how far it is from what was expected of it gives the range.  Where no network that is left has fully connected layers of
any weight, these take what the convolutions do.

``--write`` puts the ``[[measured]]`` tables at the end of the device files of the catalogue; without it they are printed.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "src" / "weighbridge" / "devices" / "catalogue"
SOURCE = "mlcommons/tiny_results_v1.2@cadb362 summary.csv"
COUNTED = "mlcommons/tiny@1afd2c9, counted"
_MACS, _CONNECTED, _OUTPUTS = 0, 1, 2
_DIGITS = 4
_BEGINNING = "\n[[measured]]\n"


class Network(NamedTuple):
    """What a network asks for: MACs of convolutions and of fully connected layers, and the values that both put out."""

    title: str
    file: str
    convolution_macs: int
    fully_connected_macs: int
    outputs: int

    @property
    def macs(self) -> int:
        return self.convolution_macs + self.fully_connected_macs


class Row(NamedTuple):
    """One board with one library of kernels: inferences a second of each network, and where it was measured microjoules."""

    devices: Sequence[str]
    kernels: str
    submitter: str
    system: str
    mhz: int
    per_s: Mapping[str, float]
    conditions: str = ""
    microjoules: Mapping[str, float] | None = None

    def cycles(self, name: str) -> float:
        return self.mhz * 10**6 / self.per_s[name]

    def watts(self, names: Sequence[str]) -> float:
        """The power drawn over all these networks."""
        assert self.microjoules is not None
        return sum(self.microjoules[name] for name in names) / sum(10**6 / self.per_s[name] for name in names)


class Fit(NamedTuple):
    """Cycles for each MAC of a convolution, for each MAC of a fully connected layer, and for each value that they put out."""

    mac: float
    connected: float
    output: float

    def cycles(self, network: Network) -> float:
        counts = network.convolution_macs, network.fully_connected_macs, network.outputs
        return sum(count * each for count, each in zip(counts, self, strict=True))


def read() -> tuple[dict[str, Network], tuple[Row, ...]]:
    """The networks by name, and the rows of measurements."""
    data = tomllib.loads((ROOT / "scripts" / "mlperf_tiny.toml").read_text())
    networks = {name: Network(**table) for name, table in data["networks"].items()}
    return networks, tuple(Row(**table) for table in data["rows"])


def with_output(rows: Sequence[Row], networks: Mapping[str, Network]) -> frozenset[str]:
    """The libraries of kernels for which values that are put out have a term: the fit to all networks gives one on every board."""
    without = {row.kernels for row in rows if not fit(row, networks, True).output}
    return frozenset(row.kernels for row in rows) - without


def fit(row: Row, networks: Mapping[str, Network], has_output: bool, exponent: int = 1) -> Fit:
    """The fit to the measurements of ``networks``; ``has_output`` lets values that are put out take cycles of their own.

    A squared error is divided by the network's MACs to the power ``exponent``: 0 makes cycles count alike, 2 percents.
    """
    apart = any(network.fully_connected_macs > network.convolution_macs for network in networks.values())
    columns = [_MACS, *([_CONNECTED] if apart else []), *([_OUTPUTS] if has_output else [])]
    points = []
    for name, network in networks.items():
        macs = network.convolution_macs if apart else network.macs
        counts = macs, network.fully_connected_macs, network.outputs
        points.append(([counts[column] for column in columns], row.cycles(name), 1 / network.macs**exponent))
    found = dict(zip(columns, non_negative(points), strict=True))
    return Fit(found[_MACS], found.get(_CONNECTED, found[_MACS]), found.get(_OUTPUTS, 0.0))


def left_out(row: Row, networks: Mapping[str, Network], has_output: bool, exponent: int = 1) -> dict[str, Fit]:
    """The fits that each network had no part in."""
    others = {name: {other: one for other, one in networks.items() if other != name} for name in networks}
    return {name: fit(row, rest, has_output, exponent) for name, rest in others.items()}


def expected_s(row: Row, networks: Mapping[str, Network], has_output: bool, exponent: int = 1) -> dict[str, float]:
    """The seconds that are expected of each network, which had no part in the fit."""
    fits = left_out(row, networks, has_output, exponent)
    return {name: found.cycles(networks[name]) / row.mhz / 10**6 for name, found in fits.items()}


def published_first(row: Row) -> bool:
    """Whether a row is of the ones by which the fit is judged: one library a board, that of the maker where it has a row."""
    return row.submitter == "STMicroelectronics" or "stm32f746" in row.devices


def expected_j(row: Row, networks: Mapping[str, Network], has_output: bool) -> dict[str, float]:
    """The joules that are expected of each network: neither its time nor its energy had a part."""
    times = expected_s(row, networks, has_output)
    return {name: time * row.watts([other for other in networks if other != name]) for name, time in times.items()}


Point = tuple[Sequence[float], float, float]
"""Counts, cycles, and the weight of the squared error."""


def non_negative(points: Sequence[Point]) -> list[float]:
    """The least squares without negative numbers: the best of those of all subsets of the columns in which none is negative."""
    width = len(points[0][0])
    best, least = [0.0] * width, sum(weight * value**2 for _, value, weight in points)
    for size in range(1, width + 1):
        for columns in combinations(range(width), size):
            found = least_squares([([counts[at] for at in columns], value, weight) for counts, value, weight in points])
            if found is None or min(found) < 0:
                continue
            full = [0.0] * width
            for at, each in zip(columns, found, strict=True):
                full[at] = each
            error = sum(
                weight * (sum(count * each for count, each in zip(counts, full, strict=True)) - value) ** 2
                for counts, value, weight in points
            )
            if error < least:
                best, least = full, error
    return best


def least_squares(points: Sequence[Point]) -> list[float] | None:
    """The solution of the normal equations by elimination; None where there is not one only."""
    width = len(points[0][0])
    rows = [
        [
            *(sum(weight * counts[at] * counts[other] for counts, _, weight in points) for other in range(width)),
            sum(weight * counts[at] * value for counts, value, weight in points),
        ]
        for at in range(width)
    ]
    for at in range(width):
        pivot = max(range(at, width), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        if not rows[at][at]:
            return None
        for other in range(width):
            if other != at:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [one - factor * two for one, two in zip(rows[other], rows[at], strict=True)]
    return [rows[at][width] / rows[at][at] for at in range(width)]


def table(row: Row, networks: Mapping[str, Network], has_output: bool) -> Iterator[str]:
    """The lines of a ``[[measured]]`` table."""
    found, times = fit(row, networks, has_output), expected_s(row, networks, has_output)
    ratios = [1 / row.per_s[name] / time for name, time in times.items()]
    of = f"{SOURCE}, {row.submitter}, {row.system}"
    fitted = "fitted by scripts/fit_microcontrollers.py"
    under = f", {row.conditions}" if row.conditions else ""
    yield "[[measured]]"
    yield f'kernels = "{row.kernels}"'
    yield 'precision = "int8"'
    yield f'conditions = "the four networks of MLPerf Tiny v1.2, batch 1, {row.mhz} MHz{under}"'
    yield _figure("cycles_per_s", row.mhz * 10**6, of)
    off = "measured over expected time of the network of four that had no part in the fit and"
    yield _figure("least", _rounded(min(ratios)), of, f"{off} was the fastest by it")
    yield _figure("most", _rounded(max(ratios)), of, f"{off} was the slowest by it")
    macs = [network.macs for network in networks.values()]
    yield _figure("least_macs", min(macs), COUNTED, "of the smallest of the networks")
    yield _figure("most_macs", max(macs), COUNTED, "of the largest of the networks")
    for operators, each in (("convolution", found.mac), ("fully connected", found.connected)):
        yield from ("", "[[measured.efficiencies]]", f'operators = "{operators}"')
        yield _figure("macs_per_cycle", _rounded(1 / each), of, fitted)
        if found.output:
            yield _figure("cycles_per_output", _rounded(found.output), of, fitted)
    if row.microjoules:
        drawn = [row.watts([name]) for name in networks]
        yield from ("", "[measured.power]")
        yield _figure(
            "mean_w", _rounded(row.watts(list(networks))), of, "energy over time of the four networks together"
        )
        yield _figure("least_w", _rounded(min(drawn)), of, "of the network that drew least")
        yield _figure("most_w", _rounded(max(drawn)), of, "of the network that drew most")


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _figure(key: str, value: float, source: str, note: str = "") -> str:
    number = f"{value:_}" if isinstance(value, int) else f"{value!r}"
    return f'{key} = {{ value = {number}, source = "{source}"' + (f', note = "{note}"' if note else "") + " }"


def texts() -> dict[str, str]:
    """What every device file of the catalogue that has measurements ends in."""
    networks, rows = read()
    terms = with_output(rows, networks)
    found: dict[str, str] = {}
    for row in rows:
        for device in row.devices:
            lines = table(row, networks, row.kernels in terms)
            found[device] = found.get(device, "") + "\n" + "\n".join(lines) + "\n"
    return found


def main(arguments: Sequence[str]) -> None:
    for device, text in texts().items():
        path = CATALOGUE / f"{device}.toml"
        if "--write" in arguments:
            path.write_text(path.read_text().split(_BEGINNING)[0] + text)
        else:
            sys.stdout.write(f"# {path.name}\n{text}")


if __name__ == "__main__":
    main(sys.argv[1:])
