"""Rewrites of a graph: each takes a ``Graph`` and returns a new one, and leaves the old one as it is."""
