from __future__ import annotations

from collections.abc import Callable

import pytest

from weighbridge.frontends.from_toml import load_toml
from weighbridge.graph import Graph


@pytest.fixture
def load(tmp_path) -> Callable[..., Graph]:
    """Loads the text of a network file."""

    def load(text: str | bytes, **parameters: object) -> Graph:
        path = tmp_path / "net.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_toml(path, parameters)

    return load
