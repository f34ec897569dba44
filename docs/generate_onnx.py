"""Writes docs/onnx.md: how ONNX files are read, and what came of every file in the shared folder of real ones.

The table is made anew where that folder lies beside the repository; elsewhere the page keeps the one it has.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.onnx.files import REFUSED, onnx_files, report_of  # noqa: E402
from weighbridge.frontends import onnx_generation  # noqa: E402
from weighbridge.frontends.onnx_table import RULES  # noqa: E402
from weighbridge.report import Report  # noqa: E402

PAGE = ROOT / "docs" / "onnx.md"
SHARED = ROOT.parent / "shared"

TEXT = """\
# ONNX

`pip install 'weighbridge[onnx]'` lets `weighbridge weigh model.onnx` read ONNX files, from operator set 6 on. What is said
here about files holds for ONNX; what the numbers mean stands in [Conventions](conventions.md).

## What is read

The structure, and no weights: a scan of the file copies everything but the payload of its large tensors, so a model of
any size takes milliseconds and a few megabytes. Small tensors are kept, as shapes are computed from them: integers up to
64 KiB, others up to 1 KiB. Data in other files is looked at only where a shape is computed from it; a path that leaves the
model's folder is refused. Nothing of onnx's own C++ code runs on your file.

## Sizes that the file leaves open

A dimension without a size is a question to you, never a silent 1.

| option | sets |
|---|---|
| `--batch 4` | dimension 0 of the inputs, wherever it is open; if nowhere, the first input's fixed one and all equal to it |
| `--dim seq=128` | a dimension by its name, in all inputs; one that is a formula of others (`past + 1`) follows from them |
| `--sequence 128` | all dimensions named like a sequence |
| `--input x=1x3x224x224` | the whole shape of an input, fixed sizes included |

Once a size that the file fixes is replaced, the shapes that the file states for other tensors are not believed any more.

## Where shapes come from

From the rules of our [operators](operators.md), tensor by tensor; they are compared with the shapes that the file states,
and a report notes where the two differ. A node whose operands cannot go together is an error that names it. Stated shapes
serve where there is no rule, and where values decide.

Shapes that the model computes itself (`Shape`, `Gather`, `Concat`, `Reshape` …) are followed by value. Since every input
has a size, the `Shape` of a tensor is a constant; whatever depends on constants alone is computed before inference and
costs nothing per inference, with its result held like any other constant. Values are worked out only where a shape asks
for them, on at most 65,536 elements. A shape that depends on the data stays unknown, and what needs it says so.

## Functions, branches and loops

- The nodes of a local **function** take the place of its call; what it stores is one storage, however often it is called.
- **If**: a branch that is known to be taken (exporters ask about shapes) joins the graph. Otherwise the branch with more MACs
  counts, and the parameters of both.
- **Loop**: the body times its trips, where the limit is a constant and the condition is always true or handed through.
  Where values decide how often it runs, one trip counts and the total is a lower bound.
- **Scan**: the body once for every element of the scanned axis.
- Sequences and optional values are carried along; they cost nothing.

## What stored tensors are for

Initialisers, `Constant` nodes in all their forms, `ConstantOfShape` nodes whose shape is known and sparse tensors (with their
dense shape, and a note) are stored. An initialiser that several nodes read counts once. What one is for is told by the slots
it reaches, directly or through nodes that depend on no input:

- a weight, bias or affine slot: a *parameter*, integers too (quantised weights), but not a scalar that arithmetic takes in
  on the way;
- else a running statistic, scale or zero point: a *buffer*;
- else, in an addition, a product, a concatenation or an operator without a rule: a *parameter* if it is floating point,
  or dequantised on its way there, and an initialiser of at least one dimension, or a `Constant` of more than one element;
  scalars there are parts of a formula;
- anything else is a *constant*. An initialiser that nothing reads is one too, and a note names it.

Numbers and tables that an operator holds in attributes (the coefficients, support vectors and trees of `ai.onnx.ml`) are
stored too, under the name of the node and the attribute, and the same rules say what they are for.

A matrix product with a stored matrix on the right is a `linear` layer, and rows looked up in a stored table are an
`embedding`; otherwise they are `matmul` and `gather`.

