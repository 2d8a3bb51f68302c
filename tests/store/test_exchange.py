"""Experiments go out to CSV, SQL and JSON and come back as they were."""

import csv
import io
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.core.csv_rows import format_csv_row
from assay.core.errors import FormatError, InputError, StoreError
from assay.core.records import Experiment, Metric
from assay.store.exchange import (
    ImportCounts,
    export_csv,
    export_json,
    export_sql,
    import_csv,
    import_json,
    import_sql,
)
from assay.store.rows import GUIDE_COLUMNS, Column, ImportTable, column_name, column_of, from_rows, to_rows
from assay.store.store import Store
from tests.stores import experiment, scores

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.sampled_from(["16", "null", "NaN", " 1 ", '"a"', "[1]", "{}"]),
    st.lists(TEXTS, max_size=2),
)


def filled(folder: Path) -> Store:
    """A store with two unlike experiments."""
    store = Store(folder)
    store.put(experiment("hnsw", 0.4, tags=("nightly", "a, b"), note='two\nlines, "quoted"'), scores())
    own = (Metric("RR@10", "", "", 0.5), Metric("AP", "", "", 0.25), Metric("P@5", "", "", 0.2))
    others = (Metric("Robustness(delta=0.3)@10", "", "", 0.7), Metric("Mine@3", "", "", 7.0))
    settings = {"index_type": "flat", "embedding_model": "e5", "m": "16", "reranker": None, "k": [1, 2]}
    at = datetime(2026, 2, 1, 8, 30, 0, 5, tzinfo=UTC)
    store.put(Experiment("flat", at, configuration=settings, metrics=own + others, figures={"gb": 2}))
    return store


def lines(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def written(folder: Path, text: str) -> Path:
    path = folder / "given.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_columns_that_guides_use_come_first(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        head, rows = to_rows(store.list())
    assert tuple(head[:8]) == GUIDE_COLUMNS
    assert head[-5:] == ["name", "at", "code", "tags", "note"]
    assert {"map", "mrr_at_10", "precision_at_5", "Robustness(delta=0.3)@10", "metrics.Mine@3"} <= set(head)
    assert rows[1][1:8] == [None, "hnsw", 10, 0.5, 0.4, 12.5, 0.3]


def test_without_experiments_there_are_still_the_columns_of_the_guides() -> None:
    assert to_rows([]) == ([*GUIDE_COLUMNS, "name", "at", "code", "tags", "note"], [])


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("recall_at_10", "R@10"),
        ("ndcg_at_10", "nDCG@10"),
        ("mrr_at_5", "RR@5"),
        ("precision_at_3", "P@3"),
        ("map", "AP"),
        ("hit_rate_at_10", "Success@10"),
        ("nDCG(gain='exp')@10", "nDCG(gain='exp')@10"),
    ],
)
def test_a_column_named_for_a_measure_is_read(name: str, measure: str) -> None:
    assert column_of(name) == Column("metrics", measure)
    assert column_of(column_name(Column("metrics", measure))) == Column("metrics", measure)


def test_out_to_csv_and_in_and_out_again_gives_the_same_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    with filled(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        assert export_csv(a, first) == 2
        assert import_csv(b, first) == ImportCounts(2, 0)
        assert export_csv(b, second) == 2
        assert to_rows(a.list()) == to_rows(b.list())
    assert first.read_bytes() == second.read_bytes()


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(TEXTS.filter(bool), VALUES, max_size=4), st.lists(TEXTS.filter(bool), max_size=3))
@example({}, ["a\rb"])
def test_any_setting_and_tag_comes_back_as_it_was(configuration: dict[str, Any], tags: list[str]) -> None:
    given = Experiment("a", configuration=configuration, tags=tuple(dict.fromkeys(tags)), id="x")
    head, rows = to_rows([given])
    text = "\n".join(format_csv_row(["" if cell is None else str(cell) for cell in row]) for row in rows)
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for cells in (rows, read):
        assert (
            from_rows(ImportTable("file", head, list(enumerate(cells, 2)))).experiments[0].tags == given.tags
        )
    back = from_rows(ImportTable("file", head, list(enumerate(read, 2)))).experiments[0]
    assert back.configuration == configuration
    assert back.tags == given.tags
    assert to_rows([back]) == (head, rows)


