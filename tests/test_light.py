"""Importing assay and showing help load no heavy library."""

import subprocess
import sys

HEAVY = ("numpy", "polars", "pandas", "pyarrow", "scipy", "sklearn", "duckdb", "zstandard")


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after running some code."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*set(sys.modules) - before, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def heavy(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules} & set(HEAVY)


def test_importing_assay_loads_nothing_but_itself() -> None:
    ours = {name for name in loaded_by("import assay") if name.startswith("assay")}
    assert ours == {"assay"}


def test_importing_assay_loads_no_heavy_library() -> None:
    assert heavy(loaded_by("import assay")) == set()


def test_help_loads_no_heavy_library() -> None:
    assert heavy(loaded_by("from assay.cli import call\ncall(['--help'])")) == set()


def test_version_loads_no_heavy_library() -> None:
    assert heavy(loaded_by("from assay.cli import call\ncall(['--version'])")) == set()


def test_scoring_a_small_file_loads_numpy_and_no_other_heavy_library(tmp_path: object) -> None:
    code = (
        "import pathlib\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "(folder / 'qrels').write_text('q 0 a 1\\n')\n"
        "(folder / 'run').write_text('q Q0 a 1 0.5 t\\n')\n"
        "from assay.cli import call as run\n"
        "assert run(['eval', str(folder / 'qrels'), str(folder / 'run')]) == 0"
    )
    assert heavy(loaded_by(code)) == {"numpy"}


def test_the_client_of_events_loads_no_heavy_library() -> None:
    assert heavy(loaded_by("import assay.online.telemetry")) == set()


def test_every_public_name_can_be_imported() -> None:
    import assay

    assert {"Qrels", "Run", "Scores", "evaluate", "read", "write", "nDCG", "R", "P", "RR", "AP"} <= set(
        dir(assay)
    )
    assert all(getattr(assay, name) is not None for name in dir(assay))


def test_an_unknown_name_is_an_attribute_error() -> None:
    import assay

    assert not hasattr(assay, "nothing_of_the_kind")
