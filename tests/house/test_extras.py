"""What an installation brings: no framework but the one that was asked for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
HEAVY = {"torch", "torchvision", "timm", "transformers", "onnxscript", "tensorflow", "jax"}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}


def test_the_core_and_onnx_stay_small() -> None:
    assert names(PROJECT["dependencies"]) == {"cattrs", "click", "rich"}
    assert names(EXTRAS["onnx"]) == {"onnx"}


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"torch", "test-torch"}))
def test_frameworks_are_asked_for_by_name(extra: str) -> None:
    assert not names(EXTRAS[extra]) & HEAVY


def test_the_tests_of_pytorch_have_exact_versions_of_what_they_compare_with() -> None:
    pins = {requirement for requirement in EXTRAS["test-torch"] if "==" in requirement}
    assert names(sorted(pins)) >= {"torch", "torchvision", "timm"}


def test_what_serves_the_app_draws_reports_and_reads_forms_too() -> None:
    serves, reads = {"jinja2", "starlette", "uvicorn"}, {"python-multipart", "tomli-w"}
    assert names(EXTRAS["web"]) == serves | reads | {"altair", "vl-convert-python"}
    assert set(EXTRAS["web"]) <= set(EXTRAS["test"])
