"""SearchSystems: systems built by name, once, and every problem reported with its setting."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.models.embedding_cache import EmbeddingCache
from assay.search.pipeline import Pipeline
from assay.search.run_queries import run_queries
from assay.search.searcher import Query
from assay.workflows.systems import SearchSystems
from tests.projects import DATA, MINE, project

BM25 = '[systems.bm25]\nkind = "bm25"\n'
HYBRID = BM25 + MINE + '[systems.hybrid]\nretrieve = ["bm25", "mine"]\n'
DENSE = '[systems.dense]\nkind = "index"\nencoder = "small"\n'
SMALL = '[models.small]\nkind = "lsa"\ndimensions = 3\n'


def problems(path: Path, name: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        SearchSystems(path).searcher(name)
    assert caught.value.path == str(path)
    return caught.value.problems


def test_systems_are_built_once_and_named_in_the_order_of_the_file(tmp_path: Path) -> None:
    systems = SearchSystems(project(tmp_path, HYBRID))
    assert systems.names == ["bm25", "mine", "hybrid"]
    assert systems.select_names([]) == systems.names
    hybrid = systems.searcher("hybrid")
    assert isinstance(hybrid, Pipeline)
    assert hybrid.sources[0].searcher is systems.searcher("bm25")
    assert [doc for doc, _ in hybrid.ask(Query("q1", "reset router"), 1).documents] == ["d1"]


def test_a_function_is_found_next_to_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    searcher = SearchSystems(project(tmp_path)).searcher("mine")
    assert searcher.ask(Query("q1", "reset router"), 1).documents == [("d1", 2.0)]
    assert str(tmp_path) not in str(searcher.configuration())


@pytest.mark.parametrize("more", ["", "lines = true\n", 'folder = "."\n'])
def test_a_command_is_found_next_to_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    program = tmp_path / "s.sh"
    program.write_text("#!/bin/sh\nread line\ncat answer.json\n")
    program.chmod(0o755)
    (tmp_path / "answer.json").write_text('["d1"]\n')
    path = project(tmp_path, f'[systems.mine]\nkind = "command"\ncommand = ["./s.sh"]\n{more}')
    monkeypatch.chdir("/")
    systems = SearchSystems(path)
    assert systems.searcher("mine").ask(Query("q1", "reset router"), 1).documents == [("d1", 1.0)]
    assert str(tmp_path) not in str(systems.searcher("mine").identity())
    systems.close()


def test_any_system_may_have_a_price_and_a_pipeline_has_those_of_its_sources(tmp_path: Path) -> None:
    prices = {"[systems.bm25]": 0.25, "[systems.mine]": 1.0, "[systems.hybrid]": 2.0}
    text = HYBRID
    for table, price in prices.items():
        text = text.replace(table, f"{table}\nprice_per_query = {price}")
    systems = SearchSystems(project(tmp_path, text))
    results = {
        name: run_queries(systems.searcher(name), systems.data.queries, systems.options)
        for name in ("bm25", "mine", "hybrid")
    }
    assert {name: result.cost for name, result in results.items()} == {
        "bm25": 1.5,
        "mine": 6.0,
        "hybrid": 19.5,
    }
    assert results["hybrid"].cost_per_1k == pytest.approx(3250.0)
    assert "price_per_query" not in str(systems.searcher("mine").identity())  # another price sends no query
    systems.close()


@pytest.mark.parametrize("price", ["-1", '"much"', "nan", "true"])
def test_a_price_that_is_not_a_number_of_0_or_more_is_refused(tmp_path: Path, price: str) -> None:
    found = problems(project(tmp_path, BM25 + f"price_per_query = {price}\n"), "bm25")
    assert list(found) == ["systems.bm25.price_per_query"]


SQLITE = (
    '[systems.mine]\nkind = "sql"\nurl = "sqlite:///my.db"\n'
    'statement = "SELECT id FROM docs WHERE length(:query)"\n'
)


def test_an_sqlite_file_is_found_next_to_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / "my.db")) as connection, connection:
        connection.execute("CREATE TABLE docs (id TEXT)")
        connection.execute("INSERT INTO docs VALUES ('d1')")
    monkeypatch.chdir("/")
    systems = SearchSystems(project(tmp_path, SQLITE))
    assert systems.searcher("mine").ask(Query("q1", "reset router"), 1).documents == [("d1", 1.0)]
    systems.close()


def test_a_missing_sqlite_file_is_reported_and_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings_problems = problems(project(tmp_path, SQLITE), "mine")
    assert settings_problems == {"systems.mine.url": f"there is no database {tmp_path / 'my.db'}"}
    assert not list(tmp_path.rglob("*.db"))


def test_options_come_from_the_file(tmp_path: Path) -> None:
    run = "[run]\nk = 7\nconcurrency = 2\ntimeout = 1\nretries = 0\nrate = 5\n"
    options = SearchSystems(project(tmp_path, run + MINE)).options
    assert (options.k, options.concurrency, options.timeout, options.retries, options.rate) == (7, 2, 1, 0, 5)


def test_all_problems_of_a_project_are_reported_at_once(tmp_path: Path) -> None:
    wrong = '[run]\nk = 0\nrates = 5\n[systems]\nbm25 = "yes"\n[system.mine]\n'
    path = project(tmp_path, wrong, DATA + 'runs = "x"\n')
    with pytest.raises(ConfigurationError) as caught:
        SearchSystems(path)
    assert caught.value.problems == {
        "systems.bm25": "expected a table, found 'yes'",
        "run.k": "expected a whole number of at least 1, found 0",
        "run.rates": "there is no such setting; did you mean rate?",
        "data.runs": caught.value.problems["data.runs"],
        "system": "there is no such setting; did you mean systems?",
    }


def test_a_run_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = project(tmp_path, "")
    path.write_text("run = 3\n" + path.read_text())
    with pytest.raises(ConfigurationError, match="run: expected a table, found 3"):
        SearchSystems(path)


@pytest.mark.parametrize(
    ("systems", "name", "field", "message"),
    [
        (BM25, "bm52", "systems.bm52", "there is no system 'bm52'; did you mean bm25?"),
        ("[systems.x]\nk1 = 1\n", "x", "systems.x.kind", "expected the kind of system"),
        ('[systems.x]\nkind = "bm26"\n', "x", "systems.x", "'bm26'; did you mean bm25?"),
        (BM25 + "k11 = 1\n", "bm25", "systems.bm25.k11", "did you mean k1?"),
        (BM25 + 'k1 = "much"\n', "bm25", "systems.bm25.k1", "expected float, found 'much'"),
        (DENSE, "dense", "systems.dense.encoder", "there is no model 'small'"),
        ('[systems.x]\nkind = "index"\n', "x", "systems.x.encoder", "must be given"),
        (DENSE + SMALL.replace("lsa", "lsb"), "dense", "models.small", "'lsb'; did you mean lsa?"),
        (DENSE + "[models.small]\nk = 1\n", "dense", "models.small.kind", "expected one of lsa"),
        (DENSE + SMALL.replace("dimensions", "dimension"), "dense", "models.small.dimension", "dimensions?"),
        (HYBRID.replace('"mine"]', '"nine"]'), "hybrid", "systems.hybrid.retrieve", "did you mean mine?"),
        (
            HYBRID + '[systems.two]\nretrieve = ["hybrid"]\n',
            "two",
            "systems.two.retrieve",
            "hybrid is a pipeline itself",
        ),
        ('[systems.x]\nretrieve = ["x"]\n', "x", "systems.x.retrieve", "x names itself: name other systems"),
        ('[systems.x]\nretreive = ["y"]\n', "x", "systems.x.retreive", "did you mean retrieve?"),
        (HYBRID + "fuse = { weights = [1, 2, 3] }\n", "hybrid", "systems.hybrid", "expected 2, one for each"),
        (HYBRID + "depht = 3\n", "hybrid", "systems.hybrid.depht", "did you mean depth?"),
        (HYBRID + 'fuse = { by = "sum" }\n', "hybrid", "systems.hybrid.fuse.by", "one of rrf, weighted"),
        (HYBRID + "fuse = { weights = [0, 0] }\n", "hybrid", "systems.hybrid", "not all 0"),
        (HYBRID + 'filter = { of = "langage" }\n', "hybrid", "systems.hybrid.filter.of", "mean language?"),
        (HYBRID + 'filter = { of = "language" }\n', "hybrid", "systems.hybrid", "either `equals`"),
        (
            HYBRID + 'filter = { of = "language", column = "knd" }\n',
            "hybrid",
            "systems.hybrid.filter.column",
            "did you mean kind?",
        ),
        (
            HYBRID + 'rerank = { model = "best" }\n',
            "hybrid",
            "systems.hybrid.rerank.model",
            "no model 'best'",
        ),
        (
            HYBRID + 'rerank = { model = "late_interaction" }\n',
            "hybrid",
            "models.late_interaction.encoder",
            "must be given",
        ),
    ],
)
def test_a_problem_is_reported_with_its_setting_and_its_file(
    tmp_path: Path, systems: str, name: str, field: str, message: str
) -> None:
    settings_problems = problems(project(tmp_path, systems), name)
    assert message in settings_problems[field], settings_problems


@pytest.mark.parametrize(
    "step", ['filter = { of = "x", equals = 1 }', 'rerank = { model = "cross_encoder" }']
)
def test_missing_documents_are_asked_for(tmp_path: Path, step: str) -> None:
    data = '[data]\nqrels = "qrels.txt"\nqueries = "queries.jsonl"\n'
    path = project(tmp_path, MINE + f'[systems.all]\nretrieve = ["mine"]\n{step}\n' + BM25, data)
    assert "needs them" in problems(path, "all")["data.documents"]
    assert problems(path, "bm25") == {
        "systems.bm25.documents": "must be given: bm25 cannot search without it"
    }


def test_queries_are_required_and_judgments_are_not(tmp_path: Path) -> None:
    assert SearchSystems(project(tmp_path, MINE, '[data]\nqueries = "queries.jsonl"\n')).data.qrels is None
    with pytest.raises(ConfigurationError, match=r"data\.queries: expected queries with a column text"):
        SearchSystems(project(tmp_path, MINE, '[data]\nqrels = "qrels.txt"\n'))
    with pytest.raises(InputError, match=r"assay\.toml: .*nowhere\.jsonl"):
        SearchSystems(project(tmp_path, MINE, '[data]\nqueries = "nowhere.jsonl"\n'))


def test_columns_are_named_without_judgments_as_well(tmp_path: Path) -> None:
    data = '[data]\nqueries = "asked.csv"\ncolumns = ["queries:text=words", "queries:query_id=number"]\n'
    (tmp_path / "asked.csv").write_text("number,words\n1,reset router\n")
    assert SearchSystems(project(tmp_path, MINE, data)).data.queries.columns["text"] == ["reset router"]


def test_a_missing_file_and_missing_systems_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`assay init` writes an assay\.toml"):
        SearchSystems(tmp_path / "assay.toml")
    with pytest.raises(InputError, match=r"expected \[systems.NAME\], found none"):
        SearchSystems(project(tmp_path, "")).select_names([])


def test_an_index_has_a_counterpart_with_exact_search(tmp_path: Path) -> None:
    hnsw = DENSE + 'engine = "faiss.hnsw"\nbuild = { M = 4 }\nmetric = "ip"\n' + SMALL + BM25
    systems = SearchSystems(project(tmp_path, hnsw))
    twin = systems.exact_searcher("dense")
    assert twin is not None
    assert twin is systems.exact_searcher("dense")
    configuration = twin.configuration()
    assert (configuration["engine"], configuration["metric"], configuration["name"]) == (
        "exact",
        "ip",
        "dense, exact",
    )
    assert systems.exact_searcher("bm25") is None
    assert SearchSystems(project(tmp_path, DENSE + SMALL)).exact_searcher("dense") is None
    systems.close()


def test_vectors_of_documents_are_cached_and_queries_are_encoded_each_time(tmp_path: Path) -> None:
    systems = SearchSystems(project(tmp_path, DENSE + SMALL), tmp_path / "vectors")
    systems.searcher("dense").ask(Query("q1", "reset router"), 3)
    encoder = systems._encoder("small")
    assert isinstance(encoder, EmbeddingCache)
    roles = [place.read_text() for place in (tmp_path / "vectors").rglob("model.json")]
    assert ['"role": "document"' in role for role in roles] == [True]


@pytest.mark.parametrize(
    "words",
    ['"--api-key", "hunter2"', '"--token=hunter2"', '"API_KEY=hunter2"', '"-v", "--password", "hunter2"'],
)
def test_a_secret_among_the_words_of_a_command_is_refused(tmp_path: Path, words: str) -> None:
    command = f'[systems.mine]\nkind = "command"\ncommand = ["env", {words}, "./s.sh"]\n'
    settings_problems = problems(project(tmp_path, command), "mine")
    assert "let the command read it from the environment" in settings_problems["systems.mine.command"]
    assert "hunter2" not in str(settings_problems)


def test_other_words_of_a_command_are_not_refused(tmp_path: Path) -> None:
    words = "./s.sh --token-file t.txt --password $MINE --token {query} --api-key -- --sort-key name"
    systems = SearchSystems(project(tmp_path, f'[systems.mine]\nkind = "command"\ncommand = "{words}"\n'))
    assert systems.searcher("mine").configuration()["command"] == words
