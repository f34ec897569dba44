"""Transformers' models from their ``config.json``: the architecture that the file names, without weights.

The file is read here and handed to the library's own classes, so nothing is looked up by name anywhere else: no download,
no code that comes with a model, no kernels from a hub.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import BadSpec, NeedsShape

from .torch_inputs import Arguments, TensorSpec, needs_inputs

__all__ = ["recipe_parts"]

_MAX_BYTES: Final = 16 << 20
_REPEATED: Final = re.compile(r"(layers?|depths?|blocks|labels|experts|stages)$")
_MOST_REPEATED: Final = 100_000
"""The library makes an object for each layer or label, so that a config with a number of them that nobody means never ends."""
_CODE: Final = frozenset(
    {
        *("auto_map", "use_kernels", "attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
        *("experts_implementation", "_experts_implementation"),
    }
)
"""Keys that can name code outside the library; without them it chooses among its own."""


def recipe_parts(
    place: str, batch: int, sequence: int | None
) -> tuple[Callable[[], Any], str, Callable[[Any], Arguments], tuple[str, ...]]:
    """What makes the model, its name, what gives its inputs, and notes.  Raises ``BadSpec`` for a config that is none."""
    from .torch_sources import library

    path = Path(place)
    path = path / "config.json" if path.is_dir() else path
    data = _read(path)
    transformers = library("transformers")
    config = _config(transformers, data, path)
    make, name = _model(transformers, config, data, path)
    notes: tuple[str, ...] = ()
    if isinstance(data.get("quantization_config"), Mapping):
        notes = (
            "the quantization_config of the config is not applied: weights are weighed in the element type it names",
        )
    return make, name, lambda model: _inputs(model, batch, sequence, path.name), notes


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "name a local config.json, or its folder; nothing is downloaded"
        raise BadSpec(f"the config cannot be read ({reason})", where=str(path), hint=hint) from None
    if len(content) > _MAX_BYTES:
        raise BadSpec("this is too long for a config", where=str(path), hint="name the model's config.json")
    try:
        data = json.loads(content)
        repeated = list(_repetitions(data))
    except RecursionError:
        hint = "name the model's config.json"
        raise BadSpec("the config is nested too deeply", where=str(path), hint=hint) from None
    except ValueError as error:
        raise BadSpec(f"the config is no JSON: {error}", where=str(path), hint="name the model's config.json") from None
    if not isinstance(data, dict):
        raise BadSpec("a config is an object", where=str(path), hint="name the model's config.json")
    for name, number in repeated:
        if number > _MOST_REPEATED:
            what = f"{name} is {number:,}, and more than {_MOST_REPEATED:,} are not built"
            raise BadSpec(what, where=str(path), hint="check the config")
    return data


def _repetitions(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """The whole numbers that say how often something is made, by the key that they or the list around them have."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _repetitions(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _repetitions(item, name)
    elif isinstance(value, int) and _REPEATED.search(name):
        yield name, value


def _config(transformers: Any, data: Mapping[str, Any], path: Path) -> Any:
    kind = data.get("model_type")
    known = transformers.CONFIG_MAPPING
    if not isinstance(kind, str) or kind not in known:
        if kind is None:
            what, hint = (
                "the config has no model_type",
                "it says which architecture this is; name the model's config.json",
            )
        else:
            near = get_close_matches(str(kind), list(known.keys()), 1)
            what = f"transformers {transformers.__version__} has no model_type {kind!r}"
            hint = f"did you mean {near[0]}?" if near else "a newer transformers may have it"
        if "auto_map" in data:
            hint = "its code comes with the model and is never run: build it in Python and weigh that"
        raise BadSpec(what, where=str(path), hint=hint)
    try:
        return known[kind].from_dict(_without_code(data))
    except Exception as error:
        hint = f"it may be written for another version than transformers {transformers.__version__}"
        raise BadSpec(f"{kind} does not take this config: {_brief(error)}", where=str(path), hint=hint) from None


def _without_code(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_code(item) for key, item in value.items() if key not in _CODE}
    return [_without_code(item) for item in value] if isinstance(value, list) else value


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _model(transformers: Any, config: Any, data: Mapping[str, Any], path: Path) -> tuple[Callable[[], Any], str]:
    """What makes the model, and the name of its class."""
    named = data.get("architectures")
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else None
    if name is None:
        try:
            found = transformers.AutoModel._model_mapping[type(config)]  # noqa: SLF001 - no public way asks without building
        except KeyError:
            hint = 'add "architectures": ["…"] to the config'
            raise BadSpec(f"no class is known for {config.model_type}", where=str(path), hint=hint) from None
        found = found[0] if isinstance(found, Sequence) else found
    else:
        found = getattr(transformers, name, None)
        base = transformers.PreTrainedModel
        if not (inspect.isclass(found) and issubclass(found, base)):
            near = get_close_matches(
                name, [one for one in dir(transformers) if "For" in one or one.endswith("Model")], 1
            )
            hint = f"did you mean {near[0]}?" if near else "it is the class to build: LlamaForCausalLM"
            raise BadSpec(
                f"transformers {transformers.__version__} has no architecture {name!r}", where=str(path), hint=hint
            )
    return lambda: found._from_config(config), found.__name__  # noqa: SLF001 - what AutoModel.from_config calls


def _inputs(model: Any, batch: int, sequence: int | None, where: str) -> Arguments:
    """What the model's main input is, of the sizes that its config states.  Raises ``NeedsShape`` where it states none."""
    takes = inspect.signature(model.forward).parameters
    main = model.main_input_name
    names = [main] if isinstance(main, str) else list(main)
    if hasattr(model, "logit_scale") and "pixel_values" in takes and "input_ids" in takes:
        names = ["input_ids", "pixel_values"]  # two towers that are compared
    if getattr(model.config, "is_encoder_decoder", False) and "decoder_input_ids" in takes:
        names.append("decoder_input_ids")
    given = {}
    for name in names:
        shape = _shape(name, model.config, batch, sequence, where)
        if shape is None:
            raise _question(model, where)
        given[name] = shape
    if sequence is not None and not any(sequence in spec.shape[1:] for spec in given.values()):
        raise BadSpec(f"{type(model).__name__} has no sequence", where=where, hint="leave the sequence out")
    return (), given


def _shape(name: str, config: Any, batch: int, sequence: int | None, where: str) -> TensorSpec | None:
    if name in ("input_ids", "decoder_input_ids", "input_values"):
        if sequence is None:
            what = "samples" if name == "input_values" else "tokens"
            hint = "--sequence 128 on the command line, sequence=128 in Python"
            raise NeedsShape(f"the number of {what} is not given", where=where, hint=hint)
        return TensorSpec((batch, sequence), "float32" if name == "input_values" else "int64")
    if name == "pixel_values":
        vision = getattr(config, "vision_config", None) or config
        side = getattr(vision, "image_size", None)
        sides = (side, side) if isinstance(side, int) else side
        if isinstance(sides, list | tuple) and len(sides) == 2:
            return TensorSpec((batch, getattr(vision, "num_channels", 3), *sides))
    mels, frames = getattr(config, "num_mel_bins", None), getattr(config, "max_source_positions", None)
    if name == "input_features" and isinstance(mels, int) and isinstance(frames, int):
        return TensorSpec((batch, mels, 2 * frames))  # Whisper's encoder halves the frames once
    return None


def _question(model: Any, where: str) -> NeedsShape:
    found = needs_inputs(model.forward, f"{where}: {type(model).__name__}")
    return found or NeedsShape("the shapes of the inputs are not given", where=where, hint="give them with --input")
