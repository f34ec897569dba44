"""The entry point: runs the command, and turns whatever goes wrong into one line and an exit code.

Nothing heavy is imported before ``run`` has its handlers up, so that Ctrl-C never shows a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Final

__all__ = ["BAD_INPUT", "BROKEN_PIPE", "INTERRUPTED", "discard_output", "main", "run"]

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
"""As a shell reports a process that Ctrl-C ended."""
BROKEN_PIPE: Final = 141
"""As a shell reports a process whose reader went away."""


def run() -> None:
    """The ``weighbridge`` command."""
    # One report is built and the process ends: the collector would only walk the growing graph again and again.
    gc.disable()
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the command with ``arguments`` and return its exit code.

    0 fine; 1 does not fit where ``--require-fit``; 2 bad input or usage; 3 not exact where ``--strict``; 130 and 141 as
    shells report Ctrl-C and a closed pipe.  ``WEIGHBRIDGE_DEBUG=1`` lets the traceback of an internal error through.
    """
    if sys.stdout is None:
        return _say("error: the standard output is closed", BAD_INPUT)
    try:
        _accept_any_terminal()
        from weighbridge.cli.app import execute

        code = execute(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    except OSError as error:
        discard_output()
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"error: {where}{error.strerror or error}", BAD_INPUT)
    except Exception as error:
        return _failed(error)
    return code


def _failed(error: Exception) -> int:
    from weighbridge.errors import WeighbridgeError, internal

    if isinstance(error, WeighbridgeError):
        return _say(f"error: {error}", BAD_INPUT)
    if os.environ.get("WEIGHBRIDGE_DEBUG") == "1":
        raise error
    return _say(internal(error), BAD_INPUT)


def _say(message: str, code: int) -> int:
    with suppress(OSError, AttributeError):  # standard error may be closed, too
        sys.stderr.write(f"weighbridge: {message}\n")
    return code


def _accept_any_terminal() -> None:
    """A character that the terminal's encoding lacks is escaped, not fatal."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Point standard output, which cannot be written, at nothing, or the interpreter complains when it flushes at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
