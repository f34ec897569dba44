"""Recomputes torchvision's published parameters and multiply-accumulates, weight set by weight set, and writes the page of them.

    python benchmarks/torchvision_table.py TABLE [--page docs/torchvision.md]

TABLE is a CSV file with the columns builder, weights, parameters, gmacs, crop_size.  Exit status 1 if a row differs and no
rule explains it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import torch
import torchvision

from benchmarks.torchvision_models import FAMILIES, Row, built, rows
from weighbridge import load
from weighbridge.counts import count

__all__ = ["Found", "agrees", "recomputed", "rule"]

BOXES: Final[Mapping[str, tuple[int, int]]] = {
    "FasterRCNN_ResNet50_FPN_Weights.COCO_V1": (1000, 0),
    "FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1": (1000, 0),
    "KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY": (1000, 0),
    "KeypointRCNN_ResNet50_FPN_Weights.COCO_V1": (1000, 1),
    "MaskRCNN_ResNet50_FPN_Weights.COCO_V1": (1000, 0),
    "MaskRCNN_ResNet50_FPN_V2_Weights.COCO_V1": (1000, 100),
}
"""Boxes that the trained detector classified in the image of random numbers, and those whose mask or key points it drew.

They follow from the published figure, of which every other part is known: the remainder is a whole number of boxes.
"""


class Found(NamedTuple):
    """What comes out for a row."""

    parameters: int
    macs: int
    is_exact: bool


def recomputed(row: Row) -> Found:
    """The figures of a row, every node weighed as the model has it."""
    model, inputs = built(row, *BOXES.get(row.weights, (0, 0)))
    graph = load(model, inputs=inputs)
    facts = count(graph, graph)
    return Found(facts.parameters, facts.macs, facts.exact)


def agrees(row: Row, found: Found) -> bool:
    """Whether the parameters are equal to the unit, and the multiply-accumulates at the published three decimals."""
    return found.is_exact and found.parameters == row.parameters and gmacs(found.macs) == row.gmacs


def gmacs(macs: int) -> float:
    return round(macs / 1e9, 3)


def rule(row: Row, found: Found) -> str:
    """What the published figure depends on beside the network; "" where that is nothing."""
    if not agrees(row, found):
        return "no rule is known"
    said = []
    if "rcnn" in row.builder:
        boxes, details = BOXES.get(row.weights, (0, 0))
        said.append(f"{boxes:,} boxes classified" if boxes else "no box found")
        if details:
            said.append(f"{details} {'masks' if 'mask' in row.builder else 'person'} drawn")
    return "; ".join(said)


HEAD: Final = """\
# The torchvision table

torchvision publishes parameters and multiply-accumulates (`GFLOPS` in its documentation: multiplications of convolutions and
matrix products alone) with every weight set. This page holds `weighbridge` against all {rows} of them, under torchvision
{torchvision} and PyTorch {torch}: **the parameters of {parameters} rows are equal to the unit, and the multiply-accumulates of
{equal} at the published three decimals**.

`benchmarks/torchvision_table.py` makes this page. Each model is built without weights, with what its weight set makes of the
builder's arguments: no auxiliary heads in GoogLeNet, an auxiliary head in Inception, DeepLabV3 and FCN, the size of the image
in the vision transformers that were fine-tuned end to end, constants in the place of batch normalisation in the first
detectors. Inputs are those of torchvision's counter (`get_ops` in its `test/common_extended_utils.py`), which sends an image of
random numbers, 512 x 512, through the preset of the weight set: classifiers get their crop, videos 16 frames, segmentation
520 x 520, RAFT 512 x 512, detectors what they resize it to. For quantised networks the figures of the network before
quantisation are published; the quantised one has the same multiply-accumulates.

A detector with two stages classifies the boxes that its first stage found, and how many these are, its trained weights and the
image decide; so do the people whose key points it draws, and the masks. The last column says with which numbers the published
figure is met: all the rest is known, and what remains is a whole number of boxes. In the image of random numbers the first
stage found 1,000, the most that it passes on, or none. Between the networks nothing multiplies: box coding, suppression and
RoI align have no multiply-accumulates of contractions.
"""


def page(found: Iterable[tuple[Row, Found]]) -> str:
    """docs/torchvision.md."""
    known = list(found)
    parameters = sum(one.parameters == row.parameters for row, one in known)
    equal = sum(gmacs(one.macs) == row.gmacs for row, one in known)
    versions = {"torchvision": torchvision.__version__, "torch": torch.__version__}
    versions = {name: version.partition("+")[0] for name, version in versions.items()}
    parts = [HEAD.format(rows=len(known), parameters=parameters, equal=equal, **versions)]
    for family in FAMILIES:
        parts += [
            f"## {family.replace('_', ' ').capitalize()}\n",
            "| builder | weights | parameters | GMACs | published | for |",
            "|---|---|---:|---:|---:|---|",
            *(_line(row, one) for row, one in known if row.family == family),
            "",
        ]
    return "\n".join(parts)


def _line(row: Row, found: Found) -> str:
    parameters = f"{found.parameters:,}"
    if found.parameters != row.parameters:
        parameters += f" (published: {row.parameters:,})"
    weights = row.weights.partition(".")[2]
    return (
        f"| {row.builder} | {weights} | {parameters} | {gmacs(found.macs):.3f} | {row.gmacs:.3f} | {rule(row, found)} |"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, metavar="TABLE")
    parser.add_argument("--page", type=Path, help="write the page to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    known: dict[tuple[object, ...], Found] = {}
    table = rows(options.table)
    for row in table:
        if row.network not in known:
            known[row.network] = recomputed(row)
    found = [(row, known[row.network]) for row in table]
    differing = [(row, one) for row, one in found if not agrees(row, one)]
    print(f"{len(found) - len(differing)} of {len(found)} rows agree")
    for row, one in differing:
        print(f"{row.builder} {row.weights}: published {row.parameters:,} and {row.gmacs}, ours {one}")
    if options.page:
        options.page.write_text(page(found), encoding="utf-8")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
