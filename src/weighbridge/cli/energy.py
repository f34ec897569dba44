"""Carries out ``weighbridge energy``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from weighbridge.calculators.energies import energies
from weighbridge.cli.output import look_of, show_lines, write
from weighbridge.cli.targets import STDOUT, check_targets, inputs_of
from weighbridge.devices.catalogue import energy_names, find_energy
from weighbridge.report.energy_page import energy_lines

__all__ = ["show_energy"]


def show_energy(name_or_path: str | None, to: str | None) -> int:
    """Show a table of energies with its ratios, or every table of the catalogue; as JSON where ``to`` names a place.

    Raises ``BadSpec`` for a table that does not exist or has faults, and for a place that cannot be written to.
    """
    check_targets([to], inputs_of(energy=name_or_path))
    wanted = energy_names() if name_or_path is None else (name_or_path,)
    found = [energies(find_energy(name)) for name in wanted]
    if to is not None:
        plain = [one.to_dict() for one in found]
        text = json.dumps(plain if name_or_path is None else plain[0], indent=1, allow_nan=False)
        write(f"{text}\n", None if to == STDOUT else Path(to))
        return 0
    look = look_of(sys.stdout)
    for one in found:
        show_lines(energy_lines(one, look), look)
    return 0
