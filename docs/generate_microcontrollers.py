"""Makes docs/microcontrollers.md: what is expected of networks on microcontrollers beside what was measured there."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from scripts import fit_microcontrollers as fitting
from weighbridge.devices.catalogue import find
from weighbridge.units import joules, seconds

__all__ = ["page"]

_PAGE = """\
# Time on microcontrollers

A data sheet gives a floor: on these cores no kernel does more than two multiply-accumulates a cycle, and real ones do fewer. Where
somebody measured kernels on a board, a report has a second time beside the floor, the **expected** one, with a range. The
two are never mixed. The floor follows from the data sheet and nothing is faster. The expected time is an estimate from
measurements of other networks; yours may lie outside its range. Neither is a measurement of your network.

A report has one entry for each library of kernels ([devices](devices.md) shows one), in its [JSON](json.md) under `on[ ].expected`. In a
comparison of models the figures are called `expected_s.KERNELS` and `expected_energy_j.KERNELS`, the upper ends of their ranges
`expected_most_s.KERNELS` and `expected_most_energy_j.KERNELS`. [Budgets](budgets.md) take these names too. With `--fps` it stands
beside the frames that are missed at the floor how many are expected to be missed, with their range. As nobody knows these figures
better than to some tens of percent, pages show two digits of them; the JSON has them as they were computed.

## What it is made of

```text
cycles = MACs of convolutions / MACs a cycle + MACs of fully connected layers / MACs a cycle + values put out x cycles each
time   = cycles / clock
energy = time x power
```

