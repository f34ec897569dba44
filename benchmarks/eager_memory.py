"""Peak memory of networks three ways: Weighbridge's ``eager``, PyTorch's ``MemTracker``, and PyTorch's profiler.

The first computes nothing: it follows the storages of a run on the meta device.  The others watch a run on the processor.
``MemTracker`` sees what operators return, the profiler every allocation of the processor, and so also the workspace that
kernels take while they run (oneDNN's convolutions and products bring operands into layouts of their own).  Inputs count in
all three.  ``python benchmarks/eager_memory.py`` prints a table in Markdown; ``--write`` puts it into docs/eager-memory.md.
Exit status 1 if Weighbridge and ``MemTracker`` differ anywhere.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torchvision
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker, _MemRefType
from torch.profiler import ProfilerActivity, profile

from weighbridge import weigh

PAGE = Path(__file__).resolve().parents[1] / "docs" / "eager-memory.md"
BATCHES = (1, 8)
IMAGES = (
    *("alexnet", "vgg11", "resnet18", "resnet50", "mobilenet_v2", "densenet121", "squeezenet1_1", "efficientnet_b0"),
    *("convnext_tiny", "vit_b_16", "swin_t"),
)
SIDE = 224
WORDS = 128

Inputs = Mapping[str, torch.Tensor]


class Row(NamedTuple):
    """Peaks in bytes."""

    name: str
    batch: int
    ours: int | None
    tracker: int
    profiler: int


def networks() -> dict[str, tuple[Callable[[], nn.Module], Callable[[int], Inputs]]]:
    """What builds each network, and its inputs for a batch."""
    import transformers

    def image(batch: int) -> Inputs:
        return {"x": torch.zeros(batch, 3, SIDE, SIDE)}

    def words(batch: int) -> Inputs:
        return {"input_ids": torch.zeros(batch, WORDS, dtype=torch.int64)}

    found: dict[str, Any] = {
        name: (lambda name=name: torchvision.models.get_model(name).eval(), image) for name in IMAGES
    }
    found["gpt2"] = (lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval(), words)
    return found


def tracked(model: nn.Module, inputs: Inputs) -> int:
    """The peak of activations, temporaries and inputs that the tracker sees."""
    tracker = MemTracker()
    tracker.track_external(*inputs.values())
    with torch.no_grad(), tracker:
        model(**inputs)
    peak = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    return int(peak[_MemRefType.ACT] + peak[_MemRefType.TEMP] + peak[_MemRefType.OTH])


def profiled(model: nn.Module, inputs: Inputs) -> int:
    """The most that the processor's allocator had given out at once, the inputs included."""
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        model(**inputs)
    events = [event for event in found.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = sum(one.untyped_storage().nbytes() for one in inputs.values())
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return int(most)


def measured(name: str, make: Callable[[], nn.Module], given: Callable[[int], Inputs]) -> list[Row]:
    """A row for each batch."""
    model = make()
    rows = []
    for batch in BATCHES:
        inputs = given(batch)
        ours = weigh(model, kwargs=inputs).memory.peak_bytes.get("eager")
        rows.append(Row(name, batch, ours, tracked(model, inputs), profiled(model, inputs)))
        sys.stderr.write(f"{rows[-1]}\n")
    return rows


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| network | batch | `eager`, bytes | `MemTracker`, bytes | ratio | profiler, bytes | above `eager` |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        same = "unknown" if row.ours is None else f"{row.tracker / row.ours:.6f}".rstrip("0").rstrip(".")
        above = "unknown" if row.ours is None else f"{100 * (row.profiler / row.ours - 1):.1f} %"
        ours = "unknown" if row.ours is None else f"{row.ours:,}"
        lines.append(f"| {row.name} | {row.batch} | {ours} | {row.tracker:,} | {same} | {row.profiler:,} | {above} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """0 if every peak of ours is the tracker's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/eager-memory.md")
    parser.add_argument("--only", help="measure one network")
    options = parser.parse_args(arguments)
    rows = []
    for name, (make, given) in networks().items():
        if options.only in (None, name):
            rows += measured(name, make, given)
    text = table(rows)
    sys.stdout.write(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marks = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)
        PAGE.write_text(marks.sub(lambda _: f"\n{text}\n", page), encoding="utf-8")
    return int(any(row.ours != row.tracker for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
