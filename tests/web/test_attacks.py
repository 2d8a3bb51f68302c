"""What an attacker tries: scripts in every text, paths out of the folder, secrets in what is shown."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from assay.store.store import Store
from assay.web.page import Role
from assay.web.pages import MODULES
from assay.workflows.accounts import TokenRequest, create_token
from assay.workflows.annotation import CreateProjectRequest, create_project
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from tests.rag.saved_studies import save_hostile_study
from tests.web.online_evidence import save_hostile_evidence
from tests.web.releases import save_release
from tests.web.teams import (
    PASSWORD,
    add_accounts,
    create_team_app,
    fill,
    log_in,
    login_form,
    open_client,
    routes_of,
)
from tests.web.trials import save_known_trials

SCRIPT = "<xss onload=alert(1)>'\"><script>alert(2)</script>"  # in every text that can be stored
MOST_OF_A_KIND = 3  # pages and data of one address and one choice of parameters
WITHOUT_TEXTS = {"/audit"}  # it has no text but names of accounts, which are checked


def save_hostile_store(folder: Path) -> Path:
    """Save experiments, judgments, texts and a project in which every text holds a script."""
    queries, documents = folder / "queries.jsonl", folder / "documents.jsonl"
    text = SCRIPT.replace("\\", "\\\\").replace('"', '\\"')
    queries.write_text(
        "".join(f'{{"_id": "q{n}", "text": "{text}", "category": "{text}"}}\n' for n in range(3))
    )
    documents.write_text("".join(f'{{"_id": "{d}", "title": "{text}", "text": "{text}"}}\n' for d in "ab"))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 a 1\nq{n} 0 b 0\n" for n in range(3)))
    store = folder / "store"
    save_hostile_labels(folder, store)
    save_known_trials(store, f"sweep{SCRIPT}", SCRIPT)
    for name, ranking in (("a", "ab"), ("b", "ba")):
        lines = (f"q{n} Q0 {d} {r} {9 - r} t\n" for n in range(3) for r, d in enumerate(ranking, 1))
        run = folder / f"{name}.run"
        run.write_text("".join(lines))
        files = TableFiles(
            qrels=f"dataset:people{SCRIPT}",
            runs=[str(run)],
            queries=str(queries),
            documents=str(documents),
            store=str(store),
        )
        result = evaluate(
            EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True, by=["category"])
        )
        save(
            SaveRequest(name=f"{name}{SCRIPT}", store=str(store), tags=[SCRIPT], note=SCRIPT),
            result.recordings,
        )
    save_release(folder, store, SCRIPT)
    save_hostile_evidence(store, SCRIPT, (f"a{SCRIPT}", f"b{SCRIPT}"))
    save_hostile_study(store, SCRIPT)
    return store


def save_hostile_labels(folder: Path, store: Path) -> None:
    """Save two evaluation sets with labels of two judges who differ, and annotation projects."""
    (folder / "guidelines.md").write_text(SCRIPT)
    with (folder / "labels.csv").open("w") as labels:
        rows = [
            [f"q{n}", "a", f"{judge}{SCRIPT}", grade]
            for n in range(3)
            for judge, grade in (("x", 0), ("y", 1))
        ]
        csv.writer(labels).writerows([["query_id", "doc_id", "judge", "grade"], *rows])
    queries, documents = str(folder / "queries.jsonl"), str(folder / "documents.jsonl")
    for name in (f"people{SCRIPT}", f"model{SCRIPT}"):
        import_dataset(
            ImportDatasetRequest(
                name=name,
                source=str(folder / "qrels.txt"),
                queries=queries,
                judgments=str(folder / "labels.csv"),
                note=SCRIPT,
                store=str(store),
            )
        )
    for name in ("shop", f"shop{SCRIPT}"):
        create_project(
            CreateProjectRequest(
                name=name,
                pairs=str(folder / "qrels.txt"),
                grades=[f"0 {SCRIPT}", f"1 {SCRIPT}"],
                guidelines=str(folder / "guidelines.md"),
                note=SCRIPT,
                store=str(store),
                queries=queries,
                documents=documents,
            )
        )


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    store = save_hostile_store(tmp_path_factory.mktemp("hostile"))
    add_accounts(store)
    return create_team_app(store)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> TestClient:
    client = log_in(app, Role.ADMIN)
    turn = client.get("/annotate/shop.json").json()
    form = {"pair": str(turn["assignment"]["pair"]), "grade": "1", "note": SCRIPT}
    assert client.post("/annotate/shop/grade", data=form).status_code == 303
    assert client.post("/account/token", data={"label": SCRIPT}).status_code == 303
    open_client(app).post(
        "/login", data=login_form(open_client(app), name=SCRIPT), headers={"user-agent": SCRIPT}
    )
    return client


class MarkupReader(HTMLParser):
    """Reads the elements of a page: what a browser would run, and where its links go."""

    def __init__(self) -> None:
        super().__init__()
        self.dangers: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.dangers += [f"<{tag}>"] if tag == "xss" or (tag == "script" and "src" not in values) else []
        for name, value in values.items():
            is_script = value.strip().lower().startswith(("javascript:", "data:text"))
            self.dangers += [f"{tag} {name}={value}"] if name.startswith("on") or is_script else []
        self.links += [values[name] for name in ("href", "data-href", "hx-get") if name in values]


def page_of(path: str) -> str:
    """Return the page that a path belongs to, as the table of routes has it; empty: to none."""
    pages = (page.path for module in MODULES for page in module.PAGES)
    patterns = {
        page: re.sub(r"{\w+(:path)?}", lambda found: ".+" if found[1] else "[^/]+", page) for page in pages
    }
    fits = [page for page, pattern in patterns.items() if re.fullmatch(pattern, path)]
    return fits[0] if fits else ""


def crawl(client: TestClient, start: str = "/") -> Iterator[tuple[str, str]]:
    """Yield the address and the text of what links lead to: some of each page and of its data."""
    waiting = [start, "/people", "/audit", "/account", "/search?text=xss", "/no-such"]
    known, kinds = set[str](), Counter[tuple[str, ...]]()
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        is_page = not parts.netloc and parts.path.startswith("/") and not parts.path.startswith("/static")
        if address in known or not is_page:
            continue
        stem, dot, suffix = parts.path.partition(".")
        kind = page_of(stem) or stem, dot + suffix, *sorted(re.findall(r"(?:^|&)(\w+)=", parts.query))
        known.add(address)
        kinds[kind] += 1
        if kinds[kind] > MOST_OF_A_KIND:
            continue
        response = client.get(address)
        yield address, response.text
        if response.headers.get("content-type", "").startswith("text/html"):
            reader = MarkupReader()
            reader.feed(response.text)
            waiting += reader.links


def test_no_text_becomes_markup_on_any_page(client: TestClient) -> None:
    dangers, escaped = [], set[str]()
    for address, text in crawl(client):
        if text.lstrip().startswith("<!doctype"):
            reader = MarkupReader()
            reader.feed(text)
            escaped |= {page_of(urlsplit(address).path)} if "&lt;xss" in text else set()
            dangers += [(address, danger) for danger in reader.dangers]
    assert dangers == []
    assert {page.path for module in MODULES for page in module.PAGES} - escaped == WITHOUT_TEXTS


def test_data_are_never_taken_for_a_page(client: TestClient) -> None:
    response = client.get("/experiments.json")
    assert SCRIPT.split("'")[0] in response.text
    assert response.headers["content-type"].startswith("application/json")
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("where", ["/experiments?where={}", "/annotate/{}", "/experiments/{}", "/{}"])
def test_no_text_of_an_address_becomes_markup(client: TestClient, where: str) -> None:
    page = client.get(where.format("%3Cxss%20onload=alert(1)%3E%22%3E"))
    reader = MarkupReader()
    reader.feed(page.text)
    assert reader.dangers == []


OUTSIDE = (
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "%2fetc%2fpasswd",
    "....//....//etc/passwd",
    "..;/..;/etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "assay.db",
    "%00",
    "a%00b",
    "%ff%fe",
    "x" * 5000,
)


@pytest.mark.parametrize("name", OUTSIDE, ids=range(len(OUTSIDE)))
def test_no_path_leads_out(app: FastAPI, client: TestClient, name: str) -> None:
    paths = [path for method, path, _ in routes_of(app) if method == "GET" and "{" in path]
    wrong = []
    for path in [*paths, "/static/{name}", "/static/../{name}", "/static/%2e%2e/pages/{name}"]:
        response = client.get(fill(path, name))
        is_leak = (
            "root:" in response.text
            or "SQLite format" in response.text
            or "import annotations" in response.text
        )
        wrong += [(path, response.status_code)] if is_leak or response.status_code >= 500 else []
    assert wrong == []


def test_no_change_leads_out(app: FastAPI, client: TestClient) -> None:
    wrong = []
    paths = [path for method, path, _ in routes_of(app) if method == "POST" and "{" in path]
    for path in paths:
        for name in OUTSIDE:
            response = client.post(fill(path, name), data={"name": "../../x", "id": "../../x"})
            wrong += [(path, name[:20], response.status_code)] if response.status_code >= 500 else []
    assert wrong == []


def test_no_secret_is_shown_logged_or_kept(
    app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    access = app.state.access
    token = create_token(TokenRequest(name="the-admin", role="admin", store=access.store)).secret
    headers = {"Authorization": f"Bearer {token}"}
    secrets = {PASSWORD, token, client.cookies["assay"], "$argon2"}
    texts = [text for _, text in crawl(client)]
    for path in (
        "/people.json",
        "/account.json",
        "/audit.json",
        "/openapi.json",
        "/no-such.json",
        "/people/x.json",
    ):
        texts += [client.get(path).text, open_client(app).get(path, headers=headers).text]
    wrong = open_client(app).post("/people", headers=headers, data={"password": PASSWORD, "x": token})
    texts += [wrong.text, caplog.text, *capfd.readouterr()]
    assert [(secret[:6], text[:80]) for text in texts for secret in secrets if secret in text] == []
    with Store(access.store) as store, store.database.engine.connect() as connection:
        kept = "\n".join(
            str(row)
            for table in ("sessions", "api_tokens", "audit_log", "accounts")
            for row in connection.exec_driver_sql(f"SELECT * FROM {table}")
        )
    assert [secret[:6] for secret in secrets - {"$argon2"} if secret in kept] == []


def test_a_fault_shows_nothing_of_the_server(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret detail")

    client = log_in(app, Role.ADMIN)
    quiet = TestClient(
        app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False, cookies=client.cookies
    )
    monkeypatch.setattr(type(app.state.access), "csrf_token", fail)
    response = quiet.get("/experiments.json", headers={"accept": "application/json"})
    assert "a secret detail" not in response.text
    page = quiet.get("/experiments")
    assert page.status_code == 500
    assert "a secret detail" not in page.text
