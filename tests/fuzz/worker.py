"""Weighs damaged files, or shows damaged reports, in a process of its own; run by ``campaign``.

Reads nothing but its arguments; writes a line for every case: its number, whether the file got past its header (it parsed,
and its nodes were looked at), what came of it, and the time it took in milliseconds.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from archives import damage_archive, entry
from flatbuffers_damage import damage_flatbuffer
from mutations import mutate
from reports_damage import damage_report

from weighbridge.api import weigh
from weighbridge.cli.output import formatted
from weighbridge.cli.saved import read_saved
from weighbridge.cli.targets import Output
from weighbridge.errors import BadModel, WeighbridgeError
from weighbridge.frontends.aten_archive import read_json as read_pt2_json
from weighbridge.frontends.onnx_model import read
from weighbridge.frontends.tflite_read import read_model
from weighbridge.report import Report

MEMORY_BYTES = 1 << 30
CASE_SECONDS = 20
_OPTIONS: tuple[dict[str, Any], ...] = (
    *({} for _ in range(5)),
    {"on": "stm32f746"},
    {"weight_bits": ["first=8", "rest=4"], "activation_bits": 8},
    {"as_written": True},
)
_FORMATS = ("json", "csv", "markdown", "text")
_POLICIES = ("live", "pair", "arena_tflm", "held_in_place", "eager")


_DAMAGE = {".onnx": mutate, ".pt2": damage_archive, ".tflite": damage_flatbuffer, ".json": damage_report}


class CaseTimeoutError(BaseException):
    """A case took too long; no handler for ordinary errors may swallow it."""


def case(number: int, files: Sequence[bytes], suffix: str = ".onnx") -> bytes:
    """The damaged file of that number."""
    random = Random(number)
    return _DAMAGE[suffix](random.choice(files), files, random)


def shapes(proto: Any) -> dict[str, tuple[int, ...]]:
    """A whole shape for every input that leaves something open, equal names given equal sizes."""
    stored = {tensor.name for tensor in proto.graph.initializer}
    found = {}
    for value in proto.graph.input:
        kind = value.type.tensor_type
        if value.name in stored or not value.type.HasField("tensor_type"):
            continue
        if not kind.HasField("shape"):
            found[value.name] = (1, 3, 8, 8)
        elif any(dimension.dim_value <= 0 for dimension in kind.shape.dim):
            found[value.name] = tuple(
                dimension.dim_value if dimension.dim_value > 0 else 2 + len(dimension.dim_param) % 3
                for dimension in kind.shape.dim
            )
    return found


def tflite_sizes(path: Path, number: int) -> dict[str, Any]:
    """A whole shape for every input that leaves something open; of every eighth file, another batch than it has."""
    model = read_model(path)
    given = {
        model.subgraphs[0].tensors[number].name: tuple(max(size, 2) for size in shape)
        for number in model.subgraphs[0].inputs
        for shape in [model.subgraphs[0].tensors[number].shape or ()]
        if -1 in shape
    }
    return {"batch": 3} if number % 8 == 7 else {"inputs": given}


def sizes(path: Path, number: int) -> dict[str, Any]:
    """What a user would give for the open sizes of the file, once it got past its header."""
    if path.suffix == ".onnx":
        return {"inputs": shapes(read(path).proto)}
    if path.suffix == ".tflite":
        return tflite_sizes(path, number)
    read_pt2_json(path)
    symbols = set(re.findall(r"Symbol\('(\w+)'", json.dumps(entry(path.read_bytes()))))
    return {"dims": {symbol: 5 + len(symbol) for symbol in symbols}}


def run(number: int, path: Path) -> tuple[bool, str]:
    """Whether the file got past its header, and what came of it: ``ok``, the name of an error, or a traceback."""
    past = False
    try:
        if path.suffix == ".json":
            reports = read_saved([str(path)] * (1 + number % 2))
            past = True
            show(number // 2, reports)
        else:
            given = sizes(path, number)
            past = True
            report = weigh(path, **given, **_OPTIONS[number % len(_OPTIONS)])
            formatted(report, _FORMATS[number % len(_FORMATS)], Output(all_rows=True))
    except WeighbridgeError as error:
        return past, judged(error, path)
    except CaseTimeoutError:
        return past, "TIMEOUT " + repr("".join(traceback.format_exc()[-2500:]))
    except BaseException:
        return past, "TRACEBACK " + repr(traceback.format_exc()[-2500:])
    return past, "ok"


def judged(error: WeighbridgeError, path: Path) -> str:
    """The name of an error, which says where it is: a damaged file always, a damaged report with its own name."""
    message = str(error)
    is_clear = message.isprintable() and error.what and (error.where or not isinstance(error, BadModel))
    if path.suffix == ".json":
        is_clear = is_clear and error.where.startswith(str(path)) and error.hint
    return type(error).__name__ if is_clear else f"UNCLEAR {type(error).__name__} {message!r}"


def show(number: int, reports: Mapping[str, Report]) -> None:
    """A report in one of the ways that there are; pages and pictures, which take longest, are rarer than their parts."""
    from weighbridge.report import html_file
    from weighbridge.report.charts.drawn import chart, devices_of
    from weighbridge.report.charts.kinds import KINDS
    from weighbridge.report.pictures import picture

    if number % 30 == 0:
        assert html_file.render(reports, policy=_POLICIES[number // 30 % len(_POLICIES)])
        return
    if number % 3 == 0:
        kind, report = _FORMATS[number // 3 % len(_FORMATS)], next(iter(reports.values()))
        output = Output(all_rows=number % 2 == 0, policy=_POLICIES[number // 12 % len(_POLICIES)], with_map=True)
        assert formatted(report, kind, output)
        return
    name, kind = list(KINDS.items())[number // 3 % len(KINDS)]
    device = next(iter(devices_of(reports)), None) if kind.of_device else None
    drawn = chart(name, reports, _POLICIES[number % len(_POLICIES)], device)
    json.dumps([drawn.spec, drawn.datasets], allow_nan=False)
    assert drawn.reasons or drawn.spec is not None
    assert all(line.isprintable() for line in (drawn.description, *drawn.notes, *drawn.reasons))
    if drawn.spec is not None and number % 25 == 1:
        assert b"NaN" not in picture(drawn, "svg", list(reports))


def warm_up() -> None:
    """Load what draws, whose first drawing takes long on a machine that is busy."""
    from weighbridge.report.html_file import render

    render({"": weigh("lenet5")})


def _alarm(*_: object) -> None:
    raise CaseTimeoutError


def peak_kib() -> int:
    """The most memory that this program has had.

    ``getrusage`` also has what its parent had when it started this one, which is a gigabyte where that holds PyTorch.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(first: int, stop: int, names: Sequence[str]) -> None:
    files = [Path(name).read_bytes() for name in names]
    suffix = Path(names[0]).suffix
    if suffix == ".json":
        warm_up()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _alarm)  # of the time that is computed, as other programs may run beside
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"case{suffix}")
        for number in range(first, stop):
            path.write_bytes(case(number, files, suffix))
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
            past, outcome = run(number, path)
            signal.setitimer(signal.ITIMER_PROF, 0)
            taken_ms = (time.perf_counter() - start) * 1e3
            sys.stdout.write(f"{number} {past:d} {taken_ms:.1f} {outcome}\n")
            sys.stdout.flush()
    peak = peak_kib()
    sys.stdout.write(f"peak {peak}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
