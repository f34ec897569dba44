"""Writes the saved report of a generated decoder: ``html_models.py decoder_91 PATH``, of 11 nodes a block and three more."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.browser.decoder import decoder
from weighbridge import weigh

if __name__ == "__main__":
    made = weigh(decoder(int(sys.argv[1].rpartition("_")[2])), on=["jetson-agx-orin"], precision="fp16")
    Path(sys.argv[2]).write_text(made.to_json())
