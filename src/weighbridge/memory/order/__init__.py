"""Other orders of execution: the one with the smallest peak."""

from weighbridge.memory.order.search import MOST_STATES, UNKNOWN_SIZES, Ordering, is_random, least_peak

__all__ = ["MOST_STATES", "UNKNOWN_SIZES", "Ordering", "is_random", "least_peak"]
