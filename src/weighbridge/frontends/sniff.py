"""What a file is, by its first bytes, whatever its name says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from weighbridge.errors import BadModel, UnsupportedFormat

__all__ = ["FORMATS", "expect", "identify"]

FORMATS = {
    "onnx": "an ONNX model",
    "tflite": "a TensorFlow Lite model",
    "pt2": "an exported PyTorch program",
    "torchscript": "a TorchScript archive",
    "torch": "a PyTorch archive of pickles",
    "keras": "a Keras model",
    "hdf5": "an HDF5 file",
    "savedmodel": "a TensorFlow SavedModel",
    "gguf": "a GGUF file",
    "ggml": "a GGML file",
    "safetensors": "a safetensors file",
    "numpy": "a NumPy array",
    "npz": "a NumPy archive",
    "zip": "a zip archive",
    "tar": "a tar archive",
    "gzip": "a gzip file",
    "bzip2": "a bzip2 file",
    "xz": "an xz file",
    "zstd": "a zstd file",
    "7z": "a 7z archive",
    "pickle": "a Python pickle",
    "json": "JSON text",
    "html": "an HTML page",
    "xml": "XML text",
    "toml": "TOML text",
    "text": "plain text",
    "executable": "a program or library",
    "apple-double": "a resource file of macOS",
    "unknown": "of no format known here",
}
"""Every name that ``identify`` returns, in words that follow "this is"."""

_MAGICS = (
    (0, b"GGUF", "gguf"),
    (0, b"ggml", "ggml"),
    (0, b"lmgg", "ggml"),
    (0, b"\x89HDF\r\n\x1a\n", "hdf5"),
    (0, b"\x93NUMPY", "numpy"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (0, b"\x7fELF", "executable"),
    (0, b"MZ\x90\0", "executable"),
    (0, b"\xcf\xfa\xed\xfe", "executable"),
    (0, b"\0\x05\x16\x07", "apple-double"),
    (257, b"ustar", "tar"),
    (4, b"TFL3", "tflite"),
)
_EXPORT_TORCH = (
    'export it: torch.export.save(torch.export.export(model, args), "model.pt2"), or weigh the code that builds it: '
    "path.py:factory"
)
_EXPORT_KERAS = "convert it to TensorFlow Lite (tf.lite.TFLiteConverter) or ONNX (tf2onnx) and weigh that"
_EXPORT = "name an ONNX or TensorFlow Lite file, or export the model to one of these"
_HINTS = {
    "gzip": "unpack it first",
    "bzip2": "unpack it first",
    "xz": "unpack it first",
    "zstd": "unpack it first",
    "7z": "unpack it first",
    "zip": "unpack it first",
    "tar": "unpack it first",
    "html": "a download page was saved instead of the model: fetch the file itself",
    "apple-double": "the model is the file without the leading '._'",
    "pt2": "weigh it as it is",
    "torchscript": f"it holds pickles, which can run code, and is never opened here: {_EXPORT_TORCH}",
    "torch": f"a pickle can run code and is never opened here: {_EXPORT_TORCH}",
    "keras": _EXPORT_KERAS,
    "hdf5": _EXPORT_KERAS,
    "savedmodel": _EXPORT_KERAS,
    "safetensors": "it holds weights and no graph: export the model to ONNX, TensorFlow Lite, or by torch.export",
    "pickle": f"a pickle can run code and is never opened here: {_EXPORT_TORCH}",
}
_ONNX_STARTS = frozenset({0x08, 0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72})
"""First bytes of a serialised ModelProto: one of its fields 1 to 8 or 14, with the wire type it must have."""
_TEXT_STARTS = (("<!doctype html", "html"), ("<html", "html"), ("<", "xml"), ("{", "json"), ("[", "json"))
_HEAD_BYTES = 4096


def identify(path: Path | str) -> str:
    """The format of the file (or SavedModel folder) at ``path``: a key of ``FORMATS``.

    A file of no known content has the format that its suffix claims, if it is one that cannot be told by content.
    Raises ``BadModel`` where there is nothing to look at: a path that does not exist, a folder, an empty or unreadable
    file, a Git LFS pointer.
    """
    path = Path(path)
    head = _head(path)
    if isinstance(head, str):
        return head
    if path.name == "saved_model.pb":
        return "savedmodel"
    return _archive(path, head) or _by_content(head, path.suffix.lower())


def expect(path: Path | str, wanted: str) -> None:
    """Raises ``UnsupportedFormat`` where the file at ``path`` is of another format than ``wanted``; else as ``identify``."""
    path = Path(path)
    found = identify(path)
    if found not in (wanted, "unknown"):
        hint = _HINTS.get(found, _EXPORT)
        raise UnsupportedFormat(f"this is {FORMATS[found]}, not {FORMATS[wanted]}", where=path.name, hint=hint)


def _head(path: Path) -> bytes | str:
    """The first bytes of a file; a format where the path alone decides."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            if (path / "saved_model.pb").is_file():
                return "savedmodel"
            raise BadModel("this is a folder", where=str(path), hint="name the model file inside it")
        if not stat.S_ISREG(mode):
            raise BadModel("this is no regular file", where=str(path), hint="name a model file on a disk")
        with path.open("rb", buffering=0) as file:
            head: bytes = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise BadModel("there is no such file", where=str(path), hint="check the path") from None
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise BadModel(
            f"the file cannot be read ({reason})", where=str(path), hint="check the path and its permissions"
        ) from None
    if not head:
        raise BadModel("the file is empty", where=path.name, hint="download or export it again")
    if head.startswith(b"version https://git-lfs"):
        what = "this is a Git LFS pointer, not the file it points to"
        raise BadModel(what, where=path.name, hint="run `git lfs pull` in its repository")
    return head


