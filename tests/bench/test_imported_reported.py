"""Figures that others report without neighbours stay what they are: reported, and never scored."""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.bench.imported import detect_kind, import_results
from assay.bench.studies.scoring import read_trial, read_trials
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import Trial
from assay.core.errors import FormatError, InputError, MissingExtraError
from tests.imported_files import make_hit_rule

SECRETS = {
    "password": "hunter2-a", "token": "hunter2-b", "uri": "https://hunter2-c:19530", "user_name": "hunter2-d",
    "host": "hunter2-e", "api_key": "hunter2-f", "cloud_id": "hunter2-g", "db_name": "hunter2-h",
}  # fmt: skip
METRICS: dict[str, Any] = {
    "max_load_count": 0, "insert_duration": 40.0, "optimize_duration": 60.5, "load_duration": 100.5,
    "qps": 900.0, "serial_latency_p99": 0.0123, "serial_latency_p95": 0.01, "recall": 0.95, "ndcg": 0.0,
    "conc_num_list": [1, 10], "conc_qps_list": [120.0, 900.0], "conc_latency_p99_list": [0.0125, 0.02],
    "st_recall_list": [],
}  # fmt: skip
SETTINGS = {
    "index": "HNSW", "metric_type": "COSINE", "M": 16, "efConstruction": 128, "ef": 64,
    "num_candidates": None, "endpoint": "hunter2-i", "mirror": "grpc://hunter2-j", "uri": "hunter2-k:19530",
}  # fmt: skip


NONE: dict[str, Any] = {name: [] if isinstance(value, list) else 0 for name, value in METRICS.items()}


def vectordbbench(path: Path, **changed: Any) -> Path:
    case = {
        "metrics": METRICS | changed.get("metrics", {}),
        "task_config": {
            "db": "Milvus",
            "db_config": {"db_label": "16c64g", "version": "2.5", "note": "", **SECRETS},
            "db_case_config": SETTINGS,
            "case_config": {"case_id": 5, "custom_case": {}, "k": 100} | changed.get("case", {}),
        },
        "label": changed.get("label", ":)"),
    }
    path.write_text(json.dumps({"run_id": "r1", "task_label": "standard", "results": [case]}))
    return path


def import_trial(tmp_path: Path, path: Path) -> Trial:
    results = SweepFolder(tmp_path / "out")
    [key] = import_results([path], results)
    return read_trial(results, key, make_hit_rule())


def table(tmp_path: Path, text: str, name: str = "t.csv") -> list[Trial]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    results = SweepFolder(tmp_path / "out")
    return [read_trial(results, key, None) for key in import_results([path], results)]


def test_the_figures_of_vectordbbench_are_reported_and_not_scored(tmp_path: Path) -> None:
    trial = import_trial(tmp_path, vectordbbench(tmp_path / "a.json"))
    assert trial.reported == pytest.approx({
        "recall": 0.95, "qps": 900, "p99_ms": 12.3, "p95_ms": 10, "build_seconds": 100.5,
        "insert_seconds": 40, "optimize_seconds": 60.5,
        "qps@1": 120, "qps@10": 900, "p99_ms@1": 12.5, "p99_ms@10": 20,
    })  # fmt: skip
    assert (trial.recall, trial.measures, trial.qps, trial.latency) == (None, {}, None, {})
    assert trial.note == "as reported; no neighbours to score; latency of one client, qps of 10"


def test_what_a_case_of_vectordbbench_is_of_is_taken_over(tmp_path: Path) -> None:
    trial = import_trial(tmp_path, vectordbbench(tmp_path / "a.json"))
    assert (trial.engine, trial.version, trial.source) == ("Milvus", "2.5", "VectorDBBench")
    assert trial.build == {"index": "HNSW", "M": 16, "efConstruction": 128}
    assert trial.search == {"ef": 64}
    assert (trial.n, trial.d, trial.k, trial.metric) == (1_000_000, 768, 100, "cosine")
    assert (trial.machine, trial.threads) == ({"label": "16c64g"}, None)


def test_nothing_that_tells_how_to_reach_a_database_is_kept(tmp_path: Path) -> None:
    import_trial(tmp_path, vectordbbench(tmp_path / "a.json"))
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert written
    assert not any(b"hunter2" in path.read_bytes() for path in written)


