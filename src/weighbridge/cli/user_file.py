"""Models that a user's Python file makes: ``path.py:factory``.  Only the command line imports such a file, as that runs it."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from difflib import get_close_matches
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import BadSpec, said_by

if TYPE_CHECKING:
    from weighbridge.revisions import Checkout

__all__ = ["made_by"]

_ANY_NUMBER: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


@contextmanager
def made_by(path: Path, name: str, choices: Mapping[str, Any], checkout: Checkout | None = None) -> Iterator[Any]:
    """The PyTorch module that ``name`` in the file at ``path`` is or makes, in evaluation mode.

    A file of a ``checkout`` finds the modules of that revision in place of those of the working tree.
    While this lasts the file's folder can be imported from, and what is printed goes to standard error.  Afterwards
    ``sys.path``, ``sys.argv`` and ``sys.modules`` are as they were, apart from installed libraries that the file needed.
    Raises ``BadSpec``: no such file or name, an exception in the file or in the factory, something that is no module, a module that
    the revision of a checkout does not have.
    """
    if path.is_dir():
        raise BadSpec("this is a folder", where=str(path), hint="name the file in it that makes the model")
    if not path.is_file():
        raise BadSpec("there is no such file", where=str(path), hint=_beside(path))
    if not name:
        hint = f"write {path.name}:NAME; it defines {', '.join(_defined(path)) or 'nothing'}"
        raise BadSpec("what makes the model is not named", where=str(path), hint=hint)
    more = (Path.cwd(),) if checkout is None else (*checkout.import_folders(), Path.cwd())
    with _left_as_it_was((path.resolve().parent, *more)), _standard_error(), redirect_stdout(sys.stderr):
        before = set(sys.modules)
        try:
            module = _made(_imported(path), name, choices, path)
            if checkout is not None:
                _check_modules(before, checkout, path)
            yield module
        except BaseException as error:
            if isinstance(error, Exception | KeyboardInterrupt):
                raise
            what = "it called sys.exit" if isinstance(error, SystemExit) else f"it raised {type(error).__name__}"
            raise BadSpec(what, where=str(path), hint="a file that makes a model only makes it") from None


def _beside(path: Path) -> str:
    try:
        near = get_close_matches(path.name, sorted(one.name for one in path.parent.glob("*.py")), 1)
    except (OSError, ValueError):
        near = []
    return f"did you mean {near[0]}?" if near else "check the path"


def _defined(path: Path) -> list[str]:
    """The classes and functions at the top of a file, without running it."""
    try:
        parsed = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [one.name for one in parsed.body if isinstance(one, kinds) and not one.name.startswith("_")][:12]


@contextmanager
def _standard_error() -> Iterator[None]:
    """What programs and libraries in C print goes to standard error, too, where there is one."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    try:
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of the two is closed
        yield
        return
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


@contextmanager
def _left_as_it_was(folders: Sequence[Path]) -> Iterator[None]:
    """Imports find the folders' modules, leave no compiled files in them, and are forgotten; the current folder stays."""
    before, path, arguments, silent = set(sys.modules), sys.path[:], sys.argv, sys.dont_write_bytecode
    current = Path.cwd()
    sys.path[:0] = [str(one) for one in folders]
    sys.argv = [str(folders[0])]
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        # A package without an __init__ finds its folders anew by Python's path, so they are looked at before that is as it was.
        new = [name for name in sys.modules if name not in before and _is_users(sys.modules[name], folders)]
        sys.path[:], sys.argv, sys.dont_write_bytecode = path, arguments, silent
        with suppress(OSError):
            os.chdir(current)
        for name in new:
            sys.modules.pop(name, None)


def _is_users(module: ModuleType, folders: Sequence[Path]) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if file is not None else getattr(module, "__path__", ())
    return any(_lies_in(place, folders) for place in places)


def _lies_in(place: object, folders: Sequence[Path]) -> bool:
    if not isinstance(place, str) or _INSTALLED & set(Path(place).parts):
        return False
    return any(Path(place).is_relative_to(folder) for folder in folders)


