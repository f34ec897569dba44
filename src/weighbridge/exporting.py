"""The better order written into a copy of the model's file, which is weighed again before it gets its name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from weighbridge.errors import BadModel, BadSpec, WeighbridgeError
from weighbridge.frontends.file_order import FileList, Rewritten, check_order, in_turn, ordered_by
from weighbridge.frontends.onnx_external import data_files, names_as_data
from weighbridge.frontends.sniff import FORMATS, identify
from weighbridge.graph import Graph, Node
from weighbridge.memory import plan
from weighbridge.memory.order import is_random
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.report.exported import Exported
from weighbridge.sources import USER_FILE, check_there, file_of, is_named_model

__all__ = ["Export", "Peaks", "arena_in", "arena_of", "check_export", "exported"]

_SUFFIXES: Final = {"onnx": ".onnx", "tflite": ".tflite"}
_CHUNK: Final = 1 << 20
_OPTION: Final = "export"


class Export(NamedTuple):
    """The file to read, of a ``format``, what was chosen behind a colon, and the file to write; ``name`` is that as it was written."""

    source: Path
    choices: str
    format: str
    target: Path
    name: str


class Peaks(NamedTuple):
    """Peaks in bytes: ``before`` and ``promised`` by ``live``, ``arena`` that of the source by ``arena_tflm``, None without one."""

    before: int
    promised: int
    arena: int | None


def check_export(source: object, to: str | os.PathLike[str]) -> Export:
    """What is to be written where, looked at before the work begins.

    Raises ``BadSpec`` for a source whose format has no list of nodes, for a file of another suffix than the source's format,
    that cannot be there, or that would overwrite the source or its weights, and for a folder that lacks the source's files of
    weights; and ``BadModel`` for a source that cannot be read.
    """
    name = os.fspath(to)
    path, choices, kind = _list_of(source)
    try:
        return _checked(Export(path, choices, kind, Path(name), name))
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have; a ring of links
        raise BadSpec(f"{name!r} cannot be written: {error}", where=_OPTION, hint="name another file") from None


def _list_of(source: object) -> tuple[Path, str, str]:
    """The file of a source, what was chosen in it, and its format."""
    only = "only ONNX and TensorFlow Lite files have a list of nodes that can be written in another order"
    if not isinstance(source, (str, os.PathLike)):
        raise BadSpec(only, where=_OPTION, hint="name such a file as the source")
    text = str(os.fspath(source))
    if is_named_model(text) or USER_FILE.fullmatch(text):
        raise BadSpec(f"{only}, a model in Python has none", where=_OPTION, hint="export it to ONNX first")
    found = file_of(text)
    if found is None:
        check_there(text)
        raise BadSpec(f"{only}, a textbook network has none", where=_OPTION)
    kind = identify(found[0])
    if kind not in _SUFFIXES:
        raise BadSpec(f"{only}; {found[0].name} is {FORMATS[kind].removeprefix('of ')}", where=_OPTION)
    return *found, kind


def _checked(asked: Export) -> Export:
    target, name, suffix = asked.target, asked.name, _SUFFIXES[asked.format]
    if target.suffix.lower() != suffix:
        hint = f"a file is written in the format of its source: give it the suffix {suffix}"
        raise BadSpec(f"{name!r} is not called like {FORMATS[asked.format]}", where=_OPTION, hint=hint)
    if not target.parent.is_dir():
        raise BadSpec(f"there is no folder {str(target.parent)!r}", where=_OPTION, hint="make it first")
    if target.exists():
        if target.samefile(asked.source) or names_as_data(asked.source, target):
            what = "the network itself" if target.samefile(asked.source) else "the weights of the network"
            raise BadSpec(f"{name!r} is {what}, which is never written over", where=_OPTION, hint="name another file")
        if not target.is_file() or not os.access(target, os.W_OK):
            raise BadSpec(
                f"{name!r} is there and is no file that can be written", where=_OPTION, hint="name another file"
            )
    missing = [one for one in _data_of(asked) if not (target.parent / one).is_file()]
    if missing:
        what = f"the network keeps weights in {missing[0]!r}, which is not in the folder of {name!r}"
        raise BadSpec(what, where=_OPTION, hint="write the file beside the source, or copy that there first")
    return asked


def _data_of(asked: Export) -> Iterator[str]:
    """The files beside the source that it keeps weights in."""
    folder = asked.source.parent
    if asked.format == "onnx" and asked.target.parent.resolve() != folder.resolve():
        yield from (one for one in data_files(asked.source) if (folder / one).is_file())


def exported(
    asked: Export, running: Sequence[Node], places: Sequence[int], peaks: Peaks, weighed: Callable[[str], Graph]
) -> Exported:
    """Write the source in the order of ``places``, which number the nodes ``running`` as they run in the source.

    ``weighed`` makes of a file the graph that runs, as it did of the source.  Where the file could not have a better order, and
    where none was found, its bytes are written as they are.  Raises ``WeighbridgeError`` where a file cannot be written in another
    order, or cannot be written at all.
    """
    target = asked.target.resolve()
    part = target.with_name(f".weighbridge-{secrets.token_hex(4)}{target.suffix}")
    try:
        try:
            found = _written(asked, part, running, places, peaks, weighed)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise BadSpec(f"{asked.name!r} cannot be written: {error.strerror or error}", where=_OPTION) from None
    return found


def arena_of(
    source: object, running: Sequence[Node], places: Sequence[int], peaks: Peaks, weighed: Callable[[str], Graph]
) -> int | None:
    """The peak by ``arena_tflm`` of a TensorFlow Lite source in the order of ``places``, from a file that is written, weighed and gone.

    None where no such file can be written, or where it cannot have the peak by ``live`` that was promised.
    """
    try:
        with TemporaryDirectory() as folder:
            asked = check_export(source, Path(folder, f"ordered{_SUFFIXES['tflite']}"))
            return arena_in(exported(asked, running, places, peaks, weighed))
    except (OSError, WeighbridgeError):
        return None


def arena_in(found: Exported) -> int | None:
    """The peak by ``arena_tflm`` of a file that has the order which was promised, None of another."""
    return found.arena_bytes if found.peak_bytes == found.promised_bytes else None


def _written(
    asked: Export,
    part: Path,
    running: Sequence[Node],
    places: Sequence[int],
    peaks: Peaks,
    weighed: Callable[[str], Graph],
) -> Exported:
    """Write ``part`` in the order that is asked for, or what comes nearest to it."""
    listed = _file_list(asked)
    kept = Exported(
        asked.name,
        asked.format,
        len(listed.order),
        0,
        peaks.before,
        peaks.promised,
        peaks.before,
        peaks.arena,
        peaks.arena,
    )
    best: tuple[Exported, Rewritten] | None = None
    last = None
    for order in _orders(listed, [running[place] for place in places]) if peaks.promised < peaks.before else ():
        last = listed.rewritten(order)
        _write(asked.source, part, last)
        memory = plan(weighed(f"{part}:{asked.choices}" if asked.choices else str(part)))
        peak = memory.peak_bytes["live"]
        moved = sum(place != at for at, place in enumerate(order))
        if peak is not None and peak < (best[0].peak_bytes if best else peaks.before):
            arena = memory.peak_bytes.get("arena_tflm")
            best = kept._replace(moved=moved, peak_bytes=peak, arena_bytes=arena, notes=last.notes), last
        if peak == peaks.promised:
            break
    chosen, rewritten = best or (kept, Rewritten(((0, asked.source.stat().st_size),)))
    if rewritten is not last:
        _write(asked.source, part, rewritten)
    return chosen


def _file_list(asked: Export) -> FileList:
    if asked.format == "onnx":
        from weighbridge.frontends.onnx_reordered import onnx_list

        return onnx_list(asked.source)
    from weighbridge.frontends.tflite_reordered import tflite_list

    listed = tflite_list(asked.source, asked.choices)
    outside = any(one.external_bytes for subgraph in listed.model.subgraphs for one in subgraph.tensors)
    if outside and asked.target.parent.resolve() != asked.source.parent.resolve():
        what = "the network keeps weights in other files, which are looked for beside it"
        raise BadSpec(what, where=_OPTION, hint="write the file into the folder of the source")
    return listed


def _orders(listed: FileList, running: Sequence[Node]) -> Iterator[tuple[int, ...]]:
    """The orders of the file in which its nodes run as ``running`` does: by the last node that comes of each, and by the first."""
    waits = in_turn(listed.before, listed.order, listed.effects)
    waits = in_turn(waits, listed.order, _random(running, OPERATORS))
    seen: set[tuple[int, ...]] = set()
    for times in (_times(running), _times(running, last=False)):
        order = ordered_by(times, waits)
        check_order(order, listed.before)
        if order not in seen and order != tuple(range(len(order))):
            yield order
        seen.add(order)


def _times(running: Sequence[Node], *, last: bool = True) -> Mapping[int, int]:
    """When each node of the file runs: when the last, or first, of those that come of it does; functions run with what has them fused."""
    times: dict[int, int] = {}
    for time, node in enumerate(running):
        for one in (node, *node.fused):
            if one.file_node is not None:
                place = one.file_node.position
                times[place] = time if last else times.get(place, time)
    return times


def _random(nodes: Iterable[Node], operators: Mapping[str, Op]) -> frozenset[int]:
    """The nodes of the file that take a random number, themselves or in a body: among each other they stay in their order."""
    return frozenset(one.file_node.position for one in nodes if one.file_node is not None and is_random(one, operators))


def _write(source: Path, target: Path, rewritten: Rewritten) -> None:
    """Write a file from pieces of another, a little at a time: models have gigabytes."""
    with source.open("rb") as old, target.open("wb") as new:
        for piece in rewritten.pieces:
            if isinstance(piece, bytes):
                new.write(piece)
            else:
                _copy(old, new, *piece)


def _copy(old: BinaryIO, new: BinaryIO, start: int, stop: int) -> None:
    old.seek(start)
    while start < stop:
        chunk = old.read(min(_CHUNK, stop - start))
        if not chunk:
            raise BadModel(f"the source ended at byte {start:,} while it was read", hint="was it being written?")
        new.write(chunk)
        start += len(chunk)
