"""Trials that others published as a table: what can be known is shown to the digit, and checked."""

import json
from pathlib import Path

import pytest

from assay.bench.imported import import_results, read_reported_trials
from assay.bench.studies.robustness_columns import published_distribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import read_trial
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import PassSpread, Trial, robustness_name, to_row
from assay.core.errors import FormatError
from assay.stats.intervals import Estimate
from assay.views.trials import render_trials
from tests.imported_files import ann_benchmarks, make_hit_rule

CURVE = [0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9]  # its mean is 0.945
HEAD = ",".join(["algorithm", "config", "recall", *(f"cdf_{j / 10}" for j in range(11))])


def published_row(recall: str = "0.945", curve: list[float] = CURVE, first: float = 1.0) -> str:
    return ",".join(["HNSW", "M_16_ef_40", recall, *map(str, [first, *curve])])


def figures(tmp_path: Path, *lines: str, name: str = "t.csv") -> list[ScoredTrial]:
    path = tmp_path / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_reported_trials(str(path))


@pytest.mark.parametrize("name", ["deep_10M", "text2image_10M"])
def test_the_published_curves_go_in_and_come_out_to_the_digit(shared: Path, name: str) -> None:
    path = shared / "robustness_paper" / f"{name}_k10_cdf.csv"
    lines = [line.split(",") for line in path.read_text().splitlines()]
    scored_trials = read_reported_trials(str(path))
    assert len(scored_trials) == len(lines) - 1 == 6
    for item, cells in zip(scored_trials, lines[1:], strict=True):
        reported = item.trial.reported
        curve = [reported[robustness_name(j / 10, 10)] for j in range(1, 11)]
        assert [item.trial.engine, item.trial.search["config"]] == cells[:2]
        assert [f"{value:.6f}" for value in [reported["recall"], 1, *curve]] == cells[2:]
        assert item.distribution is None  # how many queries there were is not in the file
        assert item.trial.note.endswith("K is not stated, and taken to be 10")


@pytest.mark.parametrize(("name", "queries"), [("deep_10M", 10_000), ("text2image_10M", 100_000)])
def test_a_published_curve_of_so_many_queries_is_their_histogram(
    shared: Path, tmp_path: Path, name: str, queries: int
) -> None:
    folder = shared / "robustness_paper"
    content = json.loads((folder / "recall_histograms_k10.json").read_text())[name]
    head, *rows = (folder / f"{name}_k10_cdf.csv").read_text().splitlines()
    for scored_trial in figures(tmp_path, f"{head},queries", *(f"{row},{queries}" for row in rows)):
        assert scored_trial.distribution is not None
        assert (
            scored_trial.distribution.counts.tolist()
            == content[scored_trial.trial.engine]["hist_hits_0_to_10"]
        )
        assert scored_trial.distribution.mean == pytest.approx(
            content[scored_trial.trial.engine]["published_recall"], abs=1e-9
        )


@pytest.mark.parametrize(
    "column", ["cdf_0.3", "robustness_0.3", "Robustness-0.3@10", "Robustness(delta=0.3)@10"]
)
@pytest.mark.parametrize("engine", ["engine", "algorithm", "name", "index"])
def test_robustness_and_engines_are_read_by_every_name(tmp_path: Path, column: str, engine: str) -> None:
    [scored_trial] = figures(tmp_path, f"{engine},parameters,{column},qps", "annoy,trees=9,0.98,5")
    assert scored_trial.trial.reported == {"qps": 5, "Robustness(delta=0.3)@10": 0.98}
    assert (scored_trial.trial.engine, scored_trial.trial.search, scored_trial.trial.k) == (
        "annoy",
        {"parameters": "trees=9"},
        10,
    )
    assert ("K is not stated" in scored_trial.trial.note) == ("@" not in column)


@pytest.mark.parametrize("curve", [["1.000"] * 4, ["0.990", "0.960", "0.960", "0.950"]])
def test_zeros_at_the_end_tell_how_finely_a_curve_is_printed(tmp_path: Path, curve: list[str]) -> None:
    head = "engine,k,queries,recall,cdf_0.25,cdf_0.5,cdf_0.75,cdf_1"
    row = ["a", "4", "1000", f"{sum(map(float, curve)) / 4:.4f}", *curve]
    [scored_trial] = figures(tmp_path, head, ",".join(row))
    assert scored_trial.recall.low is not None
    import_results([tmp_path / "t.csv"], SweepFolder(tmp_path / "out"))
    (key,) = SweepFolder(tmp_path / "out").trial_keys()
    distribution = published_distribution(read_trial(SweepFolder(tmp_path / "out"), key, None))
    assert distribution is not None
    assert scored_trial.distribution is not None
    assert distribution.counts.tolist() == scored_trial.distribution.counts.tolist()
    [short] = figures(tmp_path, head, ",".join([*row[:3], row[3], *(str(float(cell)) for cell in curve)]))
    assert short.recall.low is None


