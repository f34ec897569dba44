"""Limits on what a network may cost: how they are written, what they are held against, and who is to blame."""
