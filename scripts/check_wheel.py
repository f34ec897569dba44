"""Builds the wheel and uses it as installed: the data files are in it, the tests are not, and it runs outside the repository."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
USE = """
import weighbridge
from weighbridge.devices.catalogue import find, names
assert weighbridge.__file__.startswith({folder!r}), weighbridge.__file__
for name in names():
    find(name)
assert weighbridge.weigh("alexnet", on=["stm32f746"]).facts.macs == 724406816
"""


def main() -> int:
    """0 if the wheel is complete and works; what is wrong goes to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        run("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        packed = set(zipfile.ZipFile(wheel).namelist())
        faults = faults_of(packed)
        run("-m", "pip", "install", "--quiet", "--no-deps", "--target", f"{folder}/site", str(wheel))
        run("-c", USE.format(folder=f"{folder}/site"), folder=folder, path=f"{folder}/site")
    for fault in faults:
        sys.stderr.write(f"{wheel.name}: {fault}\n")
    return 1 if faults else 0


def faults_of(packed: set[str]) -> list[str]:
    """Files of the package that the wheel lacks, and files that it should not have."""
    source = ROOT / "src"
    files = (path.relative_to(source) for path in source.rglob("*") if path.is_file())
    wanted = {str(path) for path in files if not any(part.startswith((".", "__pycache__")) for part in path.parts)}
    lacking = [f"lacks {name}" for name in sorted(wanted - packed)]
    extra = [f"holds {name}" for name in sorted(packed - wanted) if ".dist-info/" not in name]
    licence = [] if any(name.endswith("licenses/LICENSE") for name in packed) else ["lacks the licence"]
    return lacking + extra + licence


def run(*arguments: str, folder: str | None = None, path: str = "") -> None:
    """Run this Python with ``arguments``, quietly unless it fails."""
    environment = {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)[:120]} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