## ONNX Runtime's own operators

Files that ONNX Runtime optimised, quantised or trains hold operators of its domain `com.microsoft`. One that fuses several
layers counts as these, so that a network weighs the same before and after: `SkipLayerNormalization` is additions and a layer
norm, `Attention` a linear layer, a split and an attention whose scores are scratch. Operators on quantised operands
(`QLinear…`) are dequantised, computed and quantised, as their definition says, and become one when the network is deployed.
Weights of a few bits that lie packed in bytes (`MatMulNBits`, `MatMulBnb4`, `GatherBlockQuantized`) count as the integers that
they hold, in the bytes that the file takes for them; scales and zero points are buffers.

How many keys an attention with a cache meets follows from the shapes of its cache, or where past and present share a buffer
from an operand (`past_sequence_length`, `total_sequence_length`). Where that comes with the data, and where sequences of a
batch are packed one behind the other, the attention is not counted, and the reason says so.

A mixture of experts (`MoE`, `QMoE`) counts the `k` experts that every position goes through, whichever they are, and has the
parameters of all. `BeamSearch`, `GreedySearch` and `Sampling` hold the networks that they run: an encoder counts once, the decoder
one pass of as many as the text takes, and the total is a lower bound. `EPContext` holds a network compiled for a device,
and nothing of it is counted.

Rules exist for
{microsoft}.

## What has no rule

It stays in the graph under its name, with the types that the file states, its totals are lower bounds (`--strict` refuses
them), and its stored tensors count as parameters. ONNX's own operators all have one, and so have those of
`ai.onnx.ml` and `ai.onnx.preview.training`, most of ONNX Runtime's (`com.microsoft`) and of its extensions (`ai.onnx.contrib`), and
the functions of PyTorch that its exporters leave as `ATen` nodes. What only a test or one company's code defines has none.

## Real files

{summary}

"""


def page() -> str:
    """The page as Markdown."""
    if not SHARED.is_dir():
        kept = PAGE.read_text(encoding="utf-8")
        found = re.search(r"^## Real files\n\n(.*?)\n\n(### .*)", kept, re.MULTILINE | re.DOTALL)
        summary, tables = (found[1], found[2]) if found else ("", "")
    else:
        summary, tables = _files()
    *names, last = sorted([*RULES["com.microsoft"], *onnx_generation.SPECIAL], key=str.lower)
    microsoft = fill(", ".join(f"`{name}`" for name in names) + f" and `{last}`", 120)
    return TEXT.format(microsoft=microsoft, summary=summary) + tables


def _files() -> tuple[str, str]:
    folders: dict[str, list[str]] = {}
    count = exact = 0
    for name, path in onnx_files(SHARED).items():
        rows = folders.setdefault(name.partition("/")[0], [])
        count += 1
        if name in REFUSED:
            rows.append(f"| `{path.name}` | | | | refused: {REFUSED[name]} |")
            continue
        report = report_of(name, path)
        exact += report.facts.exact
        rows.append(_row(path.name, report))
    counted = f"{exact} are weighed exactly ({exact / count:.0%}), {count - exact - len(REFUSED)} as lower bounds"
    summary = (
        f"{count} files that onnx itself can load, from its tests, ONNX Runtime's and model collections, most of them\n"
        f"small and many odd on purpose: {counted} that name what is\n"
        f"not counted, {len(REFUSED)} are refused. Open dimensions are 1 for the batch and 8 for others, or what the weights ask for."
    )
    head = "\n\n| file | nodes | MACs | parameters | not counted |\n|---|--:|--:|--:|---|\n"
    return summary, "\n".join(f"### {folder}{head}" + "\n".join(rows) + "\n" for folder, rows in folders.items())


def _row(name: str, report: Report) -> str:
    facts = report.facts
    bound = "" if facts.exact else "≥ "
    counted = Counter(one.operator for one in facts.uncounted)
    missing = ", ".join(f"`{operator}`" + (f" x {count}" if count > 1 else "") for operator, count in counted.items())
    return f"| `{name}` | {len(report.nodes)} | {bound}{facts.macs:,} | {bound}{facts.parameters:,} | {missing} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
