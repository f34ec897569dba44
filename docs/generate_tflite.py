"""Writes docs/tflite.md: how TensorFlow Lite files are read, and what came of every file in the shared folder of real ones.

The table of files is made anew where that folder lies beside the repository; elsewhere the page keeps the one it has.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.tflite.files import tflite_files  # noqa: E402
from weighbridge import weigh  # noqa: E402
from weighbridge.counts import Uncounted  # noqa: E402
from weighbridge.errors import WeighbridgeError  # noqa: E402
from weighbridge.frontends.foreign import As  # noqa: E402
from weighbridge.frontends.tflite_control import SPECIAL  # noqa: E402
from weighbridge.frontends.tflite_schema import BUILTIN_OPERATORS  # noqa: E402
from weighbridge.frontends.tflite_table import RULES  # noqa: E402
from weighbridge.frontends.tflite_table_custom import _CUSTOM_RULES, _FLEX_RULES  # noqa: E402

PAGE = ROOT / "docs" / "tflite.md"
SHARED = ROOT.parent / "shared"

SEVERAL: Mapping[str, str] = {
    "FULLY_CONNECTED": "linear reshape expand",
    "BATCH_MATMUL": "matmul linear",
    "EMBEDDING_LOOKUP": "embedding dequantize",
    "EMBEDDING_LOOKUP_SPARSE": "sparse_embedding_bag",
    "LSTM": "stateful_lstm concat linear lstm_cell",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "stateful_lstm",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "stateful_lstm",
    "RNN": "stateful_rnn",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "stateful_rnn",
    "BIDIRECTIONAL_SEQUENCE_RNN": "stateful_rnn",
    "RESIZE_BILINEAR": "resize",
    "RESIZE_NEAREST_NEIGHBOR": "resize",
    "GATHER": "embedding gather",
    "WHERE": "non_zero",
    "SELECT": "where unsqueeze",
    "SELECT_V2": "where unsqueeze",
    "UNIQUE": "unique",
    "SEGMENT_SUM": "segment_sum",
    "TOPK_V2": "top_k",
    "BUCKETIZE": "search_sorted",
    "SUM": "reduce_sum",
    "MEAN": "reduce_mean",
    "REDUCE_PROD": "reduce_prod",
    "REDUCE_MAX": "reduce_max",
    "REDUCE_MIN": "reduce_min",
    "REDUCE_ANY": "reduce_max",
    "REDUCE_ALL": "reduce_min",
    "RANK": "rank",
    "FILL": "expand",
    "RESHAPE": "reshape",
    "PACK": "unsqueeze concat",
    "UNPACK": "split squeeze",
    "SPLIT": "split",
    "SPLIT_V": "split",
    "SLICE": "slice",
    "STRIDED_SLICE": "slice reshape",
    "REVERSE_V2": "slice",
    "QUANTIZE": "quantize requantize",
    "DEQUANTIZE": "dequantize cast",
    "STABLEHLO_CONVOLUTION": "conv conv_transpose pad transpose",
    "STABLEHLO_DOT_GENERAL": "linear matmul einsum",
    "STABLEHLO_GATHER": "embedding gather_slices reshape",
    "STABLEHLO_SCATTER": "scatter_slices",
    "STABLEHLO_REDUCE": "reduce_window reshape",
    "STABLEHLO_REDUCE_WINDOW": "reduce_window dilate pad",
    "STABLEHLO_AND": "and bitwise_and",
    "STABLEHLO_OR": "or bitwise_or",
    "STABLEHLO_CLAMP": "clip clip_by_tensor",
    "STABLEHLO_COMPARE": "equal not_equal greater_or_equal greater less_or_equal less",
    "STABLEHLO_BROADCAST_IN_DIM": "transpose reshape expand",
    "STABLEHLO_PAD": "dilate pad",
    "STABLEHLO_IOTA": "range reshape expand",
    "STABLEHLO_RNG_BIT_GENERATOR": "random_bits",
    "STABLEHLO_CUSTOM_CALL": "",
    "CONCAT_EMBEDDINGS": "",
}
"""Our operators that a builtin operator may be, where its rule decides."""
NONE: Mapping[str, str] = {
    "STABLEHLO_CUSTOM_CALL": "none: what it calls is not in the file",
    "CONCAT_EMBEDDINGS": "none: no runtime has it",
}
"""Why a builtin operator is never one of ours."""

TEXT = """\
# TensorFlow Lite files

