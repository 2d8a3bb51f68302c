"""The benchmark of A/B tests times three tools that agree."""

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "online_ab.py"


def test_the_tools_agree_and_have_a_row_each(benchmark: Any, tmp_path: Path) -> None:
    benchmark.write_units(tmp_path / "units.parquet", 2000)
    for kind in ("DuckDB", "Parquet"):
        assert benchmark.check_agreement(benchmark.open_table(tmp_path / "units.parquet", kind)) == []
    text, _ = benchmark.table_section(tmp_path / "units.parquet", "DuckDB", 1, 2000)
    assert [line.split(" | ")[0] for line in text.splitlines()[4:8]] == [f"| {n}" for n in benchmark.TOOLS]
