"""Comparisons of reports and of published rows, made by hand."""

from __future__ import annotations

from fractions import Fraction

from weighbridge.published import Conditions, Published
from weighbridge.report import Report
from weighbridge.report.comparison import Comparison, Model, comparison_of

__all__ = ["EFFICIENTVIT", "ORIN", "SEGFORMER", "published", "side_by_side"]

ORIN = Conditions("Jetson AGX Orin", "TensorRT", "fp16", 1)


def side_by_side(*reports: Report, fps: Fraction | None = None) -> Comparison:
    """Models A, B, C …"""
    return comparison_of([Model("ABCDE"[place], "", one) for place, one in enumerate(reports)], tool="t", fps=fps)


def published(name: str, **changes: object) -> Model:
    made = Published(name, name.title(), "a paper", "a picture", Fraction(100), None, Fraction("0.1"), None, ORIN)
    return Model(f"published:{name}", f"published:{name}", None, made._replace(**changes))


SEGFORMER = published("segformer_b5", macs=Fraction(1460 * 10**9), latency_s=Fraction("0.638"))
EFFICIENTVIT = published("efficientvit_l1", macs=Fraction(282 * 10**9), latency_s=Fraction("0.0459"))
