"""How much memory the values of a running network need: lifetimes, and peaks by policy.

| policy | alive while a node runs |
|---|---|
| ``pair`` | its own inputs and outputs |
| ``live`` | everything still to be read: an input until its last reader, an output to the end; residuals count, a shared input once |
| ``held`` | ``live``, and the input of each enclosing block (a module with parts and a computation of its own; not the root) |
| ``held_contractions`` | ``held``, looked at in convolutions and linear layers only |
| ``…_in_place`` | as before, but results overwrite operands that die: elementwise, and depthwise with one channel kept apart |
| ``eager`` | what the framework that ran the model held, by its record; only where there is one |
| ``arena_tflm`` | what has an offset then, as TensorFlow Lite Micro's greedy planner packs it: the peak is the highest end |
| ``nhcwb16_vela`` | what Arm's Vela keeps in an Ethos-U's SRAM: maps in bricks of 16 channels, results over operands that die |

Stored tensors (parameters, buffers, constants) are not in these figures, and neither is what is computed from them alone;
a record has the latter.
"""

from weighbridge.memory.plan import plan, plan_of_values
from weighbridge.memory.records import (
    ARENA,
    IN_PLACE,
    NHCWB16,
    POLICIES,
    ArenaPlan,
    MemoryPlan,
    PlacedBuffer,
    TensorSpan,
)
from weighbridge.memory.requests import SCRATCH

__all__ = [
    "ARENA",
    "IN_PLACE",
    "NHCWB16",
    "POLICIES",
    "SCRATCH",
    "ArenaPlan",
    "MemoryPlan",
    "PlacedBuffer",
    "TensorSpan",
    "plan",
    "plan_of_values",
]
