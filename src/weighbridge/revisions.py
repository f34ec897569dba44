"""Files as they were at a revision of their git repository: ``model.onnx@main`` is read from a folder that is gone afterwards.

Git is asked for objects alone: nothing is checked out, fetched or filtered, and no hook runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import IO, Final

from weighbridge.errors import BadSpec, WeighbridgeError, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.sources import USER_FILE, is_named_model

__all__ = ["Checkout", "at_revision", "has_revision"]

_SIGN: Final = "@"
_OBJECT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_POINTER: Final = re.compile(rb"version https://git-lfs.*?^oid sha256:([0-9a-f]{64})$", re.DOTALL | re.MULTILINE)
_POINTER_BYTES: Final = 1024
_PART_BYTES: Final = 1 << 20
_MOST_LINKS: Final = 8
_MOST_SIGNS: Final = 16
_LINK, _FOLDER, _SUBMODULE = "120000", "040000", "160000"
_IS_NO_FILE: Final = {_FOLDER: "a folder", _SUBMODULE: "a submodule"}
_OF_A_HOOK: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""What git sets where it runs a hook, which may name another repository than the one that a file lies in."""
_SETTINGS: Final = {
    "LC_ALL": "C",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_HOW: Final = "write PATH@REVISION, as in model.onnx@main or model.onnx@HEAD~1"


class Checkout(NamedTuple):
    """A file of a revision, in a folder of its own with what it needs beside it.

    ``source`` is to be read in place of ``written``; ``shown`` is how the file is called to the user.  ``root`` stands in place of ``top``,
    the working tree.
    """

    written: str
    source: str
    shown: str
    root: Path
    top: Path

    def said(self, text: str) -> str:
        """``text`` with the names that the user knows in place of those of the folder."""
        by_user = USER_FILE.fullmatch(self.source)
        place = self.source if by_user is None else by_user["path"]
        return text.replace(place, self.shown).replace(f"{self.root}{os.sep}", "").replace(str(self.root), self.shown)

    def import_folders(self) -> tuple[Path, ...]:
        """The folders of Python's path that lie in the working tree, the current one first, as they are in ``root``."""
        there = [Path(one or ".").resolve() for one in ("", *sys.path)]
        return tuple(
            dict.fromkeys(self.root / one.relative_to(self.top) for one in there if one.is_relative_to(self.top))
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors that are raised while this lasts get the names that the user knows."""
        try:
            yield
        except WeighbridgeError as error:
            told = type(error)(
                self.said(error.what),
                where=self.said(error.where),
                hint=self.said(error.hint),
                details=[self.said(detail) for detail in error.details],
            )
            raise (told if self.shown in told.where else told.at(self.written)) from None


class _Entry(NamedTuple):
    """What a commit has at ``path``, counted from the top of the repository."""

    mode: str
    object: str
    path: str


class _Found(NamedTuple):
    """A reading of what was written: the commit of ``revision``, and the file that ``path`` names; ``choices`` stand behind that."""

    repository: _Repository
    commit: str
    revision: str
    path: str
    choices: str
    entry: _Entry


class _Repository:
    """A repository, known by a folder in it."""

    def __init__(self, folder: Path) -> None:
        said = _git(folder, "rev-parse", "--show-toplevel", "--git-common-dir", "--show-prefix")
        lines = said.stdout.decode(errors="surrogateescape").split("\n")
        if said.returncode or len(lines) < 3:
            raise BadSpec(_reason(said) or "there is no git repository here", hint="a revision is one of its commits")
        self.folder = folder
        self.top = Path(lines[0]).resolve()
        self.prefix = lines[2]
        self._common = (folder / lines[1]).resolve()

    def git(self, *arguments: str) -> bytes | None:
        """What git says; None where it fails."""
        said = _git(self.folder, *arguments)
        return None if said.returncode else said.stdout

    def commit(self, revision: str) -> str | None:
        """The commit that a revision names; None where it names none, or several."""
        if revision.startswith("-"):
            return None
        found = (self.git("rev-parse", "--verify", "--quiet", revision) or b"").decode(errors="replace").strip()
        if not _OBJECT.fullmatch(found):
            return None
        return (self.git("rev-parse", "--verify", "--quiet", f"{found}^{{commit}}") or b"").decode().strip() or None

    def entries(self, commit: str, *paths: str) -> Iterator[_Entry]:
        """What a commit has at these paths; without any, all its files."""
        listed = self.git("ls-tree", "-z", "--full-tree", *(() if paths else ("-r",)), commit, "--", *paths) or b""
        for line in listed.decode(errors="surrogateescape").split("\0"):
            about, tab, path = line.partition("\t")
            if tab and not {"", ".", "..", ".git"} & set(path.split("/")):
                mode, _, name = about.split(" ")
                yield _Entry(mode, name, path)

    def entry(self, commit: str, path: str) -> _Entry | None:
        """What a commit has at ``path``, or where the links there lead to inside the repository."""
        for _ in range(_MOST_LINKS):
            if path.startswith(("../", "/")) or path in ("", ".", ".."):
                return None
            found = next(self.entries(commit, path), None)
            if found is None or found.mode != _LINK:
                return found
            target = (self.git("cat-file", "blob", found.object) or b"").decode(errors="surrogateescape")
            path = normpath(join(dirname(path), target))
        return None

    def write(self, entries: Sequence[_Entry], root: Path) -> None:
        """Write files to where they lie below ``root``.  Raises ``BadSpec`` for an object that is not here."""
        with tempfile.TemporaryFile() as asked:
            asked.write("".join(f"{one.object}\n" for one in entries).encode())
            asked.seek(0)
            with _process(self.folder, "cat-file", "--batch", asked=asked) as said:
                assert said.stdout is not None
                for one in entries:
                    place = root / one.path
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _write_next(said.stdout, place)

    def follow_pointer(self, place: Path) -> bool:
        """Put what Git LFS keeps here in place of a file that points to it; False where it is not here."""
        if place.stat().st_size > _POINTER_BYTES:
            return True
        found = _POINTER.match(place.read_bytes())
        if found is None:
            return True
        name = found[1].decode()
        kept = self._common / "lfs" / "objects" / name[:2] / name[2:4] / name
        if kept.is_file():
            shutil.copyfile(kept, place)
        return kept.is_file()


def _write_next(batch: IO[bytes], place: Path) -> None:
    """Write the next object of ``git cat-file --batch`` to a file; it may be larger than the memory."""
    about = batch.readline().split()
    if len(about) != 3 or about[1] != b"blob":
        raise BadSpec("this clone does not have the content of the file", hint="fetch it: git fetch --refetch")
    left = int(about[2])
    with place.open("wb") as file:
        while left > 0 and (part := batch.read(min(left, _PART_BYTES))):
            left -= file.write(part)
    if left or batch.read(1) != b"\n":
        raise BadSpec("git ended before the whole file was read", hint="`git fsck` looks through the repository")


def has_revision(source: str) -> bool:
    """Whether what is written names a file at a revision.  A file that has all of it for its name is that file."""
    if _SIGN not in source or is_named_model(source):
        return False
    by_user = USER_FILE.fullmatch(source)
    places = [place for place, character in enumerate(source) if character == ":"]
    paths = [source, *(source[:place] for place in places), *([] if by_user is None else [by_user["path"]])]
    return not any(_SIGN in path and os.path.lexists(path) for path in paths[:64])


@contextmanager
def at_revision(written: str) -> Iterator[Checkout]:
    """The file that ``PATH@REVISION`` names, for as long as this lasts; choices stand behind the path: ``net.py:Net@main``.

    Beside an ONNX model are the files that hold its weights, beside a Python file all tracked Python files, as they were then.
    Raises ``BadSpec``: no git, no repository, no such revision, no such file in it, content that is not here.
    """
    found = _found(written)
    with tempfile.TemporaryDirectory(prefix="weighbridge-") as folder:
        root = Path(folder).resolve()
        place = root / found.entry.path
        shown = f"{found.path}{_SIGN}{found.revision}"
        checkout = Checkout(written, f"{place}{found.choices}", shown, root, found.repository.top)
        with checkout.explained():
            _restore(found, root)
        yield checkout


def _restore(found: _Found, root: Path) -> None:
    """Write the file, and what it is read with, to below ``root``."""
    repository, place = found.repository, root / found.entry.path
    repository.write([found.entry], root)
    if not repository.follow_pointer(place):
        what = "this is a Git LFS pointer, and what it points to is not here"
        raise BadSpec(what, hint=f"run `git lfs fetch origin {found.revision}` in its repository")
    beside = list(_python_files(found) if place.suffix == ".py" else _data_files(found, place))
    repository.write(beside, root)
    for one in beside:
        if not repository.follow_pointer(root / one.path):
            (root / one.path).unlink()  # what needs it says so, and does so seldom


def _python_files(found: _Found) -> Iterator[_Entry]:
    for one in found.repository.entries(found.commit):
        if one.path.endswith(".py") and one.mode not in (_LINK, _SUBMODULE) and one.path != found.entry.path:
            yield one


def _data_files(found: _Found, model: Path) -> Iterator[_Entry]:
    """The files in which an ONNX model keeps weights, where the commit has them."""
    from weighbridge.frontends.onnx_external import data_files

    names = data_files(model)
    if not names:
        return
    tree = {one.path: one for one in found.repository.entries(found.commit)}
    for path in dict.fromkeys(normpath(join(dirname(found.entry.path), name)) for name in names):
        entry = tree.get(path)
        if entry is not None and entry.mode == _LINK:
            entry = found.repository.entry(found.commit, path)
        if entry is not None and entry.mode not in _IS_NO_FILE and path != found.entry.path:
            yield entry._replace(path=path)


def _found(written: str) -> _Found:
    """The first reading of what was written that names a file of a commit.  Raises ``BadSpec`` where none does, for the likeliest."""
    signs = [place for place, character in enumerate(written) if character == _SIGN and place]
    faults: list[tuple[int, BadSpec]] = []
    for sign in signs[:_MOST_SIGNS]:
        before, revision = written[:sign], written[sign + 1 :]
        if not revision:
            faults.append((0, BadSpec("there is no revision behind the @", where=written, hint=_HOW)))
            continue
        try:
            return _read(written, before, revision)
        except _Unreadable as fault:
            faults.append((fault.rank, fault.error))
    if not faults:
        raise BadSpec("there is no path before the @", where=written, hint=_HOW)
    raise max(faults, key=lambda fault: fault[0])[1]


class _Unreadable(Exception):
    """A reading that names nothing; the higher its rank, the likelier it is what was meant."""

    def __init__(self, rank: int, error: BadSpec) -> None:
        super().__init__(rank, error)
        self.rank = rank
        self.error = error


def _read(written: str, before: str, revision: str) -> _Found:
    """The file and the commit of one reading.  Raises ``_Unreadable``, and ``BadSpec`` where there is no git."""
    splits = list(_splits(before))
    here = any(os.path.lexists(path) for path, _ in splits)
    try:
        repository = _Repository(_folder_of(splits[0][0]))
    except BadSpec as error:
        placed = BadSpec(error.what, where=written, hint=error.hint)
        raise _Unreadable(1 + here, placed) from None
    commit = repository.commit(f"@{revision}" if revision.startswith("{") else revision)
    if commit is None:
        raise _Unreadable(3 + here, _no_revision(written, revision, repository))
    for path, choices in splits:
        entry = repository.entry(commit, _inside(repository, path))
        if entry is not None and entry.mode not in _IS_NO_FILE:
            return _Found(repository, commit, revision, path, choices, entry)
        if entry is not None:
            what = f"{path!r} is {_IS_NO_FILE[entry.mode]} at the revision {revision!r}"
            raise _Unreadable(6, BadSpec(what, where=written, hint="name a file in it"))
    raise _Unreadable(5, _no_file(written, splits[-1][0], revision, repository, commit))


def _splits(before: str) -> Iterator[tuple[str, str]]:
    """The path that is written, and the choices behind it, in all the ways in which that can be meant."""
    by_user = USER_FILE.fullmatch(before)
    if by_user is not None:
        yield by_user["path"], before[len(by_user["path"]) :]
        return
    yield before, ""
    places = [place for place, character in enumerate(before) if character == ":" and place][:_MOST_SIGNS]
    yield from ((before[:place], before[place:]) for place in reversed(places))


def _folder_of(path: str) -> Path:
    """The nearest folder of a path that is there: a file may have been deleted, and the folder with it."""
    try:
        whole = Path(path).absolute()
        return next((one for one in (whole, *whole.parents) if one.is_dir()), Path.cwd())
    except (OSError, ValueError):
        return Path.cwd()


def _inside(repository: _Repository, path: str) -> str:
    """The path from the top of the repository."""
    rest = Path(os.path.relpath(Path(path).absolute(), repository.folder)) if "\0" not in path else Path()
    return normpath(f"{repository.prefix}{rest.as_posix()}")


def _no_revision(written: str, revision: str, repository: _Repository) -> BadSpec:
    from difflib import get_close_matches

    if ":" in revision and repository.commit(revision.partition(":")[0]) is not None:
        name, _, choices = revision.partition(":")
        hint = f"the revision comes last: {written.rpartition(_SIGN)[0]}:{choices}@{name}"
        return BadSpec(f"there is no revision {revision!r}", where=written, hint=hint)
    names = repository.git("for-each-ref", "--format=%(refname:short)", "--count=1000") or b""
    near = get_close_matches(revision, names.decode(errors="replace").split(), 1)
    meant = f"did you mean {near[0]}? " if near else ""
    hint = f"{meant}`git log --oneline --all` lists those that are here; others have to be fetched first"
    return BadSpec(f"there is no revision {revision!r} in this repository", where=written, hint=hint)


def _no_file(written: str, path: str, revision: str, repository: _Repository, commit: str) -> BadSpec:
    from difflib import get_close_matches

    from weighbridge.textbook import names

    if path in names():
        hint = "leave out what is behind the @: a textbook network comes with weighbridge"
        return BadSpec(f"{path!r} is no file with revisions", where=written, hint=hint)
    wanted = _inside(repository, path)
    files = [one.path for one in repository.entries(commit)]
    if wanted in files:
        what = f"{path!r} is a link to no file of the repository at the revision {revision!r}"
        return BadSpec(what, where=written, hint="name the file itself")
    near = get_close_matches(wanted, files, 1)
    meant = f"{near[0]} of the repository is like it" if near else f"`git ls-tree -r {revision}` lists its files"
    return BadSpec(f"there is no file {path!r} at the revision {revision!r}", where=written, hint=meant)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says in a folder.  Raises ``BadSpec`` as ``_process`` does."""
    with _process(folder, *arguments) as process:
        said, complaint = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, said, complaint)


def _process(folder: Path, *arguments: str, asked: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Git at work in a folder.  Raises ``BadSpec`` where there is no git, and for a name that no process can be given."""
    program = shutil.which("git")
    if program is None:
        raise BadSpec("a revision is read by git, which is not installed", hint="install git, or name the file itself")
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    command = [program, *arguments]
    complaints = subprocess.PIPE if asked is None else subprocess.DEVNULL
    try:
        return subprocess.Popen(  # noqa: S603 - a list of arguments, which no shell reads
            command,
            cwd=folder,
            env=environment | _SETTINGS,
            stdin=asked or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        )
    except (OSError, ValueError) as error:
        raise BadSpec(f"git cannot be asked: {error}", hint=_HOW) from None


def _reason(said: subprocess.CompletedProcess[bytes]) -> str:
    """The first line that git has to say about a failure."""
    lines = said.stderr.decode(errors="replace").strip().splitlines()
    first = next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
    if "not a git repository" in first:
        return ""
    return printable(f"git: {first.removeprefix('fatal: ')}", 200) if first else ""