def test_a_k_that_nothing_states_is_noted_without_a_curve_too(tmp_path: Path) -> None:
    silent, stated_trial = figures(tmp_path, "algorithm,recall,qps,k", "a,0.9,5,", "b,0.9,5,10")
    assert silent.trial.note.endswith("K is not stated, and taken to be 10")
    assert "K is not stated" not in stated_trial.trial.note


def test_sizes_are_read_in_bytes_and_in_mb(tmp_path: Path) -> None:
    [scored_trial] = figures(tmp_path, "engine,memory_mb,disk_mb,qps", "a,2,0.5,5")
    assert scored_trial.trial.reported == {"qps": 5, "memory_bytes": 2 << 20, "disk_bytes": 1 << 19}
    assert not scored_trial.trial.search
    with pytest.raises(FormatError, match="'memory_mb' and 'memory_bytes' state the same figure: keep one"):
        figures(tmp_path, "engine,memory_mb,memory_bytes", "a,2,5")


def test_the_k_of_a_curve_is_of_its_columns_or_of_the_column_k(tmp_path: Path) -> None:
    [scored_trial] = figures(tmp_path, "engine,k,cdf_0.3,Robustness-0.3@10", "annoy,100,0.5,0.9")
    assert scored_trial.trial.k == 100
    assert scored_trial.trial.reported == {"Robustness(delta=0.3)@100": 0.5, "Robustness(delta=0.3)@10": 0.9}
    with pytest.raises(
        FormatError, match="figures at K = 10 and 100: state the K of the row in a column 'k'"
    ):
        figures(tmp_path, "engine,Robustness-0.3@100,Robustness-0.3@10", "annoy,0.5,0.9")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (published_row("0.955"), "mean of robustness at 1/10 … 10/10 is 0.945000, but recall is 0.955"),
        (published_row(first=0.995), "column 'cdf_0.0': expected 1"),
        (published_row(curve=[*CURVE[:8], 0.93, 0.9]), "columns 'cdf_0.8' and 'cdf_0.9': expected no more"),
        (published_row(curve=[1.5, *CURVE[1:]]), "column 'cdf_0.1': expected a number from 0 to 1"),
    ],
)
def test_a_curve_that_no_recall_can_have_is_refused_by_its_line(
    tmp_path: Path, row: str, message: str
) -> None:
    with pytest.raises(FormatError, match=rf"t\.csv:3: .*{message}"):
        figures(tmp_path, HEAD, published_row(), row)


@pytest.mark.parametrize("recall", ["0.945", "0.95", "0.94", "0.9", "0.9453"])
def test_a_recall_may_differ_from_its_curve_by_rounding(tmp_path: Path, recall: str) -> None:
    [scored_trial] = figures(
        tmp_path, HEAD, published_row(recall)
    )  # the curve has two digits: 0.005 either way
    assert scored_trial.trial.reported["recall"] == float(recall)


def test_shares_that_are_not_of_so_many_queries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t\.csv:2: column 'cdf_0\.3': 0\.985 of 100 queries is 98\.5"):
        figures(tmp_path, "engine,cdf_0.3,queries", "annoy,0.985,100")


def test_a_row_without_a_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t\.csv:3: contains no figure: expected one of recall, qps"):
        figures(tmp_path, "engine,qps,queries", "annoy,5,100", "annoy,,100")


def test_a_column_that_is_nearly_a_figure_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t\.csv:1: .*; did you mean 'recall' instead of 'recal'\? rename"):
        figures(tmp_path, "engine,recal,qps", "annoy,0.9,5")
    with pytest.raises(FormatError, match=r"t\.csv:1: .*; did you mean 'recall' instead of 'Recal'\?"):
        figures(tmp_path, "engine,Recal", "annoy,0.9")


