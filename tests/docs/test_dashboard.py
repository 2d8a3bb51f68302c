"""The picture of the dashboard can be taken anew, and the README shows it."""

import struct
from pathlib import Path

from tests.docs.console import ROOT
from tests.docs.dashboard import PICTURE, SIZE, take_picture


def size_of(picture: Path) -> tuple[int, int]:
    """Return the width and the height of a PNG."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


def test_the_dashboard_of_the_demo_is_pictured(demo: Path, tmp_path: Path) -> None:
    take_picture(demo / "store", tmp_path / "new.png")
    for picture in (PICTURE, tmp_path / "new.png"):
        assert size_of(picture) == (SIZE["width"], SIZE["height"])
        assert picture.stat().st_size <= 250_000


def test_the_readme_shows_the_picture() -> None:
    assert "(docs/dashboard.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