def test_out_to_sql_and_in_and_out_again_gives_the_same_rows(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'out.db'}"
    with filled(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        assert export_sql(a, url) == 2
        assert import_sql(b, url) == ImportCounts(2, 0)
        assert to_rows(a.list()) == to_rows(b.list())
    with closing(sqlite3.connect(tmp_path / "out.db")) as database:
        best = database.execute("SELECT index_type, top_k FROM experiments WHERE recall_at_10 > 0.4")
        assert best.fetchall() == [("hnsw", 10)]


def test_postgresql_holds_the_same_table(tmp_path: Path, postgres: str) -> None:
    with filled(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        assert export_sql(a, postgres, "results") == 2
        assert export_sql(a, postgres, "results") == 2
        assert import_sql(b, postgres, "results") == ImportCounts(2, 0)
        assert to_rows(a.list()) == to_rows(b.list())


def test_a_name_that_a_database_cannot_hold_is_told(tmp_path: Path, postgres: str) -> None:
    with Store(tmp_path / "a") as store:
        store.put(experiment(configuration={"50% (new)": 1, "a:b": 2, 'q"q': 3}))
        assert export_sql(store, postgres) == 1
        store.put(experiment(configuration={"k" * 80: 1}))
        with pytest.raises(InputError, match=r"at most 63 bytes: 'params\.kkk"):
            export_sql(store, postgres)


def test_a_second_export_replaces_its_rows_and_adds_its_columns(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'out.db'}"
    with Store(tmp_path / "a") as store, closing(sqlite3.connect(tmp_path / "out.db")) as database:
        first = store.put(experiment())
        export_sql(store, url)
        store.annotate(first.id, note="seen")
        store.put(experiment("ivf", configuration={"50% (new)": 1}))
        export_sql(store, url)
        assert database.execute("SELECT count(*) FROM experiments").fetchone() == (2,)
        assert database.execute("SELECT note FROM experiments WHERE name = 'hnsw'").fetchone() == ("seen",)
        found = database.execute('SELECT "params.50% (new)" FROM experiments WHERE name = ?', ("ivf",))
        assert found.fetchone() == (1,)


def test_a_table_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store, pytest.raises(InputError, match="no column experiment_id"):
        export_sql(store, f"sqlite:///{tmp_path / 'a' / 'assay.db'}")


def test_a_text_does_not_go_into_a_column_of_numbers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'out.db'}"
    with Store(tmp_path / "a") as store:
        store.put(experiment())
        export_sql(store, url)
        store.put(experiment(configuration={"top_k": "all"}))
        with pytest.raises(InputError, match=r"'top_k' of 'experiments'.* found 'all'"):
            export_sql(store, url)


@pytest.mark.parametrize("url", ["nonsense", "nodb://x/y", "mysql+nothere://x/y"])
def test_a_url_that_names_no_database_is_refused(tmp_path: Path, url: str) -> None:
    with Store(tmp_path / "a") as store, pytest.raises(InputError, match=r"expected a URL|does not support"):
        export_sql(store, url)


def test_a_database_that_cannot_be_opened_is_told_in_one_line(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store, pytest.raises(StoreError, match="cannot be used: unable to open"):
        export_sql(store, f"sqlite:///{tmp_path / 'no' / 'such.db'}")


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store, pytest.raises(InputError, match="there is no table 'results'"):
        import_sql(store, f"sqlite:///{tmp_path / 'out.db'}", "results")


def test_a_filter_chooses_what_goes_out(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        assert export_csv(store, tmp_path / "some.csv", "params.index_type = 'hnsw'") == 1
        assert export_json(store, tmp_path / "some.jsonl", "metrics.nDCG@10 > 0.9") == 0
    assert [row[2] for row in lines(tmp_path / "some.csv")] == ["index_type", "hnsw"]


def test_what_is_there_already_is_skipped_and_counted(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        export_csv(store, tmp_path / "all.csv")
        store.drop("flat")
        assert import_csv(store, tmp_path / "all.csv") == ImportCounts(0, 2)


def test_a_table_of_the_guides_is_taken_in(tmp_path: Path) -> None:
    cells = "e1,ada-002,hnsw,10,0.85,0.75,120,0.12,512"
    path = written(tmp_path, f"\ufeff{','.join(GUIDE_COLUMNS)},chunk_size\n{cells}\n\n")
    with Store(tmp_path / "a") as store:
        assert import_csv(store, path) == ImportCounts(1, 0, ("chunk_size",))
        made = store.get("e1")
    assert (made.id, made.name, made.kind) == ("e1", "e1", "import")
    settings = {"embedding_model": "ada-002", "index_type": "hnsw", "top_k": 10, "chunk_size": 512}
    assert made.configuration == settings
    assert made.metrics == (Metric("R@10", "", "", 0.85), Metric("nDCG@10", "", "", 0.75))
    assert (made.latency, made.figures) == ({"p95_ms": 120.0}, {"cost_per_1k_queries": 0.12})


def test_a_long_id_is_kept_and_given_back(tmp_path: Path) -> None:
    given = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    path = written(tmp_path, f"experiment_id,recall_at_10\n{given},0.5\n")
    with Store(tmp_path / "a") as store:
        assert import_csv(store, path).added == 1
        assert import_csv(store, path) == ImportCounts(0, 1)
        assert store.get(given).metric("R@10") == Metric("R@10", "", "", 0.5)
        assert to_rows(store.list())[1][0][0] == given


def test_a_very_long_note_comes_back(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        a.put(experiment(note="x" * 200_000))
        export_csv(a, tmp_path / "all.csv")
        import_csv(b, tmp_path / "all.csv")
        assert len(b.get("hnsw").note) == 200_000


def test_a_time_of_creation_is_the_time(tmp_path: Path) -> None:
    path = written(tmp_path, "experiment_id,created_at\na,2026-01-31 12:00:00\n")
    with Store(tmp_path / "a") as store:
        import_csv(store, path)
        assert store.get("a").at == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_rows_without_an_id_come_in_once(tmp_path: Path) -> None:
    path = written(tmp_path, "name,recall_at_10\na,0.5\nb,0.5\n")
    with Store(tmp_path / "a") as store:
        assert import_csv(store, path) == ImportCounts(2, 0)
        assert import_csv(store, path) == ImportCounts(0, 2)


def test_all_bad_rows_are_told_at_once_and_nothing_comes_in(tmp_path: Path) -> None:
    head = "experiment_id,recall_at_10,latency_p95_ms,at,note"
    rows = ['a,85,-1,,"two\nlines"', "b,high,1,,", "c,0.5,1,noon,", "d,0.5", "e,0.5,1,,", "e,0.6,1,,"]
    path = written(tmp_path, "\n".join([head, *rows, ""]))
    with Store(tmp_path / "a") as store:
        with pytest.raises(FormatError) as told:
            import_csv(store, path)
        assert store.list() == []
    said = str(told.value).splitlines()
    assert said[0] == f"{path}: 5 rows cannot be read; nothing was imported"
    assert said[1] == (
        f"  {path}:2: recall_at_10 must be at least 0 and at most 1, found '85'; "
        "latency_p95_ms must be at least 0, found '-1'"
    )
    assert said[2] == f"  {path}:4: recall_at_10 must be a number, found 'high'"
    assert "5: at must be a time" in said[3]
    assert "6: expected 5 cells as in the header, found 2" in said[4]
    assert said[5] == f"  {path}:8: the same experiment as on line 7"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colour,size\nred,1\n", "expected columns such as experiment_id"),
        ("", "expected columns such as experiment_id.* found none"),
        ("recall_at_10,R@10\n0.1,0.2\n", "'recall_at_10' and 'R@10' mean the same"),
        ('name\n"a\n', "not valid CSV"),
    ],
)
def test_a_file_that_is_no_table_of_experiments_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, text)
    with Store(tmp_path / "a") as store, pytest.raises(FormatError, match=problem):
        import_csv(store, path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store, pytest.raises(InputError, match="cannot be read"):
        import_csv(store, tmp_path / "none.csv")


def test_json_lines_keep_the_whole_record(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        a.annotate("hnsw", pinned=True)
        assert export_json(a, tmp_path / "all.jsonl") == 2
        assert import_json(b, tmp_path / "all.jsonl") == ImportCounts(2, 0)
        assert import_json(b, tmp_path / "all.jsonl") == ImportCounts(0, 2)
        assert a.list() == b.list()
        assert b.get("hnsw").digests["scores"] == scores().digest


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Expecting property name"),
        ("[]", "expected an object with id and name"),
        ('{"id": "a", "name": "a", "nmae": 1}', "there is no field 'nmae'"),
        ('{"id": "a", "name": "a", "tags": "x"}', "tags must be a list"),
        ('{"id": "a", "name": "a", "at": "noon"}', "must be a time"),
        (
            '{"id": "a", "name": "a", "metrics": [{"measure": "AP"}]}',
            "expected a metric with measure, column",
        ),
        (
            '{"id": "a", "name": "a", "metrics": [{"measure": "AP", "column": "", "value_of": "", '
            '"value": "1"}]}',
            "numbers or null",
        ),
    ],
)
def test_a_bad_line_of_json_is_told_with_its_number(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text(f'{{"id": "ok", "name": "ok"}}\n{line}\n')
    with Store(tmp_path / "a") as store:
        with pytest.raises(FormatError, match=problem) as told:
            import_json(store, path)
        assert told.value.line == 2
        assert store.list() == []


def test_an_import_keeps_the_times_and_their_order(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        for hour in range(3):
            a.put(experiment(f"e{hour}", at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour)))
        export_csv(a, tmp_path / "all.csv")
        import_csv(b, tmp_path / "all.csv")
        assert [e.at for e in b.list()] == [e.at for e in a.list()]
