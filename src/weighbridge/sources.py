"""What a source is: a path, a name or a PyTorch module; and which front end makes a graph of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import BadSpec, UnsupportedFormat
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import shown, whole

if TYPE_CHECKING:
    from weighbridge.memory.training.run import AutogradRun

__all__ = [
    "USER_FILE",
    "Given",
    "Loaded",
    "Sizes",
    "Source",
    "check",
    "check_there",
    "file_of",
    "is_module",
    "is_named_model",
    "no_such_file",
    "quietly",
    "read",
]

Source = str | os.PathLike[str]

USER_FILE: Final = re.compile(r"(?P<path>.*\.py)(?::(?P<name>[^:]*))?(?::(?P<choices>.*))?", re.DOTALL)
"""A Python file, the name in it of what makes the model, and choices for that."""
_REGISTERED: Final = re.compile(r"^@register_model\(\)\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)
_NAMED_MODELS: Final = ("torchvision", "timm", "transformers")
_LOOKS_LIKE_A_FILE: Final = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{0,11}$")


class Loaded(NamedTuple):
    """A graph, the name of its format, and the path or name it came from, as it was written ("" for an object).

    ``run`` takes one step of training in PyTorch, without values, in the way that its argument says by keyword
    (``frontends.torch_training.training_run``); None where there is no module.
    """

    graph: Graph
    format: str
    origin: str
    run: Callable[[Mapping[str, Any]], AutogradRun] | None = None


class Given(NamedTuple):
    """What the user says about a source, unchecked: what it means, and what it may be, depends on the source."""

    batch: object = None
    sequence: object = None
    dims: object = None
    inputs: object = None
    kwargs: object = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said."""
        return not any(map(_is_said, self))


def _is_said(one: object) -> bool:
    return len(one) > 0 if isinstance(one, (tuple, list, Mapping)) else one is not None


class Sizes(NamedTuple):
    """What the user says about the dimensions that a source leaves open."""

    batch: int | None = None
    sequence: int | None = None
    dims: Mapping[str, int] = {}
    inputs: Mapping[str, Sequence[int]] = {}

    @property
    def parameters(self) -> dict[str, int | float | str]:
        """As the parameters of a network written as TOML."""
        named = {"batch": self.batch, "sequence": self.sequence, **self.dims}
        return {name: size for name, size in named.items() if size is not None}


Reader = Callable[[Path, str, Sizes], Graph]
"""Makes a graph of a file, of what stands behind a colon, and of the sizes that were given."""


def read(
    source: object, given: Given, tell: Callable[[str], None], readers: Mapping[str, Reader] | None = None
) -> Loaded:
    """The graph of ``source``, which may be one.  ``tell`` is called with what is being done, ``readers`` read files of their formats in
    place of ours.

    Raises ``BadSpec`` for what is no source, and whatever the front ends raise.
    """
    if isinstance(source, Graph):
        return Loaded(source, "graph", "")
    if is_module(source):
        return _module(source, given, tell)
    path = _path(source)
    if is_named_model(path):
        return _named_model(path, given, tell)
    if _is_said(given.kwargs):
        raise BadSpec("only a PyTorch module has keyword arguments", where="kwargs", hint="give inputs={'name': shape}")
    sizes = _sizes(given.batch, given.sequence, given.dims, given.inputs)
    tell(f"reading {path}")
    graph, kind = _read(path, sizes, {**_READERS, **(readers or {})})
    return Loaded(graph, kind, path)


def check(source: object, given: Given) -> None:
    """Raises ``BadSpec`` for what is no source, for sizes that are none, and for any of a graph, before the work begins."""
    if isinstance(source, Graph):
        if not given.is_empty:
            raise BadSpec("a graph has its sizes already", hint="give batch, sequence, dims and inputs to load")
    elif not is_module(source) and not is_named_model(_path(source)):
        _sizes(given.batch, given.sequence, given.dims, given.inputs)


def quietly(stage: str) -> None:
    """What is being done is told to nobody."""


def check_there(source: str) -> None:
    """Raises ``BadSpec`` for a name that no file, no textbook network and no library of models can have, before the work begins."""
    if is_named_model(source) or USER_FILE.fullmatch(source) or file_of(source) is not None:
        return
    from weighbridge.textbook import names

    name, known = source.partition(":")[0].strip(), names()
    if name not in known:
        raise _unknown(source, name, known)


def is_named_model(source: str) -> bool:
    """Whether this is the name of a model that a PyTorch library builds, such as ``torchvision:resnet50``."""
    scheme, colon, _ = source.partition(":")
    return bool(colon) and scheme in _NAMED_MODELS


def is_module(source: object) -> bool:
    """Whether this is a PyTorch module.  Nothing is one before somebody has imported PyTorch, and nobody here does to find out."""
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return nn is not None and isinstance(source, nn.Module)


