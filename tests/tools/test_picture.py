import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]


def words(picture: Path) -> str:
    root = ET.parse(picture).getroot()
    return " ".join(
        "".join(text.itertext()).replace("\xa0", " ") for text in root.iter() if text.tag.endswith("text")
    )


@pytest.mark.slow
def test_the_picture_of_the_readme_is_what_a_run_looks_like_today(tmp_path: Path) -> None:
    made = tmp_path / "run.svg"
    subprocess.run([sys.executable, ROOT / "tools" / "picture.py", made], check=True, timeout=60)
    for picture in (made, ROOT / "docs" / "images" / "run.svg"):
        shown = words(picture)
        for part in (
            "riven run order.yaml",
            "✓",
            "parcels",
            "of 12 items",
            "1 retrying",
            "approved or rejected:",
        ):
            assert part in shown, picture
