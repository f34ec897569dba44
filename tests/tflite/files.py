"""The shared TensorFlow Lite files, by their name below the folder."""

from __future__ import annotations

from pathlib import Path


def tflite_files(shared: Path) -> dict[str, Path]:
    """All shared TensorFlow Lite models, whatever their endings: ``folder/name``."""
    root = shared / "data" / "tflite"
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