The numbers stand in the [device's file](devices.md), under `[[measured]]`, each with its source. Two classes of operators are told
apart: `convolution`, of any kernel, stride and groups, depthwise ones too, and `fully connected`, a linear layer that uses each
weight once. Values that these layers put out take cycles of their own with kernels for which that was seen: each is scaled and
clipped, which is why depthwise layers, a few MACs a value, are slow there. All that has no MACs (pooling, additions, softmax) is in
these numbers and not apart.

{efficiencies}

The kernels are those that the board's measurements name. X-CUBE-AI is STMicroelectronics' library, HALE Bosch's Hardware-Aware
Lowering Engine. Neither is CMSIS-NN, for which `kernel_library` gives the bytes that a runtime keeps: its times may be others.

**The fit.** The measurements are the int8 results of MLPerf Tiny v1.2 ({source}): four networks, four boards, {rows} pairs of board
and library. The numbers are least squares without negative cycles, in which a squared error is divided by the MACs of the
network. `scripts/fit_microcontrollers.py` makes them from `scripts/mlperf_tiny.toml`, and a test makes them again.

**The range.** Each network is left out of the fit in turn and expected from the other three. Measured over expected time of the two
that are farthest off are `least` and `most`; the range is the expected time times these. It is that of four networks
and no more: there is no confidence level in it. The range of energy is that of time and of the power that the four networks drew.
A network with fewer MACs than the smallest of them, or more than the largest ({least} and {most}), is told to be *beyond what was
measured*: nothing says that the range holds there.

## How far off it is

Every time here is expected of a network that had **no part in the fit**, on no board. Where the autoencoder is left out no network with
fully connected layers of any weight is left, and these take what convolutions do: that is why it is expected too fast everywhere.

{times}

Over the {published} times of the first library of each board the median is **{time} %**, over all {all} it is {everything} %; the
largest is {largest} %. One number for each board, the median cycles a MAC of the other three, is off by {constant} % in the
median of the {published}. The floor is below every measured time.

{energies}

Energy is the time expected times the power over the other three networks together. The median of the {energy_count} is
**{energy} %**. Bosch measured no energy, so that there is none with HALE.

**What these figures do not say.** They are four networks. Which libraries have a term for values put out was decided with all
four seen: those that give it one on every board. Beside it stand three ways without that decision:

| which libraries have the term | median of the {published} times | of all {all} |
| --- | --- | --- |
| those that give it one on every board, by all four networks: the one that is used | {time} % | {everything} % |
| none, so that nothing is chosen: two numbers for each board and library | {none} % | {none_of_all} % |
| those that give it one on every board, by the three networks that are left | {nested} % | {nested_of_all} % |
| all, and each fit may make it nothing | {blind} % | {blind_of_all} % |

The term is worth its place with HALE, where the error of all four boards falls, and does not with X-CUBE-AI: where MobileNet is left
out three networks give it one there too, and MobileNet is then expected two fifths too slow. X-CUBE-AI has no term, so that nothing
was chosen for the energies. The weights of the fit matter as well: the median of the {published} is {equal} % if all cycles count
alike, {relative} % if percents do; without any term for values put out {none_equal} % and {none_relative} %. DS-CNN takes some 30 %
longer with X-CUBE-AI than the others let expect; its first layer, a kernel of 10x4 on one channel, may be why, and four networks
cannot tell.

## What has no expected time

A sentence says why, and nothing is guessed:

- a microcontroller whose file has no `[[measured]]`;
- arithmetic in another number format than the measured one, a batch other than 1;
- MACs of other operators: matrix products, linear layers over many rows, transposed convolutions, recurrent layers, attention;
- a network of which not all MACs are counted;
- weights or activations that do not have room in the memory which the file names first, where they lay when it was measured: external
  flash and SDRAM are slower.

A network that does not fit has one nevertheless, *even if it fitted*, as its floor has: it tells what a board with more memory
would take.

Your own measurements go into your own device file, in the same form; [devices](devices.md) has the keys.
"""


def page() -> str:
    """The page as Markdown."""
    networks, rows = fitting.read()
    terms = fitting.with_output(rows, networks)
    judged = [row for row in rows if fitting.published_first(row)]
    powered = [row for row in rows if row.microjoules]

    def median(
        of: Sequence[fitting.Row], has_output: Callable[[fitting.Row], bool] | None = None, exponent: int = 1
    ) -> str:
        found = (has_output(row) if has_output else row.kernels in terms for row in of)
        errors = [
            abs(time * row.per_s[name] - 1)
            for row, term in zip(of, found, strict=True)
            for name, time in fitting.expected_s(row, networks, term, exponent).items()
        ]
        return _percent(statistics.median(errors))

    times = [abs(error) for row in rows for error in _errors(row, networks, terms)]
    energies = [
        abs(energy * 10**6 / (row.microjoules or {})[name] - 1)
        for row in powered
        for name, energy in fitting.expected_j(row, networks, row.kernels in terms).items()
    ]
    return _PAGE.format(
        source=fitting.SOURCE,
        rows=len(rows),
        published=len(judged) * len(networks),
        all=len(times),
        efficiencies=_table(_efficiencies(rows)),
        times=_table(_times(rows, networks, terms)),
        energies=_table(_energies(powered, networks, terms)),
        time=median(judged),
        everything=median(rows),
        largest=_percent(max(times)),
        constant=_percent(statistics.median(_constant(judged, networks))),
        energy=_percent(statistics.median(energies)),
        energy_count=len(energies),
        none=median(judged, lambda _: False),
        none_of_all=median(rows, lambda _: False),
        nested=_percent(statistics.median(_nested(judged, rows, networks))),
        nested_of_all=_percent(statistics.median(_nested(rows, rows, networks))),
        blind=median(judged, lambda _: True),
        blind_of_all=median(rows, lambda _: True),
        none_equal=median(judged, lambda _: False, 0),
        none_relative=median(judged, lambda _: False, 2),
        least=f"{min(network.macs for network in networks.values()):,}",
        most=f"{max(network.macs for network in networks.values()):,}",
        equal=median(judged, exponent=0),
        relative=median(judged, exponent=2),
    )


def _percent(part: float) -> str:
    return f"{100 * part:.1f}"


def _table(rows: Iterator[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))


def _efficiencies(rows: Sequence[fitting.Row]) -> Iterator[Sequence[str]]:
    yield (
        "board",
        "kernels",
        "MACs a cycle, convolution",
        "fully connected",
        "cycles a value put out",
        "time, least and most",
        "power, mean (least to most)",
    )
    for row in rows:
        found = next(one for one in find(row.devices[0]).measured if one.kernels == row.kernels)
        convolution, connected = found.efficiencies
        output, power = convolution.cycles_per_output, found.power
        yield (
            f"`{row.devices[0]}`",
            row.kernels,
            f"{convolution.macs_per_cycle.value}",
            f"{connected.macs_per_cycle.value}",
            f"{output.value}" if output else "–",
            f"x {found.least.value} to x {found.most.value}",
            ""
            if power is None
            else f"{_milli(power.mean_w.value)} ({_milli(power.least_w.value)} to {_milli(power.most_w.value)}) mW",
        )


def _milli(watts: float) -> str:
    return f"{1000 * watts:.4g}"


def _errors(row: fitting.Row, networks: dict[str, fitting.Network], terms: frozenset[str]) -> Iterator[float]:
    for name, time in fitting.expected_s(row, networks, row.kernels in terms).items():
        yield time * row.per_s[name] - 1


def _times(
    rows: Sequence[fitting.Row], networks: dict[str, fitting.Network], terms: frozenset[str]
) -> Iterator[Sequence[str]]:
    yield "board", "kernels", "network", "measured", "floor", "expected, left out", "off"
    for row in rows:
        peak = find(row.devices[0]).peak("int8")
        assert peak is not None
        expected = fitting.expected_s(row, networks, row.kernels in terms)
        for (name, network), error in zip(networks.items(), _errors(row, networks, terms), strict=True):
            floor = 2 * network.macs / peak.ops_per_s.value
            times = (1 / row.per_s[name], floor, expected[name])
            yield f"`{row.devices[0]}`", row.kernels, network.title, *map(seconds, times), f"{100 * error:+.1f} %"


def _energies(
    rows: Sequence[fitting.Row], networks: dict[str, fitting.Network], terms: frozenset[str]
) -> Iterator[Sequence[str]]:
    yield "board", "kernels", "network", "measured", "expected, left out", "off"
    for row in rows:
        for name, energy in fitting.expected_j(row, networks, row.kernels in terms).items():
            measured = (row.microjoules or {})[name] / 10**6
            error = f"{100 * (energy / measured - 1):+.1f} %"
            yield f"`{row.devices[0]}`", row.kernels, networks[name].title, joules(measured), joules(energy), error


def _nested(
    judged: Sequence[fitting.Row], rows: Sequence[fitting.Row], networks: dict[str, fitting.Network]
) -> Iterator[float]:
    """How far off the fit is where the network that is left out has no part in the choice of the terms either."""
    for name, network in networks.items():
        rest = {other: one for other, one in networks.items() if other != name}
        terms = fitting.with_output(rows, rest)
        for row in judged:
            cycles = fitting.fit(row, rest, row.kernels in terms).cycles(network)
            yield abs(cycles / row.cycles(name) - 1)


def _constant(rows: Sequence[fitting.Row], networks: dict[str, fitting.Network]) -> Iterator[float]:
    """How far off one number for each board is: the median cycles a MAC of the other networks."""
    for row in rows:
        each = {name: row.cycles(name) / network.macs for name, network in networks.items()}
        for name in networks:
            yield abs(statistics.median(value for other, value in each.items() if other != name) / each[name] - 1)
