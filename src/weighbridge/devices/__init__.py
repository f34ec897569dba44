"""Processors as data: what their data sheets say, and how far each figure can be trusted."""
