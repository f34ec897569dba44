"""PyTorch models by name: ``torchvision:resnet50``, ``timm:vit_base_patch16_224``, ``transformers:path/to/config.json``.

They are built without weights, on the meta device where their library can, and never with a network or anybody's code but
the library's own.
"""

from __future__ import annotations

import ast
import inspect
import logging
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import BadModel, BadSpec, MissingExtra
from weighbridge.frontends.from_toml import parse_choices
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple

from .torch_inputs import MAX_ZEROS_BYTES, Arguments, TensorSpec, needs_inputs

__all__ = [
    "built_named",
    "choices_of",
    "graph_of_module",
    "library",
    "load_named",
    "offline",
    "run_named",
    "run_of_module",
]

if TYPE_CHECKING:
    from weighbridge.memory.training.run import AutogradRun

_FRAMES: Final = 16
_VIDEO, _FLOW, _DETECTION = "video", "optical_flow", "detection"
_SIDES: Final = {_VIDEO: (112, 112), _FLOW: (520, 960), _DETECTION: (800, 800), "segmentation": (520, 520)}
"""Height and width for torchvision's families where weights name none: 800 is the shorter side that the R-CNNs resize to;
the two images of RAFT, which takes sides divisible by 8, have the size of the example in torchvision's gallery.
"""
_LOADING: Final = (
    *("weights", "weights_backbone", "pretrained", "pretrained_backbone"),
    *("pretrained_cfg", "pretrained_cfg_overlay", "checkpoint_path", "cache_dir"),
)


class _Recipe(NamedTuple):
    """How a model is made, once its name and choices are known to be good."""

    make: Callable[[], Any]
    name: str
    inputs: Callable[[Any], Arguments]
    notes: tuple[str, ...] = ()
    on_meta: bool = True
    may_be_real: bool = True
    """Whether it may be made with values, where it cannot be made on the meta device."""


def graph_of_module(module: Any, given: Arguments, *, name: str = "") -> Graph:
    """The graph of a module for what its ``forward`` gets; ``TensorSpec``s stand for tensors without values.

    Raises ``NeedsShape`` where ``forward`` takes something and got nothing, and what ``load_torch`` raises.
    """
    args, kwargs = _given(module, given, name)
    from .from_torch import load_torch

    return load_torch(module, args, kwargs, name=name)


def run_of_module(module: Any, given: Arguments, how: Mapping[str, Any], *, name: str = "") -> AutogradRun:
    """A step of training of a module for what its ``forward`` gets, by ``how`` as ``training_run`` takes it.

    Raises ``NeedsShape`` as ``graph_of_module`` does, and what ``training_run`` raises.
    """
    args, kwargs = _given(module, given, name)
    from .torch_training import training_run

    return training_run(module, args, kwargs, **how)


