"""What is particular to one kind of searcher; what all must do is in the conformance suite."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import searches
from assay.core.errors import ConfigurationError, InputError
from assay.core.tables import Documents
from assay.indexes.engines.postgres import Server
from assay.models.model import ModelError, Usage
from assay.search import Query, Searcher, SearchError
from assay.search.systems import SYSTEMS, load, made, needs, problems
from assay.search.systems.service import Service
from contracts.adapters import all_closed
from contracts.doubles import Double, doubled
from searches import SECRET, Words, refused

ROOT = Path(__file__).parent.parent
DOUBLES = ("qdrant", "opensearch", "elasticsearch", "weaviate", "vespa")


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL with pgvector."""
    server = Server(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(params=DOUBLES)
def double(request: pytest.FixtureRequest) -> Iterator[Double]:
    with doubled(request.param) as one, all_closed():
        yield one


# the table of kinds


def test_an_engine_that_hangs_in_a_search_does_not_keep_its_system_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay.search.systems.index._LAST", 0.1)
    searcher: Any = searches.index("faiss.flat")
    engine = searcher._index._process
    os.kill(engine.pid, signal.SIGSTOP)

    def ask() -> None:
        with pytest.raises((SearchError, OSError)):
            searcher.ask(Query("q", "a lamp"), 3)

    asking = Thread(target=ask, daemon=True)
    asking.start()
    while not searcher._lock.locked():
        time.sleep(0.01)
    closing = Thread(target=searcher.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert engine.poll() is not None
    asking.join(60)
    assert not asking.is_alive()


def test_a_kind_that_is_not_there_is_named_with_its_neighbour() -> None:
    with pytest.raises(InputError, match="no kind of system 'opensaerch'; did you mean opensearch"):
        load("opensaerch")


@pytest.mark.parametrize("kind", SYSTEMS)
def test_every_kind_says_what_it_takes(kind: str) -> None:
    assert issubclass(load(kind), Searcher)
    assert set(needs(kind)) <= {"documents", "encoder"}
    assert problems(kind, {"nonsense": 1})["nonsense"].startswith("there is no such parameter")


def test_wrong_parameters_are_all_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        made("qdrant", "mine", {"ulr": "http://x", "params": "exact"})
    assert caught.value.problems == {
        "systems.mine.ulr": "there is no such parameter; did you mean url?",
        "systems.mine.params": "expected dict, found 'exact'",
        "systems.mine.url": "must be given (str)",
        "systems.mine.collection": "must be given (str)",
        "systems.mine.encoder": "must be given: qdrant cannot search without",
    }


def test_a_kind_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[assay.systems]\ntheirs = assay.search.embedded:BM25\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = made("theirs", "t", {"k1": 2.0}, documents=searches.TABLE)
    assert found.ask(Query("q", "router"), 1).documents[0][0] in ("d2", "d4")


def test_a_vector_that_is_asked_for_needs_an_encoder() -> None:
    body = {"query": {"knn": {"v": {"vector": "{vector}"}}}}
    with pytest.raises(ConfigurationError, match=r"systems\.os\.encoder: must be given"):
        made("opensearch", "os", {"url": "http://127.0.0.1:1", "index": "x", "body": body})


# commands


def command(*words: str, lines: bool = False) -> Searcher:
    return made("command", "c", {"command": list(words), "lines": lines})


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        (
            "import sys; sys.stdin.readline(); sys.exit('the index is broken')",
            "failed",
            "1: the index is broken",
        ),
        ("input(); print('[1, 2')", "malformed", "no JSON"),
        ("input(); print('{\"a\": 1}')", "malformed", "expected a list of documents"),
        ("import os; input(); os.system('sleep 60')", "timeout", "did not answer in time"),
        ("input(); print('1' * 10_000_001)", "too large", "more than 10,000,000 bytes"),
        (
            "import os; input(); print(os.environ['ASSAY_TEST_KEY'], file=__import__('sys').stderr); 1/0",
            "failed",
            "",
        ),
    ],
)
def test_a_command_that_fails_is_told_apart(lines: bool, program: str, kind: str, words: str) -> None:
    limit = 2 if kind == "timeout" else 30
    error = refused(command(sys.executable, "-S", "-c", program, lines=lines), timeout=limit)
    assert (error.kind, error.again) == (kind, kind == "timeout")
    assert words in error.said