def test_zero_of_vectordbbench_is_what_was_not_measured(tmp_path: Path) -> None:
    loaded = import_trial(tmp_path, vectordbbench(tmp_path / "a.json", metrics=NONE | {"max_load_count": 10}))
    assert (loaded.reported, loaded.status) == ({"max_load_count": 10}, "done")
    nothing = {"metrics": METRICS | {"recall": 0.0}}
    assert import_trial(tmp_path, vectordbbench(tmp_path / "b.json", **nothing)).reported["recall"] == 0


@pytest.mark.parametrize("label", ["x", "?"])
def test_a_case_that_failed_is_a_failed_trial(tmp_path: Path, label: str) -> None:
    trial = import_trial(tmp_path, vectordbbench(tmp_path / "a.json", metrics=NONE, label=label))
    assert (trial.status, trial.reported) == ("failed", {})
    assert trial.reason.startswith(f"VectorDBBench marks it {label!r}: ")


@pytest.mark.parametrize(
    ("case", "size", "search"),
    [
        ({"case_id": 14}, (500_000, 1536), {"ef": 64, "filter_rate": 0.99}),
        ({"case_id": 999}, (None, None), {"ef": 64}),
        (
            {
                "case_id": 400,
                "custom_case": {"dataset_with_size_type": "Medium Cohere (768dim, 1M)", "filter_rate": 0.02},
            },
            (1_000_000, 768),
            {"ef": 64, "filter_rate": 0.02},
        ),
    ],
)
def test_the_size_and_the_filter_of_a_case_are_told_where_known(
    tmp_path: Path, case: dict[str, Any], size: tuple[int, int], search: dict[str, Any]
) -> None:
    trial = import_trial(tmp_path, vectordbbench(tmp_path / "a.json", case=case))
    assert (trial.n, trial.d) == size
    assert trial.search == search


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results": [', "cannot be read as JSON"),
        ('{"rows": []}', "expected an object with a list 'results'"),
        ('{"results": []}', "has an empty list of results"),
        ('{"results": [{"metrics": {}}]}', r"results\[0\] has no 'task_config'"),
        ('{"results": [7]}', r"results\[0\] is invalid"),
    ],
)
def test_json_that_is_not_of_vectordbbench_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=rf"a\.json: {message}"):
        import_results([tmp_path / "a.json"], SweepFolder(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_the_columns_of_a_table_are_figures_facts_and_parameters(tmp_path: Path) -> None:
    [trial] = table(
        tmp_path,
        "engine,build.M,search.ef,quantized,recall,qps,p99_ms,memory_bytes,k,metric,n,d,threads,mode,tag\n"
        "hnswlib,16,40,true,0.91,1200.5,3.5,1e9,10,angular,1000000,96,2,batch,v1.0\n",
    )
    assert (trial.engine, trial.build, trial.source) == ("hnswlib", {"M": 16}, "table")
    assert trial.search == {"ef": 40, "quantized": True, "tag": "v1.0"}
    assert trial.reported == {"recall": 0.91, "qps": 1200.5, "p99_ms": 3.5, "memory_bytes": 1e9}
    assert (trial.k, trial.metric, trial.n, trial.d) == (10, "cosine", 1_000_000, 96)
    assert (trial.threads, trial.mode, trial.recall, trial.qps) == (2, "batch", None, None)
    assert trial.note == "as reported; no neighbours to score"


def test_an_empty_cell_is_nothing_and_not_zero(tmp_path: Path) -> None:
    first, second = table(tmp_path, "engine\trecall\tqps\tef\nannoy\t\t10\t\n\nannoy\t0\t\t5\n", "t.tsv")
    assert (first.reported, first.search, first.threads) == ({"qps": 10}, {}, None)
    assert (second.reported, second.search) == ({"recall": 0}, {"ef": 5})


def test_a_parquet_table_gives_the_same_trials_as_csv(tmp_path: Path) -> None:
    text = "engine,recall,k,build.M,search.name\nfaiss,0.5,10,16,a\nfaiss,0.75,10,32,b\n"
    table(tmp_path, text)
    pl.read_csv(tmp_path / "t.csv").write_parquet(tmp_path / "t.parquet")
    results = SweepFolder(tmp_path / "out")
    before = results.trial_keys()
    assert sorted(import_results([tmp_path / "t.parquet"], results)) == before
    assert [trial.recall for trial in read_trials(results, make_hit_rule())] == [None, None]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("annoy,95%,10,l2,single", "column 'recall': expected a number from 0 to 1, found '95%'"),
        ("annoy,1.2,10,l2,single", "column 'recall': expected a number from 0 to 1, found '1.2'"),
        ("annoy,nan,10,l2,single", "column 'recall': expected a number from 0 to 1, found 'nan'"),
        ("annoy,.5,0,l2,single", "column 'k': expected a whole number of 1 or more, found '0'"),
        ("annoy,.5,2.5,l2,single", "column 'k': expected a whole number of 1 or more, found '2.5'"),
        ("annoy,.5,inf,l2,single", "column 'k': expected a whole number of 1 or more, found 'inf'"),
        ("annoy,.5,10,taxi,single", "column 'metric': expected one of l2, ip, cosine, found 'taxi'"),
        ("annoy,.5,10,l2,often", "column 'mode': expected one of single, batch, open, capacity"),
        (",.5,10,l2,single", "column 'engine': expected the name of an engine, found nothing"),
        ("annoy,.5,10,l2", "expected 5 cells, as in the first line, found 4"),
        ('annoy,.5,10,l2,"single', "is not a table"),
    ],
)
def test_a_wrong_cell_is_named_by_file_line_and_column(tmp_path: Path, row: str, message: str) -> None:
    text = f"engine,recall,k,metric,mode\nannoy,.5,10,l2,single\n{row}\n"
    with pytest.raises(FormatError, match=rf"t\.csv:3: {message}"):
        table(tmp_path, text)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recall,qps\n.5,1\n", "expected a column 'engine'"),
        ("engine,ef\nannoy,5\n", "at least one of recall, qps"),
        ("engine,qps,qps\nannoy,5,6\n", "more than one column 'qps'"),
        ("engine,qps\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_a_table_that_says_nothing_of_trials_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        table(tmp_path, text)


def test_what_is_imported_again_changes_nothing(tmp_path: Path) -> None:
    path, results = vectordbbench(tmp_path / "a.json"), SweepFolder(tmp_path / "out")
    (tmp_path / "t.csv").write_text("engine,qps\nannoy,5\nannoy,5\n")
    keys = import_results([path, tmp_path / "t.csv"], results)
    before = {key: results.trial_record(key) for key in results.trial_keys()}
    assert import_results([tmp_path / "t.csv", path], results) == keys[::-1]
    assert {key: results.trial_record(key) for key in results.trial_keys()} == before
    assert len(keys) == 2


def test_a_kind_is_told_by_content_or_by_name(tmp_path: Path) -> None:
    path = vectordbbench(tmp_path / "a.csv")
    assert detect_kind(path) == "vectordbbench"
    with pytest.raises(FormatError, match="expected a column 'engine'"):
        import_results([path], SweepFolder(tmp_path / "out"), kind="table")
    with pytest.raises(InputError, match="the kind of results must be one of ann-benchmarks, big-ann"):
        import_results([path], SweepFolder(tmp_path / "out"), kind="mlperf")


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"\x7fELF\0\0", "is neither HDF5 nor JSON")]
)
def test_a_file_that_holds_no_results_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(FormatError, match=rf"a\.bin: {message}"):
        import_results([tmp_path / "a.bin"], SweepFolder(tmp_path / "out"))


def test_text_that_is_not_utf8_and_a_damaged_parquet_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"engine,qps\nann\xf6y,5\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    for name, message in (("a.csv", "is not UTF-8"), ("a.parquet", "cannot be read as Parquet")):
        with pytest.raises(FormatError, match=message):
            import_results([tmp_path / name], SweepFolder(tmp_path / "out"))


def test_hdf5_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "a.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(MissingExtraError, match=r"pip install 'assay-search\[hdf5\]'"):
        import_results([tmp_path / "a.hdf5"], SweepFolder(tmp_path / "out"))
