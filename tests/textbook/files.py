"""Network files for the tests."""

from __future__ import annotations

TOP = """
name = "net"
source = "a test"
inputs = [{ name = "x", shape = [1, 3, 8, 8] }]
"""


def layers(*lines: str, more: str = "", top: str = TOP) -> str:
    return top + "layers = [\n" + "".join(f"  {{ {line} }},\n" for line in lines) + "]\n" + more


BLOCKS = """
[blocks.residual]
parameters = ["out"]
defaults = { kernel = "size", norm = true }
let.half = "out // 2"
layers = [
  { name = "a", op = "conv", out = "half", kernel = "kernel", padding = "kernel // 2", bias = false },
  { name = "norm", op = "batch_norm", when = "norm" },
  { name = "b", block = "pointwise", out = "out" },
  { name = "skip", block = "pointwise", from = "input", out = "out", when = "in_channels != out" },
  { name = "add", op = "add", from = ["b", "skip"] },
]

[blocks.pointwise]
parameters = ["out"]
layers = [{ name = "conv", op = "conv", out = "out", kernel = 1, bias = false }]

[blocks.join]
inputs = ["left", "right"]
layers = [
  { name = "concat", op = "concat", from = ["left", "right"], axis = 1 },
  { name = "mix", block = "pointwise", out = "in_channels" },
]
"""
PARAMETERS = TOP + "parameters.size = 3\nparameters.wide = { default = false }\nparameters.width = 1.0\n"
