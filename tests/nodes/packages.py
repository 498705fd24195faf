"""Installed packages that a test makes up: a folder on the import path with metadata and modules, as pip leaves it."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def install(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    package: str,
    entry_points: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str],
) -> None:
    """`entry_points`: group to name to `module:attribute`; `modules`: name to source."""
    place = folder / package
    metadata = place / f"{package}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [
        line
        for group, entries in entry_points.items()
        for line in [f"[{group}]", *(f"{k} = {v}" for k, v in entries.items())]
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    for name, source in modules.items():
        (place / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(place)
