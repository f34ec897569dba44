"""Patch-based inference: the first stage of a network, piece by piece."""
