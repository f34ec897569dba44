"""``weighbridge.weigh`` of PyTorch modules beside ``torch.utils.flop_counter.FlopCounterMode``, and a large language model.

    python benchmarks/bench_torch.py [--repeats 7]

Both count the same module on the meta device and take turns in one process, so that a busy minute of the machine meets
both; medians are compared.  The large model is built and weighed in a process of its own, whose peak memory the kernel
reports.  Exits with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

MODELS = ("resnet50", "vit_b_16", "swin_v2_t")
MAX_RATIO = 2.0
MAX_LLAMA_SECONDS = 4.0
MAX_LLAMA_GB = 1.2
LLAMA_MACS = 147_837_069_295_616

_LLAMA = """
import resource, sys, time, warnings
warnings.simplefilter("ignore")
import torch
from transformers import LlamaConfig, LlamaForCausalLM
import weighbridge
config = LlamaConfig(
    hidden_size=8192, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8,
    intermediate_size=28672, vocab_size=128256,
)
with torch.device("meta"):
    model = LlamaForCausalLM(config).eval()
ids = torch.zeros(1, 2048, dtype=torch.long, device="meta")
start = time.perf_counter()
report = weighbridge.weigh(model, inputs={"input_ids": ids})
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
print(seconds, peak, report.facts.macs, report.facts.exact, len(report.nodes))
"""


def seconds(call: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def side_by_side(name: str, repeats: int) -> float:
    """How many times as long as FlopCounterMode takes."""
    import torch
    import torchvision
    from torch.utils.flop_counter import FlopCounterMode

    import weighbridge

    with torch.device("meta"):
        model = torchvision.models.get_model(name, weights=None).eval()
        image = torch.empty(1, 3, 224, 224)

    def counter() -> None:
        with torch.no_grad(), FlopCounterMode(display=False):
            model(image)

    def ours() -> None:
        weighbridge.weigh(model, inputs=(image,))

    times: dict[str, list[float]] = {"FlopCounterMode": [], "weighbridge.weigh": []}
    for turn in range(repeats + 1):
        for label, call in zip(times, (counter, ours), strict=True):
            taken = seconds(call)
            if turn:
                times[label].append(taken)
    theirs, own = (statistics.median(taken) for taken in times.values())
    print(f"{name:<12} FlopCounterMode {theirs:.3f} s, weighbridge.weigh {own:.3f} s, {own / theirs:.2f} times")
    return own / theirs


def llama() -> tuple[float, float, int]:
    printed = subprocess.run([sys.executable, "-c", _LLAMA], check=True, capture_output=True, text=True).stdout
    taken, peak, macs, exact, nodes = printed.split()
    print(f"Llama of 70 billion parameters, 2,048 tokens: {float(taken):.2f} s, {float(peak):.2f} GB")
    print(f"  {int(macs):,} MACs, exact: {exact}, {nodes} nodes")
    return float(taken), float(peak), int(macs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="turns that count (default 7)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    missed = [name for name in MODELS if side_by_side(name, options.repeats) > MAX_RATIO]
    taken, peak, macs = llama()
    if taken > MAX_LLAMA_SECONDS or peak > MAX_LLAMA_GB or macs != LLAMA_MACS:
        missed.append("Llama")
    print(f"missed: {', '.join(missed)}" if missed else "every target holds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