def _by_content(head: bytes, suffix: str) -> str:
    for offset, magic, name in _MAGICS:
        if head.startswith(magic, offset):
            return name
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(head, suffix)
    if head[0] == 0x80 and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pickle"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32:
        return "safetensors"
    return _text(head, suffix) or ("onnx" if suffix == ".onnx" or head[0] in _ONNX_STARTS else "unknown")


_SUFFIXES = {".pt2": "pt2", ".pt": "torch", ".pth": "torch", ".ptl": "torchscript"}
_FIRST_ENTRIES = {
    b"constants.pkl": "torchscript",
    b"data.pkl": "torch",
    b"archive_format": "pt2",
    b"byteorder": "torch",
}


def _archive(path: Path, head: bytes) -> str:
    """A zip archive by the names of all its entries; "" where they do not tell.

    PyTorch writes its archives as one folder: an exported program has archive_format in it (up to PyTorch 2.7 it was no
    folder), TorchScript its code and constants.pkl, and torch.save no more than data.pkl beside the tensors.
    """
    if not head.startswith(b"PK"):
        return ""
    from weighbridge.frontends.zip_entries import entry_names

    names = entry_names(path)
    inner = {name.partition("/")[2] for name in names}
    if "archive_format" in inner or "serialized_exported_program.json" in names:
        return "pt2"
    if "constants.pkl" in inner or any(name.startswith("code/") for name in inner):
        return "torchscript"
    return "torch" if "data.pkl" in inner else ""


def _zip(head: bytes, suffix: str) -> str:
    """A zip archive by the names of its first entries, where it has been cut short, and by its suffix."""
    if b".npy" in head[:256]:
        return "npz"
    if suffix == ".keras" or (b"metadata.json" in head[:64] and b"keras" in head):
        return "keras"
    found = next((kind for name, kind in _FIRST_ENTRIES.items() if name in head), "zip")
    return _SUFFIXES.get(suffix, found)


def _text(head: bytes, suffix: str) -> str:
    """A text format, or the empty string for what is no text."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character of what was read may be cut in half.
        text = head[: error.start].decode("utf-8") if error.start > _HEAD_BYTES - 4 else "\0"
    if any(character < " " and character not in "\t\n\r\f" for character in text):
        return ""
    if suffix == ".toml":
        return "toml"
    start = text.lstrip("\ufeff \t\r\n").lower()
    for opening, name in _TEXT_STARTS:
        if start.startswith(opening):
            return name
    return "text"
