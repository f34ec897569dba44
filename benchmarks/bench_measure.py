"""Compares the medians of `weighbridge measure` with those of torch.utils.benchmark and of a plain loop around onnxruntime.

All take turns, so that what the machine does happens to all alike; each harness is there twice, in processes of its own, which says how
far it strays from itself.  Printed are ratios of times, round by round, with an interval of 95 %; no seconds, as those are this machine's.

    python benchmarks/bench_measure.py [ROUNDS] [NETWORK ...]
"""

from __future__ import annotations

import multiprocessing as mp
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from weighbridge.measure.apart import Apart
from weighbridge.measure.harness import Taken
from weighbridge.measure.paired import ratio
from weighbridge.measure.runners.runner import Order

NETWORKS = ("torchvision:mobilenet_v2", "torchvision:resnet18", "timm:vit_tiny_patch16_224")
SHAPE = (1, 3, 224, 224)
ROUND_S = 0.5
Median = Callable[[], float]


@contextmanager
def ours(runtime: str, source: str) -> Iterator[Median]:
    """A round of ours: as many single runs as fit."""
    name = "x" if runtime == "pytorch" else "input"
    with Apart(runtime, Order(source, "", 1, {name: (SHAPE, "float32")})) as apart:
        run_s = median(apart.samples(5, 1))
        yield lambda: median(apart.samples(max(5, round(ROUND_S / run_s)), 1))


@contextmanager
def theirs(serve: Callable[[Connection, str], None], source: str) -> Iterator[Median]:
    here, there = mp.get_context("spawn").Pipe()
    process = mp.get_context("spawn").Process(target=serve, args=(there, source), daemon=True)
    process.start()
    here.recv()

    def one() -> float:
        here.send(True)
        found: float = here.recv()
        return found

    yield one
    here.send(False)
    process.join()


def model_of(source: str):  # type: ignore[no-untyped-def]
    from weighbridge.frontends.torch_sources import built_named

    return built_named(source, batch=1, sequence=None)[0]


def serve_torch(pipe: Connection, source: str) -> None:
    import torch
    from torch.utils.benchmark import Timer

    torch.set_num_threads(1)
    model, image = model_of(source), torch.randn(SHAPE)
    with torch.inference_mode():
        timer = Timer("model(image)", globals={"model": model, "image": image}, num_threads=1)
        timer.timeit(5)
        pipe.send(True)
        while pipe.recv():
            pipe.send(timer.blocked_autorange(min_run_time=ROUND_S).median)


def serve_onnxruntime(pipe: Connection, source: str) -> None:
    import numpy as np
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    feeds = {"input": np.random.default_rng(0).standard_normal(SHAPE).astype("float32")}
    for _ in range(5):
        session.run(None, feeds)
    pipe.send(True)
    while pipe.recv():
        times, until = [], time.perf_counter() + ROUND_S
        while time.perf_counter() < until or len(times) < 5:
            begun = time.perf_counter()
            session.run(None, feeds)
            times.append(time.perf_counter() - begun)
        pipe.send(median(times))


def exported(source: str, folder: Path) -> str:
    import torch

    path = folder / f"{source.rpartition(':')[2]}.onnx"
    program = torch.onnx.export(
        model_of(source), (torch.randn(SHAPE),), dynamo=True, input_names=["input"], verbose=False
    )
    program.save(str(path))
    return str(path)


def compare(runtime: str, source: str, their_name: str, serve: Callable[[Connection, str], None], rounds: int) -> None:
    with ExitStack() as stack:
        names = ("ours", "ours again", their_name, f"{their_name} again")
        harnesses = [stack.enter_context(ours(runtime, source)) for _ in range(2)]
        harnesses += [stack.enter_context(theirs(serve, source)) for _ in range(2)]
        found: list[list[float]] = [[] for _ in harnesses]
        for number in range(rounds):
            places = range(len(harnesses)) if number % 2 else reversed(range(len(harnesses)))
            for place in places:
                found[place].append(harnesses[place]())
    taken = [Taken((), tuple(one), 1, tuple(range(rounds))) for one in found]
    for one, other in ((0, 2), (0, 3), (1, 2), (1, 3), (0, 1), (2, 3)):
        said = ratio(taken[other], taken[one])
        interval = "" if said.low is None else f"  {said.low:.3f} to {said.high:.3f}"
        print(
            f"  {names[one]:>12} / {names[other]:<28} {said.ratio:.3f}{interval}   of all medians {said.of_medians:.3f}"
        )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    with tempfile.TemporaryDirectory() as folder:
        for source in sys.argv[2:] or NETWORKS:
            print(f"{source} in PyTorch, eager, one thread, {rounds} rounds", flush=True)
            compare("pytorch", source, "torch.utils.benchmark", serve_torch, rounds)
            path = exported(source, Path(folder))
            print(f"{source} in ONNX Runtime, one thread, {rounds} rounds", flush=True)
            compare("onnxruntime", path, "a plain loop", serve_onnxruntime, rounds)


if __name__ == "__main__":
    main()