def test_a_command_that_is_late_ends_with_all_that_it_started(tmp_path: Path) -> None:
    script = f"sleep 61 & echo $! >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"
    for limit in (2, 10, 30):  # until it came so far
        assert refused(command("sh", "-c", script), timeout=limit).kind == "timeout"
        if (tmp_path / "pid").exists():
            break
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    until = time.monotonic() + 30
    while not ended(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert ended(child)


@pytest.mark.parametrize("lines", [False, True])
def test_a_command_that_is_under_way_when_it_is_closed_ends_with_all_that_it_started(
    lines: bool, tmp_path: Path
) -> None:
    script = f"sleep 61 & echo $! >{tmp_path}/$$; mv {tmp_path}/$$ {tmp_path}/pid; wait"
    searcher, errors = command("sh", "-c", script, lines=lines), list[SearchError]()
    asking = [
        Thread(target=lambda: errors.append(refused(searcher, timeout=60)), daemon=True) for _ in range(3)
    ]
    for thread in asking:  # with lines, two wait for the first
        thread.start()
    until = time.monotonic() + 30
    while not (tmp_path / "pid").exists() and time.monotonic() < until:
        time.sleep(0.01)
    searcher.close()
    for thread in asking:
        thread.join(30)
    assert [(error.kind, error.again) for error in errors] == [("failed", False)] * 3
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    while not ended(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert ended(child)


def ended(process: Path) -> bool:
    """Whether a process is no more, though nobody may have asked for its end yet."""
    try:
        return process.read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_command_that_is_not_there_is_named() -> None:
    assert "no-such-program cannot be started" in refused(command("no-such-program")).said


def test_the_words_of_a_command_take_the_query_without_a_shell() -> None:
    found = made("command", "c", {"command": "printf '%s\\t2\\n%s\\t1\\n' {query} {id}-{k}"})
    asked = Query("q9", "$(id); `ls` | it's")
    assert found.ask(asked, 5).documents == [("$(id); `ls` | it's", 2.0), ("q9-5", 1.0)]


def test_a_process_that_lives_on_is_started_once_and_again_after_a_failure() -> None:
    program = "import os\nwhile True: print('[%d]' % os.getpid() if 'die' not in input() else '', flush=True)"
    found = command(sys.executable, "-S", "-c", program, lines=True)
    first, second = (found.ask(Query("q", "how"), 1, 60).documents for _ in range(2))
    with pytest.raises(SearchError, match="malformed"):
        found.ask(Query("q", "die"), 1, 60)
    third = found.ask(Query("q", "how"), 1, 60).documents
    found.close()
    assert first == second != third


# in memory


def test_documents_without_any_word_are_refused_by_bm25() -> None:
    documents = Documents({"doc_id": ["d1", "d2"], "text": ["", "… !"]})
    with pytest.raises(InputError, match="b: expected documents with words, found 2 without any"):
        made("bm25", "b", {}, documents=documents)


# functions


def test_a_function_may_take_the_query_and_return_what_it_likes(tmp_path: Path) -> None:
    (tmp_path / "forms.py").write_text(
        "from assay.search import Query\n"
        "def ids(text): return [text, 2]\n"
        "def of_query(query: Query, k): return [{'id': query.columns['lang'], 'score': k}]\n"
    )
    asked = Query("q", "how", {"lang": "de"})
    answers = [
        made("callable", "f", {"function": f"forms:{name}", "folder": str(tmp_path)}).ask(asked, 4).documents
        for name in ("ids", "of_query")
    ]
    assert answers == [[("how", 1.0), ("2", 0.5)], [("de", 4.0)]]


@pytest.mark.parametrize(
    ("text", "kind", "again"),
    [("timeout", "timeout", True), ("connection", "connection", True), ("x", "failed", False)],
)
def test_what_a_function_raises_is_told_apart(tmp_path: Path, text: str, kind: str, again: bool) -> None:
    searches.function(tmp_path)
    error = refused(made("callable", "f", {"function": "own_search:fails", "folder": str(tmp_path)}), text)
    assert (error.kind, error.again) == (kind, again)
    assert f"no {text}" in error.said


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match=r"systems\.f\.function: expected module:function, found 'os:no'"
    ):
        made("callable", "f", {"function": "os:no"})
    with pytest.raises(ConfigurationError, match=r"expected a function of \(text\)"):
        made("callable", "f", {"function": "os:name"})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("d1", "expected a list of documents, found 'd1'"),
        ([None], "as id, found 'None'"),
        ([("a", float("nan"))], "expected a number as the score of 'a', found 'nan'"),
        ([("a", 1), ("b", 3), ("c", 2)], "neither fall nor rise from first to last: 1 before 3"),
        ([{"doc": "a"}], "expected an id, found a document with doc"),
    ],
)
def test_what_is_no_ranking_is_malformed(found: Any, words: str) -> None:
    from assay.search.systems.callable import Function

    def search(text: str) -> Any:
        return found

    error = refused(Function("f", function=search))
    assert (error.kind, error.again) == ("malformed", False)
    assert words in error.said


