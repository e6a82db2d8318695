"""Where the tests find the repository and their data."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
DATA = TEST / "data"


def test_file(name: str) -> Path:
    """A file of tests by its name, which occurs once below test/."""
    (path,) = TEST.rglob(name)
    return path


test_file.__test__ = False  # not a test
