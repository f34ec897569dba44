"""Small graphs with counts worked out by hand, kept beside the repository."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from weighbridge import weigh
from weighbridge.errors import NeedsShape


@pytest.fixture(scope="module")
def cases(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("onnx_cases", shared / "cases" / "onnx_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_case_is_exact(cases: ModuleType, tmp_path: Path) -> None:
    assert len(cases.CASES) == 15
    found = {}
    for name, (build, _, _) in cases.CASES.items():
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(build().SerializeToString())
        facts = weigh(path).facts
        assert facts.exact, name
        found[name] = (facts.macs, facts.parameters)
    assert found == {name: (macs, parameters) for name, (_, macs, parameters) in cases.CASES.items()}


def test_a_dynamic_batch_is_a_question(cases: ModuleType, tmp_path: Path) -> None:
    build, macs, parameters = cases.DYNAMIC_BATCH
    path = tmp_path / "dynamic.onnx"
    path.write_bytes(build().SerializeToString())
    with pytest.raises(NeedsShape, match=r"dimension 0 \(N\) of the input 'x'.*--batch 4"):
        weigh(path)
    facts = weigh(path, batch=4).facts
    assert (facts.macs, facts.parameters, facts.exact) == (4 * macs, parameters, True)
