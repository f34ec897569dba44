"""How fast this machine multiplies matrices and moves bytes: the best of all libraries that are installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from weighbridge.errors import MeasureError, MissingExtra
from weighbridge.measure.apart import Apart
from weighbridge.measure.machine import hardware, load_between, mark
from weighbridge.measure.micro.orders import COPY, DOT, MAXIMUM, bytes_by_name, moved_bytes, product_by_name
from weighbridge.measure.micro.record import Bandwidth, MachineTimes, Rate
from weighbridge.measure.micro.turns import best
from weighbridge.measure.noise import noises_of_load
from weighbridge.measure.runners.runner import Order
from weighbridge.named_tuple import NamedTuple

__all__ = ["LIBRARIES", "PRECISIONS", "machine_rates", "working_sets"]

LIBRARIES: Final = {"numpy": "NumPy", "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}
"""What multiplies matrices, and how it is written."""
PRECISIONS: Final = ("float64", "float32", "float16", "bfloat16", "int8")
_SIZES: Final = (256, 512, 1024, 2048)
_LONGEST_S: Final = 2.0
"""A product that is expected to take longer is not tried: where the smaller one was so slow, no kernel is made for it."""
_PRODUCT_S: Final = 0.2
_MOVING_S: Final = 0.1
_SHORT_S: Final = 0.5e-3
_LONG_S: Final = 4e-3
"""Samples of moving bytes take so long: handing a run to several threads is nothing of it."""
_LEAST_BYTES: Final = 32 * 1024
_MOST_BYTES: Final = 1024**3
_SHARE: Final = 4
"""No more than one part in so many of the memory is touched."""
_MOVED: Final = {COPY: "copied", DOT: "read in a dot product", MAXIMUM: "read for the largest value"}


class _Asked(NamedTuple):
    """What all of it is told."""

    threads: int
    pinned: tuple[int, ...]
    tell: Callable[[str], None]


def machine_rates(
    threads: int = 1,
    pinned: Sequence[int] = (),
    progress: Callable[[str], None] | None = None,
    *,
    libraries: Sequence[str] = tuple(LIBRARIES),
    sizes: Sequence[int] = _SIZES,
    most_bytes: int = _MOST_BYTES,
) -> MachineTimes:
    """The rates of products of square matrices of ``sizes``, by precision, and the bandwidth by working set.

    Each is the best of ``libraries``, of sizes, and of ways to move bytes, of which the fastest sample counts.  A precision that no
    library multiplies in is left out, and a note says why.

    Raises ``BadSpec`` for processors that no process can be held to, ``MissingExtra`` where NumPy is not installed.
    """
    asked = _Asked(threads, tuple(pinned), progress or (lambda _: None))
    there = hardware()
    before = mark((), time.perf_counter())
    versions: dict[str, str] = {}
    notes: list[str] = []
    rates: list[Rate] = []
    refused: dict[str, list[str]] = {precision: [] for precision in PRECISIONS}
    for library in libraries:
        try:
            rates += _products(library, asked, sizes, versions, refused)
        except MissingExtra:
            notes.append(f"{LIBRARIES[library]} is not installed: it multiplied nothing")
    best_rates = [_best_at(precision, rates) for precision in PRECISIONS]
    for precision, found in zip(PRECISIONS, best_rates, strict=True):
        if found is None:
            notes.append(f"{precision} is left out: {'; '.join(refused[precision]) or 'nothing is installed'}")
    bandwidths = tuple(_bandwidths(asked, working_sets(there.memory_bytes, most_bytes)))
    load = load_between(before, mark((), time.perf_counter()))
    return MachineTimes(
        rates=tuple(one for one in best_rates if one is not None),
        bandwidths=bandwidths,
        hardware=there,
        threads=threads,
        libraries=versions,
        pinned=asked.pinned,
        noise=noises_of_load(load._replace(busy_s=None)),  # how much of that was its own nobody counted
        notes=tuple(notes),
    )


def working_sets(memory_bytes: int | None, most_bytes: int = _MOST_BYTES) -> tuple[int, ...]:
    """From 32 KiB, twice as many each, to a quarter of the memory or ``most_bytes``; unknown memory is taken to be 1 GiB."""
    limit = min(most_bytes, (memory_bytes or _MOST_BYTES) // _SHARE)
    found = [_LEAST_BYTES]
    while found[-1] * 2 <= limit:
        found.append(found[-1] * 2)
    return tuple(found)


def _best_at(precision: str, rates: Sequence[Rate]) -> Rate | None:
    return max((one for one in rates if one.precision == precision), key=lambda one: one.ops_per_s, default=None)


def _products(
    library: str, asked: _Asked, sizes: Sequence[int], versions: dict[str, str], refused: dict[str, list[str]]
) -> list[Rate]:
    """The rates of one library; its version and what it refuses are told beside."""
    found: list[Rate] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        with Apart(library, _product(library, "float32", sizes[0], asked.threads, folder), asked.pinned) as apart:
            versions[library] = apart.about.version
            for precision in PRECISIONS:
                asked.tell(f"multiplying matrices in {precision} with {LIBRARIES[library]}")
                try:
                    found += _at(precision, sizes, library, apart, asked.threads, folder)
                except MeasureError as error:
                    refused[precision].append(error.what)
    return found


def _at(precision: str, sizes: Sequence[int], library: str, apart: Apart, threads: int, folder: Path) -> Iterator[Rate]:
    taken_s = 0.0
    for size in sizes:
        if taken_s * 8 > _LONGEST_S:
            return
        number = apart.also(_product(library, precision, size, threads, folder))
        taken_s = _fastest(apart, number, _PRODUCT_S, _SHORT_S)
        how = f"{size} x {size} x {size}, {LIBRARIES[library]} {apart.about.version}"
        yield Rate(precision, 2 * size**3 / taken_s, how)


def _fastest(apart: Apart, number: int, seconds: float, sample_s: float) -> float:
    """The seconds of its fastest run; it is held no longer."""
    try:
        return best(lambda count, runs: apart.samples(count, runs, number), seconds, sample_s)
    finally:
        apart.drop(number)


def _product(library: str, precision: str, size: int, threads: int, folder: Path) -> Order:
    if library != "onnxruntime":
        return product_by_name(precision, size, threads)
    try:
        from weighbridge.measure.micro.onnx_file import PRODUCTS, product_written
    except ImportError as error:
        what = f"products are written with numpy and onnx: {error}"
        raise MissingExtra(what, hint="pip install 'weighbridge[measure]'") from None
    if precision not in PRODUCTS:
        raise MeasureError(f"ONNX Runtime has no product of matrices in {precision}")
    return Order(str(product_written(precision, size, folder)), "", threads, {})


def _bandwidths(asked: _Asked, sets: Sequence[int]) -> Iterator[Bandwidth]:
    """The best of reading and copying, by working set: there and back, as what disturbs the machine for a while does so once."""
    found: dict[int, list[Bandwidth]] = {size: [] for size in sets}
    with Apart("numpy", bytes_by_name(COPY, sets[0], asked.threads, sets[-1]), asked.pinned) as apart:
        for size in (*sets, *reversed(sets)):
            asked.tell(f"moving {size:,} bytes")
            for kind, done in _MOVED.items():
                number = apart.also(bytes_by_name(kind, size, asked.threads, sets[-1]))
                each_s = _fastest(apart, number, _MOVING_S, _LONG_S)
                rate = moved_bytes(kind, size, asked.threads) / each_s
                found[size].append(Bandwidth(size, rate, f"{done}, NumPy {apart.about.version}"))
    for size in sets:
        yield max(found[size], key=lambda one: one.bytes_per_s)
