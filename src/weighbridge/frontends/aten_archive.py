"""Exported PyTorch programs (``torch.export.save``) as graphs, without PyTorch.

An archive is a zip file.  Of its entries only JSON is read: the program itself and the lists of what is stored.  Weights,
constants, sample inputs and extra files, which are pickles or may be, are never opened: nothing in a file can run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from weighbridge.errors import BadModel, GraphError, UnsupportedFormat, WeighbridgeError
from weighbridge.frontends.aten_archive_arguments import Frame
from weighbridge.frontends.aten_archive_calls import Reading
from weighbridge.frontends.aten_archive_formulas import UnknownSymbolError
from weighbridge.frontends.aten_archive_json import Place, parsed
from weighbridge.frontends.aten_archive_sizes import Sizes, settled
from weighbridge.frontends.aten_archive_values import Symbols
from weighbridge.frontends.aten_call import Program
from weighbridge.frontends.aten_graph import build
from weighbridge.frontends.zip_entries import ZipEntries
from weighbridge.graph import Graph, Role
from weighbridge.named_tuple import NamedTuple

__all__ = ["load_pt2", "read_json", "read_pt2"]

_MAX_PROGRAM_BYTES: Final = 256 << 20
"""The program of a language model of 80 layers takes about 30 MB."""
_MAX_CONFIG_BYTES: Final = 64 << 20
_MAJOR, _MINOR = 8, 20
"""The version of torch/_export/serde/schema.py whose files were looked at (PyTorch 2.14)."""
_OLD_PROGRAM: Final = "serialized_exported_program.json"
"""Where PyTorch 2.7 and before wrote the program: torch/export/__init__.py still reads it."""
_PROGRAM: Final = re.compile(r"(?:(?P<root>[^/]+)/)?models/(?P<name>[^/]+)\.json")
_EXPORT: Final = 'save it anew: torch.export.save(torch.export.export(model, args), "model.pt2")'
_DAMAGED: Final = "the file contradicts itself: export it again"


def load_pt2(
    path: Path,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
) -> Graph:
    """The graph of the exported program at ``path``, every dimension a number.

    ``batch``, ``dims``, ``inputs`` and ``sequence`` give the sizes that the program leaves open, as for ONNX.

    Raises ``BadModel`` for a file that is damaged or contradicts itself, ``UnsupportedFormat`` for another format or a
    version that is not read here, ``NeedsShape`` for a size that nobody gave, and ``BadSpec`` for names and sizes that do
    not fit the program.
    """
    try:
        return build(read_pt2(path, batch=batch, sequence=sequence, dims=dims, inputs=inputs))
    except GraphError as error:
        where = f"{path.name}: {error.where}" if error.where else path.name
        raise BadModel(error.what, where=where, hint=error.hint or _DAMAGED) from None


def read_pt2(
    path: Path,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
) -> Program:
    """The program at ``path``; arguments and errors are those of ``load_pt2``."""
    try:
        archive = read_json(path)
        version = _version(archive.program)
        sizes = settled(archive.program, batch, sequence, dims or {}, inputs or {})
        return _program(path.stem, archive, version, sizes)
    except WeighbridgeError as error:
        raise (error if error.where.startswith(path.name) else error.at(path.name)) from None


class _Stored(NamedTuple):
    """A tensor that the archive says is stored: in which of its files, how many bytes that has, and the tensor's type."""

    name: str
    file: str
    file_bytes: int
    meta: Place


class Archive(NamedTuple):
    """What is read of an archive; ``stored`` is empty where it has no lists of what it stores."""

    program: Place
    stored: tuple[_Stored, ...]
    notes: tuple[str, ...]


def read_json(path: Path) -> Archive:
    """All that is read of the archive at ``path``: JSON.  Raises ``BadModel`` and ``UnsupportedFormat``."""
    with ZipEntries(path) as entries:
        if _OLD_PROGRAM in entries.names:
            return Archive(_json(entries, _OLD_PROGRAM, _MAX_PROGRAM_BYTES), (), ())
        found = [match for match in map(_PROGRAM.fullmatch, entries.names) if match]
        if not found:
            raise _no_program(entries)
        chosen = next((match for match in found if match["name"] == "model"), found[0])
        notes = []
        if len(found) > 1:
            others = ", ".join(match["name"] for match in found[:6] if match is not chosen)
            notes.append(f"the archive holds {len(found)} programs; this is {chosen['name']!r}, not {others}")
        root = f"{chosen['root']}/" if chosen["root"] else ""
        stored = [
            one for kind in ("weights", "constants") for one in _stored(entries, f"{root}data/{kind}/", chosen["name"])
        ]
        return Archive(_json(entries, chosen[0], _MAX_PROGRAM_BYTES), tuple(stored), tuple(notes))


def _stored(entries: ZipEntries, folder: str, name: str) -> Iterator[_Stored]:
    """The list of what is stored in one of an archive's folders."""
    config = f"{folder}{name}_{folder.split('/')[-2]}_config.json"
    if config not in entries.names:
        return
    for fqn, entry in _json(entries, config, _MAX_CONFIG_BYTES)["config"].places():
        meta = entry.get("tensor_meta")
        if meta is not None:
            file = folder + entry["path_name"].text()
            yield _Stored(fqn, file, entries.size(file), meta)