def _module(source: Any, given: Given, tell: Callable[[str], None]) -> Loaded:
    from weighbridge.frontends.torch_inputs import arguments
    from weighbridge.frontends.torch_sources import graph_of_module, run_of_module

    for name in ("batch", "sequence", "dims"):
        if _is_said(getattr(given, name)):
            hint = "give the whole shapes: --input 8x3x224x224, or inputs=(8, 3, 224, 224) in Python"
            raise BadSpec("the inputs of a module say their sizes", where=name, hint=hint)
    tell(f"following the forward of {type(source).__name__}")
    stated = arguments(given.inputs, given.kwargs)

    def run(how: Mapping[str, Any]) -> AutogradRun:
        tell(f"following a step of training of {type(source).__name__}")
        return run_of_module(source, stated, how)

    return Loaded(graph_of_module(source, stated), "torch", "", run)


def _named_model(source: str, given: Given, tell: Callable[[str], None]) -> Loaded:
    from weighbridge.frontends.torch_inputs import arguments
    from weighbridge.frontends.torch_sources import load_named, run_named

    if _is_said(given.dims):
        raise BadSpec("this model has no named dimensions", where=source, hint="give its inputs, or batch and sequence")
    is_stated = _is_said(given.inputs) or _is_said(given.kwargs)
    stated = arguments(given.inputs, given.kwargs) if is_stated else None
    batch = None if given.batch is None else _whole(given.batch, "batch")
    sequence = None if given.sequence is None else _whole(given.sequence, "sequence")

    def run(how: Mapping[str, Any]) -> AutogradRun:
        tell(f"following a step of training of {source}")
        return run_named(source, stated, how, batch=batch, sequence=sequence)

    return Loaded(load_named(source, stated, batch=batch, sequence=sequence, tell=tell), "torch", source, run)


def _path(source: object) -> str:
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        hint = "give the path of a file, the name of a model, or a torch.nn.Module"
        kind = f"an object of type {type(source).__name__}"
        if isinstance(source, type):
            kind = f"the class {source.__name__}"
            hint = f"call it to make one: {source.__name__}()"
        elif type(source).__name__ == "ExportedProgram":
            hint = "give its module(), or the file that torch.export.save makes of it"
        elif isinstance(source, Mapping):
            hint = "a state_dict says nothing of the operations: give the torch.nn.Module that it is loaded into"
        raise BadSpec(f"a source is a path or a name, or a PyTorch module, not {kind}", hint=hint)
    if USER_FILE.fullmatch(path):
        what = "a Python file is imported by the command line alone, as importing it runs it"
        raise BadSpec(what, where=path, hint="import it yourself and pass the module")
    return path


def _sizes(batch: object, sequence: object, dims: object, inputs: object) -> Sizes:
    """The sizes as whole numbers, of Python or of NumPy; what they may be is for the front ends to say."""
    shapes = {
        name: [_whole(size, f"inputs[{name!r}]") for size in _all(shape, f"inputs[{name!r}]")]
        for name, shape in _named(inputs, "inputs")
    }
    return Sizes(
        None if batch is None else _whole(batch, "batch"),
        None if sequence is None else _whole(sequence, "sequence"),
        {name: _whole(size, f"dims[{name!r}]") for name, size in _named(dims, "dims")},
        shapes,
    )


def _whole(size: object, where: str) -> int:
    found = whole(size)
    if found is None:
        raise BadSpec(f"must be a whole number, not {shown(size)}", where=where, hint="give 4, not 4.0 or '4'")
    return found


def _all(shape: object, where: str) -> Iterable[object]:
    if isinstance(shape, Iterable) and not isinstance(shape, (str, bytes)):
        return shape
    raise BadSpec(f"must be a list of sizes, not {shape!r}", where=where, hint="give [1, 3, 224, 224]")


def _named(given: object, where: str) -> list[tuple[str, object]]:
    if given is None:
        return []
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return list(given.items())
    hint = "give {'name': (1, 3, 224, 224)}" if where == "inputs" else "give {'name': 128}"
    raise BadSpec(f"must be a mapping from names to sizes, not {given!r}", where=where, hint=hint)


def _read(source: str, sizes: Sizes, readers: Mapping[str, Reader]) -> tuple[Graph, str]:
    """The graph and the name of its format."""
    found_file = file_of(source)
    if found_file is None:
        return _textbook(source, sizes), "textbook"
    path, choices = found_file
    from weighbridge.frontends.sniff import FORMATS, expect, identify

    found = identify(path)
    reader = readers.get(found)
    if reader is None:
        expect(path, "onnx")
        hint = "weighbridge reads ONNX and TensorFlow Lite models, exported PyTorch programs (.pt2) and networks written as TOML"
        raise UnsupportedFormat("this is of no format known here", where=path.name, hint=hint)
    if choices and found not in _CHOOSES:
        hint = "leave out what stands behind the colon"
        raise BadSpec(f"there is nothing to choose in {FORMATS[found]}", where=source, hint=hint)
    return reader(path, choices, sizes), found


