"""ONNX's generated protobuf classes, without the rest of the ``onnx`` package.

``import onnx`` loads numpy and a C++ extension, four times the cost of the classes alone; and its C++ code never runs on a
user's file here.  So ``onnx/onnx_ml_pb2.py`` is executed by its location.  protobuf hands out one class per message type
however often a generated file is executed, so a later ``import onnx`` gets the same classes.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from weighbridge.errors import BadModel, MissingExtra

__all__ = ["parse"]

_INSTALL = 'pip install "weighbridge[onnx]"'


def parse(data: bytes) -> Any:
    """The ModelProto that ``data`` holds.

    Raises ``BadModel`` where it is none, and ``MissingExtra`` where onnx is not installed.
    """
    model_proto = _model_class()
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]

    try:
        return model_proto.FromString(data)
    except (DecodeError, RecursionError, ValueError):
        # ValueError and RecursionError: protobuf's pure Python implementation.
        hint = "the file is damaged, or it is no ONNX model"
        raise BadModel("the messages inside do not parse, or are nested too deep", hint=hint) from None


@cache
def _model_class() -> Any:
    loaded = sys.modules.get("onnx")
    if loaded is not None and hasattr(loaded, "ModelProto"):
        return loaded.ModelProto
    from importlib.util import find_spec

    try:
        spec = find_spec("onnx")
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtra("reading ONNX files needs the onnx package", hint=_INSTALL)
        for folder in spec.submodule_search_locations:
            generated = Path(folder, "onnx_ml_pb2.py")
            if generated.is_file():
                return _execute(generated)
        import onnx
    except ImportError as error:
        raise MissingExtra(f"the onnx package does not load ({error})", hint=_INSTALL) from None
    return onnx.ModelProto


def _execute(generated: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("weighbridge.frontends.onnx_ml_pb2", generated)
    if spec is None or spec.loader is None:
        raise ImportError(f"{generated} is not a module")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelProto
