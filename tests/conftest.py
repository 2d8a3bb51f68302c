"""What all tests share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"the sets in {SHARED} are not here")
    return SHARED
