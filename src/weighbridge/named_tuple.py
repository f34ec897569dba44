"""Named tuples that cost little to define.

``typing.NamedTuple`` compiles each annotation of a class when it is defined, which for the hundred records that a report takes is
some hundredths of the whole command (3 to 9 % as measured).  This one leaves annotations the text that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    _MADE = frozenset({"__annotations__", "__classcell__", "__dict__", "__module__", "__qualname__", "__weakref__"})

    class _Defining(type):
        """Makes a named tuple of a class whose annotations are its fields, with its defaults and methods."""

        def __new__(cls, name, bases, members):
            fields = members["__annotations__"]  # text, so only under the future import of annotations
            defaults = [members.pop(field) for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members["__module__"])
            made.__annotations__ = fields
            made.__qualname__ = members["__qualname__"]
            for key, value in members.items():
                if key not in _MADE:
                    setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Defining, "NamedTuple", (), {})
