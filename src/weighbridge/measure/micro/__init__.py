"""Micro-benchmarks: single operators in a runtime, and how fast a machine multiplies matrices and moves bytes."""
