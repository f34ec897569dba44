"""``python -m weighbridge``, where the ``weighbridge`` command is not on the path."""

from weighbridge.cli.main import run

if __name__ == "__main__":
    run()