def _given(module: Any, given: Arguments, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = given
    if not args and not kwargs:
        question = needs_inputs(module.forward, name or type(module).__name__)
        if question is not None:
            raise question
    return _tensors(args), _tensors(kwargs)


def _tensors(value: Any) -> Any:
    """A structure with tensors on the meta device in the place of every ``TensorSpec``."""
    if isinstance(value, TensorSpec):
        torch = library("torch")
        dtype = getattr(torch, value.dtype, None)
        if not isinstance(dtype, torch.dtype):
            raise BadSpec(
                f"PyTorch has no tensors of {value.dtype}", where="inputs", hint="'float32' is the usual type"
            )
        try:
            return torch.empty(value.shape, dtype=dtype, device="meta")
        except RuntimeError:  # more bytes than 64 bits can count
            sizes = "x".join(map(str, value.shape))
            raise BadSpec(
                f"PyTorch has no tensor as large as {sizes}", where="inputs", hint="check the sizes"
            ) from None
    if type(value) in (tuple, list):
        return type(value)(_tensors(item) for item in value)
    if type(value) is dict:
        return {key: _tensors(item) for key, item in value.items()}
    return value


def load_named(
    source: str,
    given: Arguments | None,
    *,
    batch: int | None,
    sequence: int | None,
    tell: Callable[[str], None],
) -> Graph:
    """The graph of the model that ``source`` names: for ``given`` inputs, or those that its library states for it.

    ``batch`` is 1 unless given; ``sequence`` is the length of text.  Raises ``MissingExtra``, ``BadSpec`` for a name,
    choice or config that the library does not have, ``NeedsShape``, and what ``load_torch`` raises.
    """
    if given is not None and (batch is not None or sequence is not None):
        raise BadSpec("the inputs have their sizes already", where=source, hint="leave batch and sequence out")
    tell(f"building {source}")
    with _silent(), offline():
        library("torch")
        library(source.partition(":")[0])
        recipe = _recipe(source, batch or 1, sequence)
        module, is_meta = _made(recipe, source)
        arguments = recipe.inputs(module) if given is None else given
        tell(f"following the forward of {recipe.name}")
        try:
            graph = graph_of_module(module, arguments, name=recipe.name)
        except BadModel:
            if not is_meta or _stored_bytes(module) > MAX_ZEROS_BYTES:
                raise
            # Some forwards read values; those of a model on the meta device do not exist.
            module, _ = _made(recipe._replace(on_meta=False), source)
            graph = graph_of_module(module, arguments, name=recipe.name)
    return _noted(graph, recipe.notes)


def run_named(
    source: str, given: Arguments | None, how: Mapping[str, Any], *, batch: int | None, sequence: int | None
) -> AutogradRun:
    """A step of training of the model that ``source`` names, as ``load_named`` has it.  Raises what that raises."""
    with _silent(), offline():
        recipe = _recipe(source, batch or 1, sequence)
        module, _ = _made(recipe, source)
        arguments = recipe.inputs(module) if given is None else given
        return run_of_module(module.train(), arguments, how, name=recipe.name)


def built_named(source: str, *, batch: int | None, sequence: int | None) -> tuple[Any, Arguments]:
    """The model that ``source`` names, with values that its library makes up, in evaluation mode; and the inputs stated for it.

    Raises what ``load_named`` does.
    """
    with _silent(), offline():
        library("torch")
        library(source.partition(":")[0])
        recipe = _recipe(source, batch or 1, sequence)
        module, _ = _made(recipe._replace(on_meta=False, may_be_real=True), source)
        return module, recipe.inputs(module)


def _stored_bytes(module: Any) -> int:
    stored = (*module.parameters(), *module.buffers())
    return sum(tensor.numel() * tensor.element_size() for tensor in stored)


def _noted(graph: Graph, notes: tuple[str, ...]) -> Graph:
    from dataclasses import replace

    return replace(graph, notes=(*notes, *graph.notes)) if notes else graph


def _recipe(source: str, batch: int, sequence: int | None) -> _Recipe:
    scheme, _, rest = source.partition(":")
    if scheme == "transformers":
        from .torch_configs import recipe_parts

        make, name, inputs, notes = recipe_parts(rest.strip(), batch, sequence)
        return _Recipe(make, name, inputs, notes, may_be_real=False)
    if sequence is not None:
        raise BadSpec("this model has no sequence", where=source, hint="give its inputs: --input 1x3x224x224")
    name, _, choices = rest.partition(":")
    maker = _torchvision if scheme == "torchvision" else _timm
    return maker(name.strip(), _without_weights(choices_of(choices, source), source), batch)


def choices_of(text: str, where: str) -> dict[str, Any]:
    """``"num_classes=10,aux_logits=false"`` as Python values.  Raises ``BadSpec``."""
    return {name: _literal(value) for name, value in parse_choices(text, where).items()}


def _without_weights(choices: dict[str, Any], where: str) -> dict[str, Any]:
    """The choices.  Raises ``BadSpec`` where one would fetch or unpickle weights."""
    loading = [name for name in _LOADING if name in choices]
    if loading:
        raise BadSpec(f"{loading[0]} would load weights", where=where, hint="a model is weighed without their values")
    return choices


def _literal(text: str) -> Any:
    word = {"true": "True", "false": "False", "none": "None"}.get(text.lower(), text)
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _torchvision(name: str, choices: Mapping[str, Any], batch: int) -> _Recipe:
    models = library("torchvision.models")
    known = models.list_models()
    if name not in known:
        raise _unknown("torchvision", name, known)
    builder = models.get_model_builder(name)
    takes = inspect.signature(builder).parameters
    without: dict[str, Any] = {option: None for option in ("weights", "weights_backbone") if option in takes}
    if name.removeprefix("quantized_") in ("googlenet", "inception_v3"):
        without["init_weights"] = False  # values that nobody reads, and a warning about them
    family = next((part for part in builder.__module__.split(".")[2:-1] if part in _SIDES), "")
    weights = models.get_model_weights(name)

    def inputs(module: Any) -> Arguments:
        image = (*_sides(module, weights, family),)
        if family == _DETECTION:
            return ([TensorSpec((3, *image))] * batch,), {}
        if family == _VIDEO:
            return (TensorSpec((batch, 3, _FRAMES, *image)),), {}
        return (TensorSpec((batch, 3, *image)),) * (2 if family == _FLOW else 1), {}

    # The detectors decide by values, so they are run with some.
    return _Recipe(lambda: builder(**{**without, **choices}), name, inputs, on_meta=family != _DETECTION)


def _sides(module: Any, weights: Any, family: str) -> tuple[int, int]:
    """Height and width: of the module where it has them, else the smallest that its weights were evaluated at."""
    own = getattr(module, "image_size", None)
    if isinstance(own, int):
        return own, own
    sizes = []
    for entry in weights:
        preset = getattr(entry.transforms, "keywords", {})
        crop = preset.get("crop_size")
        if crop is not None:
            sizes.append((crop, crop) if isinstance(crop, int) else tuple(crop))
    return min(sizes) if sizes else _SIDES.get(family, (224, 224))


def _timm(name: str, choices: Mapping[str, Any], batch: int) -> _Recipe:
    timm = library("timm")
    if not timm.is_model(name):
        raise _unknown("timm", name, timm.list_models())

    def inputs(module: Any) -> Arguments:
        channels, *image = tuple(getattr(module, "pretrained_cfg", {}).get("input_size") or (3, 224, 224))
        wanted = choices.get("img_size")
        if wanted is not None:
            image = [wanted, wanted] if isinstance(wanted, int) else list(wanted)
        return (TensorSpec((batch, choices.get("in_chans", channels), *image)),), {}

    return _Recipe(lambda: timm.create_model(name, pretrained=False, **choices), name, inputs)


def _unknown(scheme: str, name: str, known: Sequence[str]) -> BadSpec:
    near = get_close_matches(name.lower(), known, 3, 0.5)
    meant = f"did you mean {', '.join(f'{scheme}:{one}' for one in near)}?" if near else ""
    return BadSpec(f"{scheme} has no model {name!r}", hint=meant or f"{scheme}.list_models() lists them")


def _made(recipe: _Recipe, where: str) -> tuple[Any, bool]:
    """The module in evaluation mode, and whether it is on the meta device."""
    torch = library("torch")
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        if recipe.on_meta:
            try:
                with torch.device("meta"):
                    return recipe.make().eval(), True
            except Exception as error:
                if not recipe.may_be_real:
                    raise _unbuilt(error, where) from None
        try:
            return recipe.make().eval(), False
        except Exception as error:
            raise _unbuilt(error, where) from None


def _unbuilt(error: Exception, where: str) -> BadSpec:
    first = next(iter(str(error).strip().splitlines()), "")
    hint = (
        "check the parameters behind the colon" if isinstance(error, TypeError) else "build it in Python and weigh that"
    )
    return BadSpec(f"cannot be built: {type(error).__name__}: {first}", where=where, hint=hint)


def library(name: str) -> Any:
    """The module ``name`` of a library.  Raises ``MissingExtra`` where it is not installed, or cannot be imported."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except (ImportError, OSError) as error:
        what = f"{package} is not installed"
        if getattr(error, "name", None) != package:
            what = f"{package} cannot be imported ({next(iter(str(error).splitlines()), '')})"
        extra = "" if package == "torch" else f" {package}"
        raise MissingExtra(what, hint=f'pip install "weighbridge[torch]"{extra}') from None


@contextmanager
def _silent() -> Iterator[None]:
    """While this lasts nothing below an error is logged: what a library says of its parts is no answer to the user."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def offline() -> Iterator[None]:
    """While this lasts, the thread that entered it reaches no network, and Hugging Face's libraries know that."""
    thread, resolve = threading.get_ident(), socket.getaddrinfo

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            raise OSError("a model is built without a network: nothing is downloaded")
        return resolve(*args, **kwargs)

    hub = sys.modules.get("huggingface_hub.constants")
    was = getattr(hub, "HF_HUB_OFFLINE", None)
    socket.getaddrinfo = refuse
    if hub is not None:
        hub.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        socket.getaddrinfo = resolve
        if hub is not None:
            hub.HF_HUB_OFFLINE = was  # type: ignore[attr-defined]
