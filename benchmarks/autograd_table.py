"""A step of training three ways: Weighbridge's rule ``autograd``, PyTorch's own tools in a real step, and PyTorch's profiler.

The first computes nothing: the module runs on tensors without values.  The others watch real steps on the processor:
``saved_tensors_hooks`` is given what autograd saves, ``MemTracker`` sees what operators return, the profiler every allocation
of the processor, and so also the workspace that kernels take while they run.  The model, its inputs and its gradients count in
all peaks.  ``python benchmarks/autograd_table.py`` prints a table in Markdown; ``--write`` puts it into docs/autograd-memory.md.
Exit status 1 if Weighbridge and PyTorch differ anywhere.
"""

from __future__ import annotations

import argparse
import copy
import gc
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torchvision
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.profiler import ProfilerActivity, profile

from weighbridge.frontends.torch_training import training_run

PAGE = Path(__file__).resolve().parents[1] / "docs" / "autograd-memory.md"
BATCH = 2
SIDE = 224
TORCHVISION = (
    *("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "densenet121", "efficientnet_b0", "vgg11"),
    *("googlenet", "squeezenet1_1", "convnext_tiny", "vit_b_16", "swin_t"),
)
TIMM = ("resnext50_32x4d", "vit_small_patch16_224", "deit_tiny_patch16_224", "mixer_s32_224", "levit_128s")


class Row(NamedTuple):
    """Bytes, and the seconds of our step and of the tracked one."""

    name: str
    saved: int
    hooks: int
    peak: int
    tracker: int
    phase: str
    profiler: int
    at: str
    our_s: float
    real_s: float

    @property
    def is_equal(self) -> bool:
        return self.saved == self.hooks and self.peak == self.tracker


def made(name: str) -> nn.Module:
    """A model in train mode with random weights."""
    if name in TORCHVISION:
        more = {"init_weights": False} if name == "googlenet" else {}
        return torchvision.models.get_model(name, **more).train()
    import timm

    return timm.create_model(name).train()


def tensors(result: Any) -> Iterable[Tensor]:
    """The tensors of a result."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping | Sequence):
        for one in result.values() if isinstance(result, Mapping) else result:
            yield from tensors(one)


def loss_of(result: Any) -> Tensor:
    """The sum of all that has a gradient."""
    sums = [one.sum() for one in tensors(result) if one.requires_grad]
    loss = sums[0]
    for one in sums[1:]:
        loss = loss + one
    return loss


def step(model: nn.Module, images: Tensor) -> None:
    """Forward and backward, with result and loss in variables until the end."""
    result = model(images)
    loss = loss_of(result)
    loss.backward()


def hooked(model: nn.Module, images: Tensor) -> int:
    """The bytes of all storages that autograd saves, parameters and buffers left out."""
    own = {one.data_ptr() for one in (*model.parameters(), *model.buffers())}
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss_of(model(images))
    return sum(storage.nbytes() for storage in kept.values())


def tracked(model: nn.Module, images: Tensor) -> int:
    """The most that the tracker sees alive at once."""
    tracker = MemTracker()
    tracker.track_external(model, images)
    with tracker:
        step(model, images)
    return int(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"])


def profiled(model: nn.Module, images: Tensor) -> tuple[int, str]:
    """The most that the allocator had given out at once, what was there before included, and the innermost operator then."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        step(model, images)
    events = found.profiler.kineto_results.events()
    held = most = sum(one.nbytes for one in (images, *model.parameters(), *model.buffers()))
    when = 0
    for event in sorted((one for one in events if one.name() == "[memory]"), key=lambda one: one.start_ns()):
        held += event.nbytes()
        if held > most:
            most, when = held, event.start_ns()
    around = [
        (one.duration_ns(), one.name().removeprefix("aten::"))
        for one in events
        if one.name().startswith("aten::") and one.start_ns() <= when <= one.start_ns() + one.duration_ns()
    ]
    inside = min(around, default=(0, ""))[1]
    outside = max(around, default=(0, ""))[1]
    return int(most), outside if inside in ("empty", "empty_strided", "resize_", outside) else f"{inside} in {outside}"


def measured(name: str) -> Row:
    """The row of a model.  Python's collector waits, as it would free what lies in circles at moments of its own."""
    model = made(name)
    images = torch.zeros(BATCH, 3, SIDE, SIDE)
    start = time.perf_counter()
    run = training_run(model, (images,), {})
    our_s = time.perf_counter() - start
    hooks = _alone(hooked, model, images)
    start = time.perf_counter()
    tracker = _alone(tracked, model, images)
    real_s = time.perf_counter() - start
    profiler, at = _alone(profiled, model, images)
    row = Row(name, run.saved_bytes, hooks, run.peak_bytes, tracker, run.peak_phase, profiler, at, our_s, real_s)
    sys.stderr.write(f"{'equal' if row.is_equal else 'DIFFERENT'} {row}\n")
    return row


def _alone(watch: Callable[[nn.Module, Tensor], Any], model: nn.Module, images: Tensor) -> Any:
    one = copy.deepcopy(model)
    gc.collect()
    gc.disable()
    try:
        return watch(one, images)
    finally:
        gc.enable()


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| network | saved, bytes | by hooks | peak, bytes | by `MemTracker` | allocator, bytes | above the peak | at |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        above = f"{100 * (row.profiler / row.peak - 1):.1f} %"
        lines.append(
            f"| {row.name} | {row.saved:,} | {row.hooks:,} | {row.peak:,} | {row.tracker:,} | {row.profiler:,} | {above} "
            f"| {row.at} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """0 if all that we say is what PyTorch's tools see."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/autograd-memory.md")
    parser.add_argument("--only", help="measure one network")
    options = parser.parse_args(arguments)
    rows = [measured(name) for name in (*TORCHVISION, *TIMM) if options.only in (None, name)]
    text = table(rows)
    sys.stdout.write(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        marks = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)
        PAGE.write_text(marks.sub(lambda _: f"\n{text}\n", page), encoding="utf-8")
    return int(not all(row.is_equal for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