def file_of(source: str) -> tuple[Path, str] | None:
    """The path of the file that a source names, and the choices behind a colon; None for a textbook network.

    A name may have colons of its own: what is there is the file.
    """
    path = Path(source)
    if os.path.lexists(path):
        return None if path.is_dir() and _is_textbook(source) else (path, "")
    for place in [place for place, one in enumerate(source[:_LONGEST_PATH]) if one == ":"]:
        before = source[:place]
        if os.path.lexists(before) and Path(before).is_file() and not _is_textbook(before):
            return Path(before), source[place + 1 :]
    before, _, after = source.rpartition(":")
    return (Path(before), after) if before.lower().endswith(_TAKES_CHOICES) else None


def _onnx(path: Path, choices: str, sizes: Sizes) -> Graph:
    from weighbridge.frontends.from_onnx import load_onnx

    inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
    return load_onnx(path, batch=sizes.batch, sequence=sizes.sequence, dims=sizes.dims, inputs=inputs)


def _pt2(path: Path, choices: str, sizes: Sizes) -> Graph:
    from weighbridge.frontends.aten_archive import load_pt2

    inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
    return load_pt2(path, batch=sizes.batch, sequence=sizes.sequence, dims=sizes.dims, inputs=inputs)


def _tflite(path: Path, choices: str, sizes: Sizes) -> Graph:
    from weighbridge.frontends.from_tflite import load_tflite

    if sizes.sequence is not None:
        raise BadSpec("this format names no dimensions", where="sequence", hint="give the whole shape: --input x=1x128")
    inputs = {name: tuple(shape) for name, shape in sizes.inputs.items()}
    return load_tflite(path, batch=sizes.batch, dims=sizes.dims, inputs=inputs, signature=choices)


def _toml(path: Path, choices: str, sizes: Sizes) -> Graph:
    from weighbridge.frontends.from_toml import load_toml, merged

    _no_inputs(sizes, str(path))
    return load_toml(path, merged(choices, sizes.parameters, str(path)))


_READERS: Final[Mapping[str, Reader]] = {
    "onnx": _onnx,
    "pt2": _pt2,
    "tflite": _tflite,
    "toml": _toml,
}
_CHOOSES: Final = ("toml", "tflite")
"""Formats of files behind which a colon and choices may stand: parameters, or the name of a signature."""
_TAKES_CHOICES: Final = (".toml", ".tflite")
_LONGEST_PATH: Final = 4096


def _textbook(source: str, sizes: Sizes) -> Graph:
    from weighbridge.textbook import find

    check_there(source)
    _no_inputs(sizes, source.partition(":")[0].strip())
    return find(source, sizes.parameters)


def _is_textbook(source: str) -> bool:
    from weighbridge.textbook import names

    return source in names()


def _no_inputs(sizes: Sizes, where: str) -> None:
    if sizes.inputs:
        hint = f"{where}:resolution=256 chooses a size, where it has such a parameter"
        raise BadSpec("the shape of an input follows from this network's own parameters", where=where, hint=hint)


def no_such_file(path: str) -> BadSpec:
    """The error for a file that is not there, with a name beside it that is like its own."""
    from difflib import get_close_matches

    folder = Path(path).parent
    try:
        beside = sorted(one.name for one in folder.iterdir() if one.is_file())
    except (OSError, ValueError):
        return BadSpec("there is no such file", where=path, hint=f"there is no folder {str(folder)!r} that can be read")
    near = get_close_matches(Path(path).name, beside, 1)
    return BadSpec("there is no such file", where=path, hint=f"did you mean {near[0]}?" if near else "check the path")


def _unknown(source: str, name: str, known: Sequence[str]) -> BadSpec:
    from difflib import get_close_matches

    if _LOOKS_LIKE_A_FILE.search(source):
        return no_such_file(source)
    what = f"there is neither a file nor a textbook network {name!r}"
    if name in _torchvision_models():
        return BadSpec(what, hint=f"torchvision's is torchvision:{name}; the textbook networks are {', '.join(known)}")
    library = get_close_matches(name, _NAMED_MODELS, 1) if ":" in source else []
    if library:
        hint = f"did you mean {library[0]}:{source.partition(':')[2]}?"
        return BadSpec(f"there is no library {name!r} to take models from", hint=hint)
    near = get_close_matches(name.lower().replace("-", "_"), known, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return BadSpec(what, hint=f"{meant}the textbook networks are {', '.join(known)}")


def _torchvision_models() -> set[str]:
    """The names that torchvision's files register, read as text: importing it would take seconds, for a hint."""
    from importlib.util import find_spec

    try:
        spec = find_spec("torchvision")
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        texts = [
            file.read_text(encoding="utf-8") for folder in folders for file in Path(folder, "models").rglob("*.py")
        ]
        return {name for text in texts for name in _REGISTERED.findall(text)}
    except (OSError, ValueError, ImportError):
        return set()