# databases


def sql(url: str, statement: str, **beside: Any) -> Searcher:
    return made("sql", "db", {"url": url, "statement": statement}, **beside)


def test_a_statement_that_is_wrong_fails_in_the_words_of_the_database(database: str) -> None:
    error = refused(sql(database, "SELECT id FROM nowhere WHERE :query = :query"))
    assert (error.kind, error.again) == ("failed", False)
    assert 'relation "nowhere" does not exist' in error.said


def test_postgres_stops_a_statement_that_takes_too_long(database: str) -> None:
    searcher = sql(database, "SELECT 'a', pg_sleep(30)::text")
    error = refused(searcher, timeout=0.2)
    assert (error.kind, error.again) == ("timeout", True)
    again = sql(database, "SELECT 'a'")
    assert again.ask(Query("q", ""), 1).documents == [("a", 1.0)]
    again.close()


def test_a_database_that_is_not_there_may_come_back() -> None:
    error = refused(sql("postgresql://ada:${ASSAY_TEST_KEY}@127.0.0.1:1/none", "SELECT 1"))
    assert (error.kind, error.again) == ("connection", True)


def test_a_password_in_the_url_of_a_database_comes_from_the_environment() -> None:
    with pytest.raises(ConfigurationError, match="comes from the environment") as caught:
        sql("postgresql://ada:abc-written-down@127.0.0.1:1/none", "SELECT 1")
    assert "written-down" not in str(caught.value)


def test_text_is_bound_and_never_pasted(database: str) -> None:
    searcher = sql(database, "SELECT :query::text")
    text = "'; DROP TABLE docs; --"
    assert searcher.ask(Query("q", text), 1).documents == [(text, 1.0)]
    searcher.close()


def test_distances_of_pgvector_change_their_sign(database: str) -> None:
    searcher = searches.pgvector(database)
    documents = searcher.ask(Query("q", "invoice number seven"), 2).documents
    assert documents[0] == ("7", 0.0)
    assert documents[1][1] < 0
    searcher.close()


# doubles: the adapter speaks as the documentation says


def doubled_searcher(double: Double, folder: Path) -> Searcher:
    kind = double.contract.facts["engine"].lower()
    made_: Searcher = getattr(searches, kind)(double, folder)
    return made_


def test_a_double_refuses_nothing_that_is_said(double: Double, tmp_path: Path) -> None:
    searcher = doubled_searcher(double, tmp_path)
    searcher.ask(Query("q", "reset"), 3)
    searcher.close()
    assert double.refused == []
    assert len(double.said("search")) >= 1


@pytest.mark.parametrize(
    ("fault", "kind", "again"),
    [
        ("404", "status", False),
        ("503", "status", True),
        ("break", "connection", True),
        ("hang", "timeout", True),
    ],
)
def test_a_fault_of_a_server_is_told_apart(
    double: Double, tmp_path: Path, fault: str, kind: str, again: bool
) -> None:
    searcher = doubled_searcher(double, tmp_path)
    double.faults = {"search": fault}
    error = refused(searcher, timeout=0.5 if fault == "hang" else 30)
    assert (error.kind, error.again) == (kind, again)


def test_a_key_of_qdrant_is_sent_and_not_shown(tmp_path: Path) -> None:
    with doubled("qdrant", key=SECRET) as double:
        given = {"url": double.url, "collection": "x", "api_key": "${ASSAY_TEST_KEY}"}
        error = refused(made("qdrant", "q", given, encoder=Words()))
        assert error.said.startswith(f"{double.url} answered 404")  # let in, and then no such name


