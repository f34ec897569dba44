"""What a network would be with something changed: each pass takes a ``Graph`` and returns a new one, and they can follow each
other.  ``language`` reads changes as they are written, ``applied`` carries them out.
"""