def _json(entries: ZipEntries, name: str, most_bytes: int) -> Place:
    return parsed(entries.read(name, most_bytes), f"{entries.where}: {name}")


def _no_program(entries: ZipEntries) -> WeighbridgeError:
    if any("data/aotinductor/" in name for name in entries.names):
        what = "this archive holds compiled code and no program"
        return UnsupportedFormat(what, where=entries.where, hint=_EXPORT)
    return BadModel("there is no models/*.json in the archive", where=entries.where, hint=_EXPORT)


def _version(program: Place) -> str:
    """Which PyTorch wrote the program, in words.  Raises ``UnsupportedFormat`` for a format that is not read here."""
    stated = program["schema_version"]
    major, minor = stated["major"].integer(), stated["minor"].integer()
    written = program.get("torch_version")
    by = f"PyTorch {written.text()[:30]}" if written is not None else "an old PyTorch"
    if major != _MAJOR:
        what = f"version {major}.{minor} of the format, written by {by}; version {_MAJOR} is read here"
        raise UnsupportedFormat(what, where=stated.where, hint="export it with a PyTorch that writes version 8")
    newer = f", newer than the {_MAJOR}.{_MINOR} that is known here" if minor > _MINOR else ""
    return f"written by {by}, format {major}.{minor}{newer}"


def _program(name: str, archive: Archive, version: str, sizes: Sizes) -> Program:
    module = archive.program["graph_module"]
    graph, signature = module["graph"], module["signature"]
    paths = [entry["fqn"].text() for entry in module["module_call_graph"].items()]
    reading = Reading(sizes.symbols, paths)
    frame = reading.frame(graph)
    inputs = list(_declared(reading, frame, signature, archive))
    reading.nodes(frame, graph)
    outputs = [frame.tensor(place) for place in _outputs(signature)]
    calls = reading.recording.finished(outputs)
    capture = f"read from the exported program ({version}) without running it"
    return Program(
        name,
        tuple(reading.recording.tensors.values()),
        calls,
        tuple(inputs),
        tuple(dict.fromkeys(outputs)),
        capture,
        (*archive.notes, *_without_values(archive), *sizes.notes),
    )


_STORED: Final[Mapping[str, tuple[str, Role]]] = {
    "parameter": ("parameter_name", Role.PARAMETER),
    "buffer": ("buffer_name", Role.BUFFER),
    "tensor_constant": ("tensor_constant_name", Role.CONSTANT),
}
_NO_TENSORS: Final = frozenset({"custom_obj", "token", "constant_input"})


def _declared(reading: Reading, frame: Frame, signature: Place, archive: Archive) -> Iterator[str]:
    """Declare what exists before the first call; returns the ids of the inputs.  Tied parameters are one tensor."""
    places = dict(_storages(archive.stored, frame.symbols))
    known: dict[object, str] = {}
    for spec in signature["input_specs"].items():
        kind, value = spec.union()
        if kind == "user_input":
            given, tensor = value["arg"].union()
            if given == "as_tensor":
                name = tensor["name"]
                yield reading.declare(frame, name, name.text(), Role.INPUT)
        elif kind in _STORED:
            key, role = _STORED[kind]
            path, name = value[key].text(), value["arg"]["name"]
            storage = places.get(path, path)
            if storage in known:
                frame.ids[name.text()] = known[storage]
            else:
                known[storage] = reading.declare(frame, name, path, role)
        elif kind not in _NO_TENSORS:
            raise spec.fault(f"an input of the kind {kind!r}", "the format is newer than this reader")


def _storages(stored: Iterable[_Stored], symbols: Symbols) -> Iterator[tuple[str, str]]:
    """What is stored by its name in the model, with a key that is equal for two names of one storage.

    Tensors of a model on the meta device have no values: all are said to lie in one empty file, which ties nothing.
    """
    for one in stored:
        try:
            least_bytes = symbols.type(one.meta).bytes or 0
        except UnknownSymbolError as error:
            raise one.meta.fault(f"a stored tensor whose size is {error.name}") from None
        if one.file_bytes >= least_bytes:
            stated = [one.meta[key].value for key in ("dtype", "sizes", "strides", "storage_offset")]
            yield one.name, f"{one.file} {stated}"


def _without_values(archive: Archive) -> Iterator[str]:
    """A note where the archive does not say which parameters are tied."""
    parameters = sum(
        "parameter" in spec.members() for spec in archive.program["graph_module"]["signature"]["input_specs"].items()
    )
    if parameters > 1 and not any(one.file_bytes for one in archive.stored):
        yield "the archive does not say which parameters are one storage under several names: each counts once for each name"


def _outputs(signature: Place) -> Iterator[Place]:
    """The names of the tensors that a user gets; a buffer that is written is none of them."""
    for spec in signature["output_specs"].items():
        kind, value = spec.union()
        if kind == "loss_output":
            yield value["arg"]["name"]
        elif kind == "user_output":
            given, tensor = value["arg"].union()
            if given == "as_tensor":
                yield tensor["name"]
