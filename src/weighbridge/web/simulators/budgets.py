"""Two budgets: three networks against the flash and the SRAM of a board, and MobileNetV2 block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, UNKNOWN, Need, Room, room
from weighbridge.memory import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.peaks import LIVE, peaks
from weighbridge.units import exact, in_full, significant, stated
from weighbridge.web.boards import Budget, board_choice, board_named, budget_of
from weighbridge.web.controls import Choice, Control, Number, State
from weighbridge.web.demands import Kept, kept
from weighbridge.web.figures import UNKNOWN as NOT_KNOWN
from weighbridge.web.figures import count, size, words
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["budgets"]

_KIB: Final = 1024
_CONTRACTIONS: Final = "held_contractions"
_POLICIES: Final = {
    _CONTRACTIONS: "held, at convolutions and linear layers alone (the source's)",
    "held": "held, at every layer",
    LIVE: "live: everything still to be read",
    f"{LIVE}{IN_PLACE}": "live, written in place where that can be",
}
_BLOCK_POLICY: Final = f"pair{IN_PLACE}"
_BLOCKS: Final = ("stem", *(f"block{place}" for place in range(1, 18)))
"""Of MobileNetV2: the stem is block 0."""
_RESNET, _MOBILENET, _MCUNET = "resnet18", "mobilenet_v2", "mcunet_in4"


def budgets() -> Simulator:
    """The simulator; its presets are the source material's board, a larger one, and two ways to make a network smaller."""
    return Simulator(
        "budgets",
        "Two budgets",
        "Does a network with fewer parameters need less memory?",
        "Weights lie in flash, activations in SRAM, and the two shrink by different means: a smaller width takes weights away, a "
        "smaller resolution activations. A network fits when both do.",
        tuple(_controls()),
        _answer,
        (
            Preset("1 MiB of flash and 320 KiB of SRAM (STM32F746)", {"on": "stm32f746"}),
            Preset("2 MiB of flash and 512 KiB of SRAM (STM32H743)", {"on": "stm32h743"}),
            Preset("MobileNetV2 in width 1", {"width": 1.0}),
            Preset("a smaller image in place of a smaller width", {"width": 0.75, "resolution": 96}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield board_choice("stm32f746")
    yield Number("bits", "bit width", 8, 1, 64, 32, unit="bits", meaning="Of every weight and every activation.")
    yield Number(
        "width",
        "width of MobileNetV2",
        0.75,
        0.1,
        4,
        1.5,
        step=0.05,
        meaning="The factor on its channels: 1 in the paper.",
    )
    yield Number(
        "resolution",
        "resolution of MobileNetV2",
        224,
        32,
        1024,
        320,
        unit="pixels",
        meaning="Height and width of the image.",
    )
    yield Choice("policy", "policy", _CONTRACTIONS, _POLICIES, "What is called alive while a layer runs.")
    yield Number(
        "line_kib",
        "line across the blocks",
        256,
        1,
        2**20,
        512,
        unit="KiB",
        meaning="An SRAM budget for the blocks below.",
    )


class _Network(NamedTuple):
    """A network on a board: what it needs of flash and SRAM, and whether there is room."""

    key: str
    name: str
    title: str
    kept: Kept
    policy: str
    flash: Budget
    sram: Budget

    @property
    def peak_bytes(self) -> int | None:
        return self.kept.memory.peak_bytes[self.policy]

    @property
    def weights(self) -> Room:
        need = Need(WEIGHTS, self.kept.stored_bytes, self.kept.stored_exact and self.kept.stored_bytes is not None)
        return room([need], self.flash.available_bytes)

    @property
    def activations(self) -> Room:
        need = Need(ACTIVATIONS, self.peak_bytes, self.kept.memory.exact and self.peak_bytes is not None)
        return room([need], self.sram.available_bytes)

    @property
    def verdict(self) -> str:
        both = {self.weights.verdict, self.activations.verdict}
        return next(one for one in (DOES_NOT_FIT, UNKNOWN, FITS) if one in both)


def _answer(state: State) -> Answer:
    networks = tuple(_networks(state))
    mobilenet = next(one for one in networks if one.key == _MOBILENET)
    blocks, line = _by_block(mobilenet.kept), int(state["line_kib"]) * _KIB
    first = networks[0]
    notes = dict.fromkeys((*_assumptions(first), *first.flash.notes, *first.sram.notes))
    return Answer(
        tuple(readout for one in networks for readout in _of(one)) + tuple(_of_blocks(blocks, line)),
        (_sentence(networks),),
        (_bars(networks), _block_bars(blocks, line, mobilenet.title)),
        (_table(networks),),
        notes=(*notes, f"blocks: under the policy {_BLOCK_POLICY}, the most of each; residuals are not counted"),
    )


def _networks(state: State) -> Iterator[_Network]:
    board, bits, policy = board_named(str(state["on"])), int(state["bits"]), str(state["policy"])
    flash, sram = budget_of(board, WEIGHTS), budget_of(board, ACTIVATIONS)
    width, resolution = in_full(stated(float(state["width"]))), state["resolution"]
    mobilenet = f"{_MOBILENET}:width={width},resolution={resolution}"
    for key, source, name, title in (
        (_RESNET, _RESNET, "ResNet-18", "ResNet-18"),
        (_MOBILENET, mobilenet, "MobileNetV2", f"MobileNetV2 at width {width}, {resolution} pixels"),
        (_MCUNET, _MCUNET, "MCUNet-in4", "MCUNet-in4"),
    ):
        yield _Network(key, name, title, kept(source, bits), policy, flash, sram)


def _of(one: _Network) -> Iterator[Readout]:
    key, group = one.key, one.name
    yield count(f"{key}.parameters", "parameters", one.kept.parameters, group, one.title)
    yield size(f"{key}.stored_bytes", "to be stored", one.kept.stored_bytes, group, "weights, biases and constants")
    flash = f"{exact(one.flash.available_bytes)} B, {one.flash.title}"
    yield words(f"{key}.flash_verdict", "in flash", one.weights.verdict, group, flash)
    yield size(f"{key}.peak_bytes", "peak", one.peak_bytes, group, f"under the policy {one.policy}")
    yield words(f"{key}.peak_node", "set by", one.kept.memory.peak_node[one.policy], group)
    sram = f"{exact(one.sram.available_bytes)} B, {one.sram.title}"
    yield words(f"{key}.sram_verdict", "in SRAM", one.activations.verdict, group, sram)


def _sentence(networks: tuple[_Network, ...]) -> str:
    resnet, mobilenet = networks[:2]
    parameters = _ratio(resnet.kept.parameters, mobilenet.kept.parameters)
    peak = _ratio(mobilenet.peak_bytes, resnet.peak_bytes)
    return (
        f"ResNet-18 has {parameters} times the parameters of {mobilenet.title}, which has {peak} times the peak of ResNet-18; "
        f"of the three {_listed(one.title for one in networks if one.verdict == FITS)}"
    )


def _listed(titles: Iterator[str]) -> str:
    fitting = list(titles)
    if not fitting:
        return "none fits"
    return f"{' and '.join(fitting)} fit{'s' if len(fitting) == 1 else ''}"


def _ratio(one: int | None, other: int | None) -> str:
    return significant(float(Fraction(one, other))) if one is not None and other else NOT_KNOWN


def _assumptions(one: _Network) -> Iterator[str]:
    for topic, said in peaks(one.kept.memory).assumptions:
        if topic in (one.policy.removesuffix(IN_PLACE), "held", "layer by layer", "weights", "scratch"):
            yield f"{topic}: {said}"


def _table(networks: tuple[_Network, ...]) -> Grid:
    titles = ("network", "parameters", "stored", "in flash", "peak", "in SRAM")
    columns = tuple(Column(title, is_number=title in ("parameters", "stored", "peak")) for title in titles)
    rows = tuple(
        GridRow(
            (
                one.title,
                exact(one.kept.parameters),
                _shown(one.kept.stored_bytes),
                one.weights.verdict,
                _shown(one.peak_bytes),
                one.activations.verdict,
            ),
            one.verdict,
        )
        for one in networks
    )
    return Grid("Flash and SRAM, in bytes", columns, rows)


def _shown(value: int | None) -> str:
    return NOT_KNOWN if value is None else exact(value)


def _bars(networks: tuple[_Network, ...]) -> Plot:
    rows: list[Mapping[str, Figure]] = []
    for one in networks:
        for memory, needed, budget, verdict in (
            ("flash", one.kept.stored_bytes, one.flash, one.weights.verdict),
            ("SRAM", one.peak_bytes, one.sram, one.activations.verdict),
        ):
            available = budget.available_bytes
            rows.append(
                {
                    "network": one.name,
                    "memory": memory,
                    "needed_bytes": needed,
                    "available_bytes": available,
                    "verdict": verdict,
                }
            )
    said = [f"{one.title} {one.verdict}" if one.verdict != UNKNOWN else f"{one.title}: unknown" for one in networks]
    line = "the line is what the board has"
    return Plot("budgets", "What is needed, and what there is", _BARS, tuple(rows), f"{'; '.join(said)}; {line}")


_VERDICT: Final = {
    "field": "verdict",
    "type": "nominal",
    "scale": {"domain": [FITS, DOES_NOT_FIT, UNKNOWN], "range": [PALETTE[0], ACCENT, MUTED]},
    "legend": {"title": None, "orient": "bottom"},
}
_BARS: Final[Mapping[str, Any]] = {
    "data": {"name": "budgets"},
    "facet": {"row": {"field": "memory", "type": "nominal", "sort": ["flash", "SRAM"], "title": None}},
    "spec": {
        "width": 520,
        "height": {"step": 26},
        "encoding": {"y": {"field": "network", "type": "nominal", "sort": None, "title": None}},
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "x": {
                        "field": "needed_bytes",
                        "type": "quantitative",
                        "title": "bytes",
                        "axis": {"format": "~s", "tickCount": 6},
                    },
                    "color": _VERDICT,
                    "tooltip": [
                        {"field": "network", "type": "nominal"},
                        {"field": "needed_bytes", "type": "quantitative", "title": "needed (B)", "format": ","},
                        {"field": "available_bytes", "type": "quantitative", "title": "there (B)", "format": ","},
                    ],
                },
            },
            {
                "mark": {"type": "tick", "color": "currentColor", "thickness": 3, "bandSize": 26},
                "encoding": {"x": {"field": "available_bytes", "type": "quantitative"}},
            },
        ],
    },
    "resolve": {"scale": {"x": "independent"}},
}


