"""Importing this makes a page and throws it away: what a process does the first time it makes one is then done.

Templates are compiled, and the library of charts reads its schemas, when they are first used, which takes a third of the time of a
page.  Jobs run in processes that are forked from one that has made no page (``work``), so that each would do it anew: that
one imports this after everything else.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Final

from weighbridge.web.jobs import Order, report_page
from weighbridge.web.pages import around

__all__ = ["ORDER"]

ORDER: Final = Order("lenet5", on=("stm32f746",))
"""A small network, with the charts of a device."""

with suppress(Exception):  # a fault shows again in the job that meets it, and that has somebody to tell
    report_page(ORDER, around())
# All of this stays as long as the process: the collector of a fork that looked at it would copy it there.
gc.collect()
gc.freeze()
