"""Reports made by hand: small ones to look at, hostile ones, large ones; no front end and no pass is involved."""

from __future__ import annotations

from weighbridge.counts import Activations, NetworkFacts, NodeFacts, Uncounted
from weighbridge.estimates import Conditions, Fit, Latency, Region
from weighbridge.memory import MemoryPlan, TensorSpan
from weighbridge.operators.record import Loops, Work
from weighbridge.report import Network, NetworkInput, OnDevice, Report


def node(
    name: str,
    *,
    scope: str = "",
    operator: str = "conv",
    weights: int = 0,
    biases: int = 0,
    macs: int | None = 0,
    output: tuple[int, ...] | None = (1, 8, 4, 4),
    fused: tuple[str, ...] = (),
    origin: str = "",
) -> NodeFacts:
    size = None
    if output is not None:
        size = 4
        for length in output:
            size *= length
    return NodeFacts(
        name=name,
        scope=scope,
        module_call=None,
        operator=operator,
        kind="contraction",
        origin=origin,
        fused=fused,
        parameters=weights + biases,
        weights=weights,
        macs=macs,
        flops=None if macs is None else 2 * macs,
        work=None if macs is None else Work(macs=macs, compare=7),
        output=output,
        output_dtype="float32",
        output_bytes=size,
        read_bytes=size,
        write_bytes=size,
        loops=(Loops(1, 2, 3, label="c"),),
        uses_per_weight=None if not weights or macs is None else macs // weights,
        exact=macs is not None,
        weight_bytes=4 * weights,
    )


def report(nodes: list[NodeFacts], **changes: object) -> Report:
    """A report of ``nodes`` whose totals and memory figures are made up from theirs."""
    macs = sum(item.macs or 0 for item in nodes)
    parameters, weights = sum(item.parameters or 0 for item in nodes), sum(item.weights or 0 for item in nodes)
    uncounted = tuple(
        Uncounted(item.name, item.origin or item.operator, "there is no rule for this operator")
        for item in nodes
        if item.macs is None
    )
    sizes = [None if item.output_bytes is None else 2 * item.output_bytes for item in nodes]
    known = [size for size in sizes if size is not None]
    peak = max(known) if known and len(known) == len(sizes) else None
    peak_node = None if peak is None else nodes[sizes.index(peak)].name
    elements = None if peak is None else peak // 4
    facts = NetworkFacts(
        parameters=parameters,
        weights=weights,
        biases=parameters - weights,
        other_parameters=0,
        deployed_parameters=parameters,
        parameter_bytes=4 * parameters,
        weight_bytes=4 * weights,
        constant_bytes=0,
        deployed_bytes=4 * parameters,
        macs=macs,
        flops=2 * macs,
        ops=2 * macs,
        work=Work(macs=macs, compare=7 * len(nodes)),
        activations=Activations(
            None if peak is None else sum(known) // 8, sum(known) // 2, {"pair": elements, "live": elements}
        ),
        exact=not uncounted,
        work_exact=not uncounted,
        uncounted=uncounted,
        nodes=tuple(nodes),
    )
    memory = MemoryPlan(
        peak_bytes={"pair": peak, "live": peak},
        peak_elements={"pair": elements, "live": elements},
        peak_node={"pair": peak_node, "live": peak_node},
        profile={"pair": tuple(sizes), "live": tuple(sizes)},
        tensors=tuple(TensorSpan(item.name, item.output_bytes, index, index + 1) for index, item in enumerate(nodes)),
        variable_bytes=0,
        persistent_bytes=None,
        exact=peak is not None,
    )
    network = Network("sample", "sample.onnx", "onnx", (NetworkInput("x", (1, 3, 224, 224), "float32"),))
    return Report(**{"tool": "weighbridge 0", "network": network, "facts": facts, "memory": memory, **changes})  # type: ignore[arg-type]


ALEXNET = (
    ("conv1", 34848, 96, 105415200, (1, 96, 55, 55)),
    ("pool1", 0, 0, 0, (1, 96, 27, 27)),
    ("conv2", 307200, 256, 223948800, (1, 256, 27, 27)),
    ("pool2", 0, 0, 0, (1, 256, 13, 13)),
    ("conv3", 884736, 384, 149520384, (1, 384, 13, 13)),
    ("conv4", 663552, 384, 112140288, (1, 384, 13, 13)),
    ("conv5", 442368, 256, 74760192, (1, 256, 13, 13)),
    ("pool5", 0, 0, 0, (1, 256, 6, 6)),
    ("fc6", 37748736, 4096, 37748736, (1, 4096)),
    ("fc7", 16777216, 4096, 16777216, (1, 4096)),
    ("fc8", 4096000, 1000, 4096000, (1, 1000)),
)


def alexnet() -> list[NodeFacts]:
    return [
        node(
            name,
            scope="features" if name < "fc" or name.startswith("pool") else "classifier",
            operator="max_pool" if name.startswith("pool") else "conv" if name.startswith("conv") else "linear",
            weights=weights,
            biases=biases,
            macs=macs,
            output=output,
            fused=("relu",) if weights and name != "fc8" else (),
        )
        for name, weights, biases, macs, output in ALEXNET
    ]


def on_device(*, needed: int = 243_860_896, available: int = 1_048_576, peak: int = 1_763_712) -> OnDevice:
    """A microcontroller's flash and SRAM."""
    regions = (
        region("flash", ("weights",), needed, available, None),
        region("sram", ("activations",), peak, 327_680, "conv1"),
    )
    verdict = "fits" if all(item.verdict == "fits" for item in regions) else "does not fit"
    latency = Latency(3.35, None, 3.35, 0.9, "compute", 432_000_000, "cpu", True, False, ("a note",))
    return OnDevice("stm32f746", Conditions("STM32F746", None, "float32", 1), Fit(verdict, regions), latency)


def region(name: str, holds: tuple[str, ...], needed: int, available: int, peak_node: str | None) -> Region:
    short = max(0, needed - available)
    verdict = "does not fit" if short else "fits"
    return Region(
        name, holds, verdict, needed, available, short, available, 0, needed / available, None, peak_node, True
    )


def large(count: int) -> Report:
    """``count`` nodes in blocks of ten, in stages of a hundred."""
    nodes = [
        node(
            f"/stage{index // 100}/block{index // 10}/n{index}",
            scope=f"stage{index // 100}.block{index // 10}",
            weights=9,
            macs=index,
        )
        for index in range(count)
    ]
    return report(nodes)