@pytest.mark.parametrize(
    ("kind", "answer", "error", "again", "words"),
    [
        ("opensearch", {"hits": {"hits": []}, "timed_out": True}, "failed", True, "only a part"),
        ("opensearch", {"hits": {"hits": []}, "_shards": {"failed": 1}}, "failed", True, "only a part"),
        ("opensearch", {"took": 1}, "malformed", False, "without hits"),
        ("weaviate", {"errors": [{"message": "no such class"}]}, "failed", False, "no such class"),
        ("vespa", {"root": {"errors": [{"message": "bad yql"}]}}, "failed", False, "bad yql"),
        ("vespa", {"root": {"coverage": {"full": False}}}, "failed", True, "only a part"),
        ("vespa", [], "malformed", False, "without a root"),
        ("qdrant", {"result": {}}, "malformed", False, "expected the key 'points'"),
    ],
)
def test_an_answer_of_success_that_is_none_is_told_apart(
    kind: str, answer: Any, error: str, again: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "call", lambda *asked: answer)
    own = {"opensearch": {"index": "x"}, "vespa": {"yql": "select * from x where true"}}
    given = {"url": "http://127.0.0.1:1", **own.get(kind, {"collection": "X"})}
    found = refused(made(kind, "x", given, encoder=Words()))
    assert (found.kind, found.again) == (error, again)
    assert words in found.said


def test_an_id_in_a_field_of_opensearch_is_asked_for() -> None:
    given = {"url": "http://127.0.0.1:1", "index": "x", "document": "_source.sku"}
    body = made("opensearch", "x", given).configuration()["body"]
    assert body == {"size": "{k}", "_source": ["sku"], "query": {"multi_match": {"query": "{query}"}}}


def test_of_an_id_of_vespa_the_last_part_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = [{"id": "id:shop:item::a::7", "relevance": 0.5}, {"id": "index:0/1", "relevance": 0.25}]
    monkeypatch.setattr(Service, "call", lambda *asked: {"root": {"children": hits}})
    given = {"url": "http://127.0.0.1:1", "yql": "select * from x where userQuery()"}
    found = made("vespa", "x", given).ask(Query("q", "how"), 5).documents
    assert found == [("a::7", 0.5), ("index:0/1", 0.25)]


def test_words_are_not_put_in_the_yql_of_vespa() -> None:
    given = {"url": "http://127.0.0.1:1", "yql": 'select * from docs where text contains "{query}"'}
    with pytest.raises(ConfigurationError, match=r"only \{k\} may stand in it"):
        made("vespa", "v", given)


# indexes and encoders


class Paid(Words):
    """An encoder that somebody is paid for, and that fails at one text."""

    def vectors(self, texts: list[str], role: str) -> Any:
        if texts == ["too much"]:
            raise ModelError("limited", f"wait, {SECRET}", again=True, after=2.5)
        self.used(Usage(3, 1, 0.25))
        return super().vectors(texts, role)


def test_what_an_encoder_costs_and_how_it_fails_is_handed_on() -> None:
    searcher = made("index", "i", {}, documents=searches.TABLE, encoder=Paid())
    answer = searcher.ask(Query("q", "router"), 1)
    assert (answer.tokens, answer.cost) == (3, 0.25)
    error = refused(searcher, "too much")
    assert (error.kind, error.again, error.after) == ("limited", True, 2.5)


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_an_index_scores_exactly_as_exact_search(metric: str) -> None:
    both = [
        made("index", "i", {"engine": engine, "metric": metric}, documents=searches.TABLE, encoder=Words())
        for engine in ("exact", "faiss.hnsw")
    ]
    first, second = (one.ask(Query("q", "reset the router"), 3).documents for one in both)
    for one in both:
        one.close()
    assert [score for _, score in first] == [score for _, score in second]
    assert first[0] == ("d2", {"l2": 0.0, "ip": 3.0625, "cosine": 1.0}[metric])


def test_an_index_that_is_told_something_wrong_is_refused() -> None:
    given = {"engine": "faiss.hnsw", "search": {"efSaerch": 4}, "build": {"M": "many"}}
    with pytest.raises(ConfigurationError) as caught:
        made("index", "i", given, documents=searches.TABLE, encoder=Words())
    assert caught.value.problems == {
        "systems.i.build.M": "expected int, found 'many'",
        "systems.i.search.efSaerch": "there is no such parameter; did you mean efSearch?",
    }


# Milvus


def test_a_collection_that_is_not_there_fails(tmp_path: Path) -> None:
    searches.milvus(tmp_path).close()
    given = {"uri": str(tmp_path / "docs.db"), "collection": "nowhere"}
    error = refused(made("milvus", "m", given, encoder=Words()))
    assert (error.kind, error.again) == ("failed", False)
    assert "nowhere" in error.said