def _by_block(network: Kept) -> dict[str, int | None]:
    """The most that is alive in each block while it runs; None where a size is unknown."""
    found: dict[str, int | None] = {}
    for name, alive in zip(network.names, network.memory.profile[_BLOCK_POLICY], strict=True):
        block = name.partition(".")[0]
        if block in _BLOCKS:
            most = found.get(block, 0)
            found[block] = None if most is None or alive is None else max(most, alive)
    return found


def _of_blocks(blocks: Mapping[str, int | None], line_bytes: int) -> Iterator[Readout]:
    group = "Blocks of MobileNetV2"
    needs = list(blocks.values())
    over = None if None in needs else sum(alive is not None and alive > line_bytes for alive in needs)
    yield count("blocks_over", "blocks above the line", over, group, f"of {len(blocks)}; the stem is block 0")
    top = None if None in needs else max(alive for alive in needs if alive is not None)
    yield size("most_bytes", "the most", top, group, f"under the policy {_BLOCK_POLICY}")
    yield words("most_block", "in", next((name for name, alive in blocks.items() if alive == top), None), group)


def _block_bars(blocks: Mapping[str, int | None], line_bytes: int, title: str) -> Plot:
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "block": place,
            "name": name,
            "alive_bytes": alive,
            "line_bytes": line_bytes,
            "verdict": room([Need(ACTIVATIONS, alive, alive is not None)], line_bytes).verdict,
        }
        for place, (name, alive) in enumerate(blocks.items())
    )
    over = [str(row["block"]) for row in rows if row["verdict"] == DOES_NOT_FIT]
    said = f"above the line of {exact(line_bytes)} B: {', '.join(over) or 'none'}"
    return Plot("blocks", f"{title}, block by block", _BLOCK_BARS, rows, f"a bar a block, 0 is the stem; {said}")


_BLOCK_BARS: Final[Mapping[str, Any]] = {
    "data": {"name": "blocks"},
    "width": 700,
    "height": 220,
    "layer": [
        {
            "mark": {"type": "bar"},
            "encoding": {
                "x": {"field": "block", "type": "ordinal", "title": "block", "axis": {"labelAngle": 0}},
                "y": {"field": "alive_bytes", "type": "quantitative", "title": "bytes alive", "axis": {"format": "~s"}},
                "color": _VERDICT,
                "tooltip": [
                    {"field": "name", "type": "nominal", "title": "block"},
                    {"field": "alive_bytes", "type": "quantitative", "title": "alive (B)", "format": ","},
                ],
            },
        },
        {
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2, "color": MUTED},
            "encoding": {"y": {"aggregate": "max", "field": "line_bytes", "type": "quantitative"}},
        },
    ],
}
