"""The workflow `select`: it chooses, confirms, and works from stored hits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.bench import bench
from assay.workflows.select import SelectRequest, select
from assay.workflows.trials import ImportResultsRequest, import_results
from tests.workflows.sweeps import bench_request, prepare_folder


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep of two trials."""
    folder = tmp_path_factory.mktemp("select")
    with pytest.MonkeyPatch.context() as patch:
        prepare_folder(folder, patch)
        bench(bench_request())
        yield folder


def test_the_choice_is_the_same_when_the_vectors_are_gone() -> None:
    request = SelectRequest(trials="swept", floors=["recall=0.8"], objective="recall", tradeoff=True)
    before = select(request)
    Path("base.fbin").rename("moved.fbin")
    Path("queries.fbin").rename("moved-queries.fbin")
    after = select(request)
    assert (before.is_without_vectors, after.is_without_vectors) == (False, True)
    assert after.to_dict() == before.to_dict()
    assert (after.exit_code, after.to_dict()["winner"]) == (0, "misbehaving / rows=1500")
    assert len(after.planes) == 3
    Path("moved.fbin").rename("base.fbin")
    Path("moved-queries.fbin").rename("queries.fbin")


def test_floors_that_no_trial_meets_are_exit_code_1() -> None:
    assert select(SelectRequest(trials="swept", floors=["qps=1e12"])).exit_code == 1


def test_a_price_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="--price is a number above 0, found 0"):
        SelectRequest(trials="swept", price=0)


def test_a_published_row_of_other_data_does_not_win_unless_asked_for() -> None:
    Path("published.csv").write_text(
        "engine,dataset,recall,qps,k,mode\nhnsw,sift-128,1,1e9,5,batch\nivf,,1,1e9,5,batch\n"
    )
    import_results(ImportResultsRequest(files=["published.csv"], out="swept"))
    result = select(SelectRequest(trials="swept", floors=["recall=0.8"], objective="qps", tradeoff=True))
    assert result.to_dict()["winner"].startswith("misbehaving")
    why = {trial["name"]: trial["why"] for trial in result.to_dict()["trials"]}
    assert why["hnsw"] == "of other data: sift-128, but the others of base"
    assert why["ivf"].startswith("not known to be of these data")
    assert "hnsw" not in {point.label for plane in result.planes for point in plane.points}
    request = SelectRequest(trials="swept", floors=["recall=0.8"], objective="qps", data="sift-128")
    assert select(request).to_dict()["winner"] == "hnsw"
    assert select(SelectRequest(trials="swept", data="all")).to_dict()["winner"] == "hnsw"
    assert "2 trials of other or unknown data, not selected: --data" in " ".join(result.to_dict()["notes"])


def test_the_k_of_a_table_that_states_none_is_the_requested_one() -> None:
    Path("k100.csv").write_text("engine,recall,qps\nhnsw,0.99,900\nivf,0.97,500\n")
    result = select(SelectRequest(trials="k100.csv", k=100))
    assert (result.to_dict()["k"], result.to_dict()["winner"]) == (100, "hnsw")
    assert not any("K is not stated" in note for note in result.to_dict()["notes"])


def test_a_k_that_no_row_states_is_refused_with_the_column_that_states_it() -> None:
    Path("k10.csv").write_text("engine,recall,qps,k\nhnsw,0.99,900,10\n")
    with pytest.raises(InputError, match=r"no trial is scored at K = 100; there are K = 10.*the column `k`"):
        select(SelectRequest(trials="k10.csv", k=100))


def test_an_imported_trial_does_not_set_the_request_mode_of_a_sweep() -> None:
    Path("single.csv").write_text("engine,recall,qps,k,mode\nhnsw,1,1e9,5,single\n")
    import_results(ImportResultsRequest(files=["single.csv"], out="swept"))
    assert select(SelectRequest(trials="swept")).to_dict()["mode"] == "batch"