def test_a_curve_that_is_rounded_too_much_tells_no_single_queries(tmp_path: Path) -> None:
    many, few = figures(tmp_path, f"{HEAD},queries", f"{published_row()},1000", f"{published_row()},100")
    assert many.distribution is None
    assert few.distribution is not None
    assert few.distribution.counts.tolist() == [1] * 10 + [90]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("engine,cdf_30", "column 'cdf_30': expected a δ from 0 to 1, found 30"),
        ("engine,cdf_0.3,robustness_0.3", "'cdf_0.3' and 'robustness_0.3' have the same δ"),
    ],
)
def test_columns_of_robustness_that_cannot_be_read_are_refused(
    tmp_path: Path, head: str, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        figures(tmp_path, head, "annoy,0.5,0.5")


def test_a_curve_that_is_imported_keeps_its_figures(tmp_path: Path) -> None:
    path, results = tmp_path / "t.csv", SweepFolder(tmp_path / "out")
    path.write_text(f"{HEAD},queries\n{published_row()},100\n")
    [key] = import_results([path], results)
    trial = read_trial(results, key, make_hit_rule())
    assert trial.reported["Robustness(delta=0.9)@10"] == 0.91
    assert trial.reported["queries"] == 100
    distribution = published_distribution(trial)
    assert distribution is not None
    assert distribution.n == 100


@pytest.mark.parametrize("name", ["trials.parquet", "trials.csv"])
def test_the_table_that_a_sweep_keeps_is_read_back_whole(tmp_path: Path, name: str) -> None:
    share = Estimate(0.9, 0.85, 0.95, 0.95, 40)
    trial = Trial(
        "k1", "hnswlib", {"M": 16}, {"ef": 40}, version="0.10", n=1500, d=8, indexed=True, zero_hits=3,
        measures={"R@10": share, "Robustness(delta=0.9)@10": share, "ZeroHit@10": share},
        qps=PassSpread(2000.0, 1900.0, 2100.0, 3), latency={"p50_ms": 0.4}, request={"clients": 1},
        build_seconds=1.5, memory_bytes=3 << 20, machine={"cores": 2},
    )  # fmt: skip
    failed = Trial("k2", "annoy", status="failed", reason="crashed")
    results = SweepFolder(tmp_path)
    results.put_table([to_row(trial), to_row(failed)])
    (tmp_path / "trials.csv").write_text(render_trials([trial, failed], "csv"))
    assert [second_trial.trial for second_trial in read_reported_trials(str(tmp_path / name))] == [
        trial,
        failed,
    ]


def test_a_damaged_table_of_a_sweep_is_named_by_its_line(tmp_path: Path) -> None:
    text = render_trials([Trial("k1", "annoy", build_seconds=1.5)], "csv").replace("1.5", "soon")
    with pytest.raises(FormatError, match=r"t\.csv:2: is not a trial .*'build_seconds'.*found 'soon'"):
        figures(tmp_path, text)


def test_results_with_neighbours_are_not_taken_for_figures(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    with pytest.raises(FormatError, match="contains neighbors, which must be scored against a truth"):
        read_reported_trials(str(ann_benchmarks(tmp_path / "a.hdf5")))


@pytest.mark.parametrize("column", ["recall", "Recall", "recall@10", "R@10", "mean_recall", "avg recall@10"])
def test_recall_is_read_by_every_name(tmp_path: Path, column: str) -> None:
    [scored_trial] = figures(tmp_path, f"algorithm,parameters,{column},QPS", "annoy,trees=9,0.98,5")
    assert scored_trial.trial.reported == {"recall": 0.98, "qps": 5}
    assert ("K is not stated" in scored_trial.trial.note) == ("@" not in column)


@pytest.mark.parametrize("column", ["dataset", "scenario", "Dataset"])
def test_the_data_of_a_row_are_read_by_every_name(tmp_path: Path, column: str) -> None:
    first, second = figures(tmp_path, f"{column},algorithm,recall", "images,annoy,0.9", "words,annoy,0.9")
    assert (first.trial.dataset, second.trial.dataset) == ("images", "words")
    assert not first.trial.search


def test_the_measures_of_the_published_comparison_are_read(tmp_path: Path) -> None:
    """The columns of the tables beside the paper: robustness@δ, AP in percent, percentiles by their rest."""
    head = "dataset,algorithm,config,recall@10,qps,robustness@0.1,map@10,ndcg@10,mrr@10,tail95,tail999"
    [one] = figures(tmp_path, head, 'images,faiss_hnsw,"HNSW(M=16, ef=40)",0.9,5,0.98,88.5,9.1,nan,0.4,0')
    assert one.trial.reported == {
        "recall": 0.9, "qps": 5, "Robustness(delta=0.1)@10": 0.98, "AP@10": 88.5, "nDCG@10": 9.1,
        "p5 of recall": 0.4, "p0.1 of recall": 0,
    }  # fmt: skip
    assert (one.trial.k, one.trial.search) == (10, {"config": "HNSW(M=16, ef=40)"})


def test_figures_that_contradict_each_other_by_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="'recall' and 'recall@10' state the same figure: keep one"):
        figures(tmp_path, "engine,recall,recall@10", "annoy,0.9,0.9")
    with pytest.raises(FormatError, match="has a recall at K = 10, but its K is 100"):
        figures(tmp_path, "engine,k,recall@10", "annoy,100,0.9")


def test_parameters_of_one_letter_keep_their_case(tmp_path: Path) -> None:
    [one] = figures(tmp_path, "engine,M,N,recall", "puck,16,4,0.9")
    assert (one.trial.search, one.trial.n) == ({"M": 16, "N": 4}, None)
