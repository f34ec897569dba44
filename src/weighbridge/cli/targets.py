"""Where reports go: looked at before the work begins, so that none is lost and nothing that is read is written over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.extra import report_extra
from weighbridge.sources import USER_FILE, file_of

__all__ = ["STDOUT", "Input", "Output", "Target", "check_targets", "file_format", "inputs_of", "targets_of"]

STDOUT: Final = "-"
_SUFFIXES: Final = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
}
_OF_SEVERAL: Final = ("screen", "html")
"""Formats that show several reports."""


class Output(NamedTuple):
    """The options that say where reports go and what is shown of them, as they were written."""

    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    model_explorer: str | None = None
    depth: int | None = None
    all_rows: bool = False
    policy: str = "live"
    with_map: bool = False


class Target(NamedTuple):
    """What is written where: ``json``, ``csv``, ``markdown``, ``text``, ``html``, ``screen`` or ``node data``, and a file,
    a folder or ``-``.
    """

    kind: str
    place: str


class Input(NamedTuple):
    """A file that a command reads, and what it is."""

    path: Path
    what: str


def inputs_of(source: str | None = None, on: Iterable[str] = (), energy: str | None = None) -> Iterator[Input]:
    """The files of the user that are read for a source, for devices and for a table of energies."""
    if source is not None:
        yield Input(_file_of(source), "the network")
    named = [
        *((name, "the device file") for name in on),
        *([] if energy is None else [(energy, "the table of energies")]),
    ]
    if named:
        from weighbridge.devices.catalogue import path_of

        for name, what in named:
            if (path := path_of(name)) is not None:
                yield Input(path, what)


def targets_of(output: Output, inputs: Iterable[Input], reports: int = 1) -> tuple[Target, ...]:
    """Everything to write; what is on standard output alone is not on the screen as well.

    Raises ``BadSpec`` as ``check_targets`` does, and for a format that is unknown or takes one report where there are more,
    and ``MissingExtra`` where what draws a page is not installed.
    """
    named = (("json", output.json), ("csv", output.csv), ("markdown", output.markdown))
    targets = [Target(kind, place) for kind, place in named if place is not None]
    targets += (Target(file_format(file, _SUFFIXES), file) for file in output.outputs)
    read = tuple(inputs)
    check_targets((target.place for target in targets), read)
    if output.model_explorer is not None:
        _check_folder(output.model_explorer, [*read, *(Input(Path(one.place), "another report") for one in targets)])
        targets.append(Target("node data", output.model_explorer))
    if all(target.place != STDOUT for target in targets):
        targets.append(Target("screen", STDOUT))
    alone = next((target for target in targets if target.kind not in _OF_SEVERAL), None)
    if reports > 1 and alone is not None:
        hint = "the screen and -o page.html show several; give the others one at a time"
        raise BadSpec(f"{reports:,} reports for a format that takes one: {alone.kind}", where=alone.place, hint=hint)
    if any(target.kind == "html" for target in targets):
        with report_extra("a page in HTML"):
            import weighbridge.report.html_file  # noqa: F401 - looked at now, used when all is weighed
    return tuple(targets)


def file_format(file: str, formats: Mapping[str, str]) -> str:
    """What ``formats`` have for the suffix of ``file``.  Raises ``BadSpec`` for another suffix."""
    kind = formats.get(Path(file).suffix.lower())
    if kind is None:
        hint = f"the suffixes are {', '.join(formats)}"
        raise BadSpec(f"no format has the suffix of {file!r}", where="-o", hint=hint)
    return kind


def check_targets(places: Iterable[str | None], inputs: Iterable[Input] = ()) -> None:
    """Look at every place that something is written to: a file, ``-`` for the standard output, None for nothing.

    Raises ``BadSpec`` where there is no folder to write to, where two reports go to one place, and where one would overwrite
    what the command reads: one of ``inputs``, or a file that an ONNX model among them keeps its weights in.
    """
    wanted = [place for place in places if place is not None]
    if wanted.count(STDOUT) > 1:
        raise BadSpec("two formats for the standard output", hint="name a file for all but one of them")
    files = [place for place in wanted if place != STDOUT]
    read = tuple(inputs)
    for index, place in enumerate(files):
        _check_file(place, files[:index], read)


def _check_file(place: str, others: Sequence[str], inputs: Sequence[Input]) -> None:
    path = Path(place)
    try:
        resolved = path.resolve()
        if not path.parent.is_dir():
            raise BadSpec(f"there is no folder {str(path.parent)!r}", where=place, hint="make it first")
        is_device = path.exists() and not path.is_file()  # of nowhere there is enough for all
        if resolved in map(Path.resolve, map(Path, others)) and not is_device:
            raise BadSpec("two reports for one file", where=place, hint="name another file for one of them")
        lost = next((one.what for one in inputs if _is_lost(path, one.path)), None)
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have; a ring of links
        raise BadSpec(f"cannot be written: {error}", where=place, hint="name another file") from None
    if lost is not None:
        raise BadSpec(f"the report would overwrite {lost}", where=place, hint="name another file")


def _check_folder(place: str, others: Iterable[Input]) -> None:
    """Look at the folder for files of node data, which is made where it is not there.

    Raises ``BadSpec`` where that cannot be, and where one of the files would overwrite one of ``others``.
    """
    from weighbridge.report.model_explorer import may_be_named

    folder = Path(place)
    try:
        resolved = folder.resolve()
        if place == STDOUT or (folder.exists() and not folder.is_dir()):
            raise BadSpec(
                "node data are several files and take a folder", where=place, hint="name one that is there or new"
            )
        if not folder.parent.is_dir():
            raise BadSpec(f"there is no folder {str(folder.parent)!r}", where=place, hint="make it first")
        named = (one for one in others if may_be_named(one.path.name))
        lost = next((one for one in named if one.path.resolve().parent == resolved), None)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadSpec(f"cannot be written: {error}", where=place, hint="name another folder") from None
    if lost is not None:
        what = f"{lost.path.name} in it is {lost.what}, and a file of node data may be called so"
        raise BadSpec(what, where=place, hint="name another folder")


def _is_lost(target: Path, read: Path) -> bool:
    """Whether ``read``, or weights that it keeps in another file, would be overwritten."""
    if not target.exists() or not read.exists():
        return False
    from weighbridge.frontends.onnx_external import names_as_data

    return target.samefile(read) or names_as_data(read, target)


def _file_of(source: str) -> Path:
    """The file that a source is read from, if any is: without the scheme before it and the choices behind it."""
    by_user = USER_FILE.fullmatch(source)
    if by_user is not None:
        return Path(by_user["path"])
    if source.startswith("transformers:"):
        path = Path(source.partition(":")[2].strip())
        return path / "config.json" if path.is_dir() else path
    found = file_of(source)
    return Path(source) if found is None else found[0]
