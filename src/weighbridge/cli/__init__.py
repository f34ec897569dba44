"""The command line: a thin edge around the Python interface."""
