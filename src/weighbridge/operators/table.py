"""The operator table: every record, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .addressing import ADDRESSING_OPERATORS
from .attention import ATTENTION_OPERATORS
from .audio import AUDIO_OPERATORS
from .blocks import BLOCK_OPERATORS
from .classes import CLASS_OPERATORS
from .convolution import CONVOLUTION_OPERATORS
from .detection import DETECTION_OPERATORS
from .einsum import EINSUM_OPERATORS
from .elementwise import ELEMENTWISE_OPERATORS
from .embedding import EMBEDDING_OPERATORS
from .features import FEATURE_OPERATORS
from .forests import FOREST_OPERATORS
from .gathering import GATHERING_OPERATORS
from .generators import GENERATOR_OPERATORS
from .geometry import GEOMETRY_OPERATORS
from .gradients import GRADIENT_OPERATORS
from .hashing import HASHING_OPERATORS
from .linear import LINEAR_OPERATORS
from .linear_attention import LINEAR_ATTENTION_OPERATORS
from .losses import LOSS_OPERATORS
from .moves import MOVE_OPERATORS
from .normalisation import NORMALISATION_OPERATORS
from .packing import PACKING_OPERATORS
from .placing import PLACING_OPERATORS
from .pooling import POOLING_OPERATORS
from .quantisation import QUANTISATION_OPERATORS
from .record import Op
from .recurrent import RECURRENT_OPERATORS
from .reductions import REDUCTION_OPERATORS
from .sampling import SAMPLING_OPERATORS
from .segments import SEGMENT_OPERATORS
from .selection import SELECTION_OPERATORS
from .sequences import SEQUENCE_OPERATORS
from .signals import SIGNAL_OPERATORS
from .solving import SOLVING_OPERATORS
from .spectral import SPECTRAL_OPERATORS
from .stateful import STATEFUL_OPERATORS
from .text import TEXT_OPERATORS
from .training import TRAINING_OPERATORS
from .unary import UNARY_OPERATORS
from .variables import VARIABLE_OPERATORS
from .views import VIEW_OPERATORS
from .windows import WINDOW_OPERATORS

__all__ = ["OPERATORS"]

OPERATORS: Final[Mapping[str, Op]] = {
    op.name: op
    for family in (
        CONVOLUTION_OPERATORS,
        LINEAR_OPERATORS,
        EINSUM_OPERATORS,
        ATTENTION_OPERATORS,
        LINEAR_ATTENTION_OPERATORS,
        RECURRENT_OPERATORS,
        STATEFUL_OPERATORS,
        EMBEDDING_OPERATORS,
        POOLING_OPERATORS,
        UNARY_OPERATORS,
        ELEMENTWISE_OPERATORS,
        GEOMETRY_OPERATORS,
        VIEW_OPERATORS,
        MOVE_OPERATORS,
        BLOCK_OPERATORS,
        PACKING_OPERATORS,
        WINDOW_OPERATORS,
        REDUCTION_OPERATORS,
        NORMALISATION_OPERATORS,
        QUANTISATION_OPERATORS,
        GATHERING_OPERATORS,
        PLACING_OPERATORS,
        ADDRESSING_OPERATORS,
        GENERATOR_OPERATORS,
        SAMPLING_OPERATORS,
        SELECTION_OPERATORS,
        DETECTION_OPERATORS,
        SEGMENT_OPERATORS,
        HASHING_OPERATORS,
        SPECTRAL_OPERATORS,
        SIGNAL_OPERATORS,
        AUDIO_OPERATORS,
        SOLVING_OPERATORS,
        SEQUENCE_OPERATORS,
        TEXT_OPERATORS,
        LOSS_OPERATORS,
        GRADIENT_OPERATORS,
        FEATURE_OPERATORS,
        CLASS_OPERATORS,
        FOREST_OPERATORS,
        TRAINING_OPERATORS,
        VARIABLE_OPERATORS,
    )
    for op in family
}