`weighbridge weigh model.tflite` reads files of TensorFlow Lite, now LiteRT, with nothing else installed. What is said here
is how these files are read; what the numbers mean stands in [Conventions](conventions.md), subgraphs, loops and variables in
[Subgraphs and variables](tflite-subgraphs.md), and what memory a microcontroller needs for one in [Peak memory](peak-memory.md#arena_tflm).

## What is read

The structure, and no weights: the reader is our own, checks every offset, and takes from the file what says how it is built.
A model of any size takes milliseconds and some megabytes. Small tensors are looked at where a shape follows from them: axes,
paddings, sizes. The content decides, not the ending: `.bin` files are read, too. What is damaged is one clear error with exit
code 2: an offset that leads nowhere, operators out of order or in a circle, a tensor that does not exist, a negative shape,
one that 64 bits cannot count, subgraphs that call themselves. No part of a file is read over and over, and no file is read
beyond what the largest networks have of structure (128 MiB, 1,048,576 parts, and 20,000 nodes that repeated calls of subgraphs add).

Values may stand behind the flatbuffer (files above 2 GB), or in files of their own (external buffers), which are not looked
for: their size is in the model. Tensors that share a buffer, an element type and their scales are one storage.

## Names

A tensor is named as the file names it. Operators have no names in these files: a node has that of its first result, up to the
first semicolon where a converter joined several. The slashes in TensorFlow's names are the module path, by which a report
groups the nodes.

## Signatures

A file may have signatures: keys for its subgraphs, and names for their inputs. The first subgraph is weighed unless you choose
one, and a note names the others:

```
weighbridge weigh model.tflite:decode
```

An input has two names, that of its tensor (`serving_default_x:0`), which reports show, and that of the signature (`x`), which
callers of the model use. `--input` takes either, and messages use the shorter.

## Sizes

These files state every size; what may change says a second shape, the signature of the first, with -1 in it. The stored
shape is weighed, and a note names the inputs that may be resized. Only a -1 in the shape itself is a question to you.

| option | sets |
|---|---|
| `--batch 4` | dimension 0 of the inputs, wherever it is open; if nowhere, the first input's fixed one and all equal to it |
| `--input x=1x224x224x3` | the whole shape of an input, fixed sizes included |
| `--dim`, `--sequence` | nothing: dimensions have no names here |

Once you replaced a size, the shapes that the file states for other tensors are not believed any more; all follow from our
rules, and from small tensors that the model computes. A file that holds a size fast elsewhere (a reshape to `1x1280` in a
model that you weigh at batch 4) cannot be resized, and the error says which node it is. A shape that depends on values stays
unknown, and what needs it says so.

## Element types and quantisation

Whole numbers of 8, 16 and 4 bits, with one scale, one per channel or one per block, count as the parameters that they are, in
the bytes that they take. Scales and zero points of the usual kind are a part of the structure and no tensor: they are in no
figure. Where they are a tensor of their own (blockwise quantisation), they are a constant and count in `constant_bytes`. Weights
of 8 bits on inputs of floating point (dynamic range) and of 16-bit activations with 8-bit weights (int16x8) count at the type
that each tensor has.

A sparse tensor counts with all of its values, and a note says how many are stored. Text and variants have no size that the
file could tell: bytes that need it are unknown, and a note says which tensor it is. A handle of a variable or a table is no
tensor at all.

## What counts as a parameter

The slots decide that a stored tensor reaches, as for [ONNX](onnx.md#what-stored-tensors-are-for): weights, biases and affine
factors are parameters, in whole numbers too; a stored operand of arithmetic is one where it is floating point or quantised and
more than one number; axes, shapes, windows and tables of indices are constants. What nothing reads does not count, and a note
names it.

## Operators

All builtin operators have a rule, but `DELEGATE` and those with "none" in the table; an activation function that an operator
applies is a node behind it until the graph is deployed. What has no rule stays in the graph under its name, with the types
that the file states; its totals are lower bounds, and `--strict` refuses them. A rule whose shapes the file contradicts is
not believed either: the operator stays, uncounted, with the reason.

{operators}

Custom operators with a rule: {custom}; and of TensorFlow's own (`Flex…`) {flex}. A program for an accelerator
(`DISPATCH_OP`, `ethos-u`, `edgetpu-custom-op`, `MTKEXT_…`) says nothing of what it computes, and is named, not counted.

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
    custom, flex = (_listed(names) for names in (_CUSTOM_RULES, _FLEX_RULES))
    return TEXT.format(operators=_operators(), custom=custom, flex=flex, summary=summary) + tables


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))


def _operators() -> str:
    """Two columns of builtin operators and what each is, in the order of the schema."""
    rows = [f"| `{name}` | {_is(name)} |" for name in BUILTIN_OPERATORS if name in RULES or name in SPECIAL]
    return "\n".join(["| operator | ours |", "|---|---|", *rows])


def _is(name: str) -> str:
    if name in SPECIAL:
        return "[subgraphs and variables](tflite-subgraphs.md)"
    rule = RULES[name]
    ours = [rule.operator] if isinstance(rule, As) else SEVERAL.get(name, "").split()
    return ", ".join(f"`{operator}`" for operator in ours) or NONE.get(name, "as its rule decides")


def _files() -> tuple[str, str]:
    folders: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for name, path in tflite_files(SHARED).items():
        kind, row = _row(path)
        counts[kind] += 1
        folders.setdefault(name.partition("/")[0], []).append(row)
    total = counts.total()
    summary = (
        f"{total} files, from TensorFlow Lite Micro, MLPerf Tiny, LiteRT, MediaPipe and others, many of them tests of one\n"
        f"operator: {counts['exact']} are weighed exactly ({counts['exact'] / total:.0%}), {counts['bound']} as lower bounds that "
        f"name what is not counted,\n{counts['refused']} is refused. `arena` is the peak by the policy `arena_tflm` in bytes."
    )
    head = "\n\n| file | nodes | MACs | parameters | arena | not counted |\n|---|--:|--:|--:|--:|---|\n"
    return summary, "\n".join(f"### {folder}{head}" + "\n".join(rows) + "\n" for folder, rows in folders.items())


def _row(path: Path) -> tuple[str, str]:
    try:
        report = weigh(path)
    except WeighbridgeError as error:
        return "refused", f"| `{path.name}` | | | | | refused: {error.what} |"
    facts, arena = report.facts, report.memory.peak_bytes.get("arena_tflm")
    bound, peak = "" if facts.exact else "≥ ", "" if arena is None else f"{arena:,}"
    reasons = dict.fromkeys(f"`{one.operator}`: {_short(one)}" for one in facts.uncounted)
    row = f"| `{path.name}` | {len(report.nodes)} | {bound}{facts.macs:,} | {bound}{facts.parameters:,} | {peak} | {'; '.join(reasons)} |"
    return "exact" if facts.exact else "bound", row


def _short(one: Uncounted) -> str:
    """The reason without the operator's own name in front."""
    return one.reason.removeprefix(f"{one.operator.removeprefix('CUSTOM.')}: ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