def _check_modules(before: Collection[str], checkout: Checkout, path: Path) -> None:
    """Raises ``BadSpec`` where a file of another revision has imported a module of the working tree."""
    for name in [name for name in sys.modules if name not in before]:
        if _lies_in(getattr(sys.modules[name], "__file__", None), (checkout.top,)):
            what = f"it imports {name}, which that revision does not have and the working tree does"
            hint = "compare with a revision that has it, or a report that was saved there"
            raise BadSpec(what, where=str(path), hint=hint)


def _imported(path: Path) -> ModuleType:
    # A name of its own, or a file called torch.py would be taken for the library.
    stem = path.stem
    name = f"user_file_{stem}" if stem in sys.modules or stem in sys.stdlib_module_names else stem
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise BadSpec("this is no Python file", where=str(path), hint="name a file that ends in .py")
    module = sys.modules[name] = module_from_spec(spec)
    _run(partial(spec.loader.exec_module, module), path, "the file cannot be imported")
    return module


def _made(file: ModuleType, name: str, choices: Mapping[str, Any], path: Path) -> Any:
    found: Any = getattr(file, name, None)
    if found is None:
        near = get_close_matches(name, [*_defined(path), *vars(file)], 1)
        hint = f"did you mean {near[0]}?" if near else f"it defines {', '.join(_defined(path)) or 'nothing'}"
        raise BadSpec(f"there is no {name!r} in it", where=str(path), hint=hint)
    if callable(found) and not _is_module(found):
        _check_choices(found, name, choices, path)
        found = _run(lambda: found(**choices), path, f"{name} failed")
    elif choices:
        hint = f"leave out what is behind {path.name}:{name}"
        raise BadSpec(f"{name} takes no parameters: it is made already", where=str(path), hint=hint)
    if inspect.iscoroutine(found):
        found.close()
    if not _is_module(found):
        what = f"{name} {'returned' if callable(getattr(file, name)) else 'is'} no torch.nn.Module but {_kind(found)}"
        raise BadSpec(what, where=str(path), hint="name a class of modules, or a function that returns a module")
    return _run(found.eval, path, f"{name} cannot be put into evaluation mode")


def _kind(found: object) -> str:
    return f"the class {found.__name__}" if inspect.isclass(found) else f"an object of type {type(found).__name__}"


def _is_module(found: object) -> bool:
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return nn is not None and isinstance(found, nn.Module)


def _check_choices(factory: Callable[..., Any], name: str, choices: Mapping[str, Any], path: Path) -> None:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**choices)
    except TypeError as error:
        named = [one.name for one in signature.parameters.values() if one.kind not in _ANY_NUMBER] or ["width"]
        hint = f"parameters stand behind another colon: {path.name}:{name}:{named[0]}=2"
        raise BadSpec(f"{name}{signature} cannot be called so: {error}", where=str(path), hint=hint) from None


def _run(work: Callable[[], Any], path: Path, what: str) -> Any:
    """What ``work`` returns.  Raises ``BadSpec`` with the exception and the line in the user's file where it arose."""
    try:
        return work()
    except Exception as error:
        said = " ".join(said_by(error).split())
        kind = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise BadSpec(f"{what}: {kind}", where=_line(error, path), hint=_advice(error)) from None


def _line(error: Exception, path: Path) -> str:
    """``path:line`` of the innermost line of the user's own file, or of a file that stands beside it."""
    if isinstance(error, SyntaxError) and error.filename:
        file = Path(error.filename)
        return f"{path if file.name == path.name else file.name}:{error.lineno or 1}"
    own, step, line = path.resolve(), error.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(own):
            line = step.tb_lineno
        step = step.tb_next
    return f"{path}:{line}" if line is not None else str(path)


def _advice(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return (
            'pip install "weighbridge[torch]"' if error.name == "torch" else f"install {error.name} beside weighbridge"
        )
    said = said_by(error).lower()
    if any(word in said for word in ("cuda", "nvidia", "mps", "xpu", "device")):
        return "nothing runs on a device here: build the model on the CPU or the meta device"
    return ""
