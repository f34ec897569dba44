"""The arena of TensorFlow Lite Micro for every shared file, compared with its interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip(
    "tflite_micro", reason="the interpreter of TensorFlow Lite Micro is built for Linux on x86-64 and no other machine"
)

from tests.tflite.interpreter import load
from tests.tflite.tflm_planned import taken
from weighbridge.errors import BadModel


def test_every_shared_file_takes_what_the_interpreter_takes(shared: Path) -> None:
    """A file that the interpreter refuses is refused; a file that kills it is damaged."""
    root = shared / "data" / "tflite"
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    accepted, different = 0, []
    for path, loaded in zip(paths, load(paths), strict=True):
        accepted += loaded.head is not None
        try:
            ours = taken(path)[:2]
        except BadModel:
            ours = None, 0
        if ours != (loaded.head, loaded.tail):
            different.append(f"{path.name}: {ours} instead of {loaded.head}, {loaded.tail}: {loaded.said[:300]}")
    assert different == []
    assert (accepted, len(paths)) == (116, 166)
