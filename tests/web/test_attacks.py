"""What an attacker tries: scripts in every text, paths out of the folder, secrets in what is shown."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from assay.store.store import Store
from assay.web.page import Role
from assay.workflows.accounts import TokenRequest, create_token
from assay.workflows.annotation import CreateProjectRequest, create_project
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from tests.web.online_evidence import save_hostile_evidence
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

SCRIPT = "<xss onload=alert(1)>'\"><script>alert(2)</script>"  # in every text that can be stored
MAX_PAGES = 120


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
    for name, ranking in (("a", "ab"), ("b", "ba")):
        lines = (f"q{n} Q0 {d} {r} {9 - r} t\n" for n in range(3) for r, d in enumerate(ranking, 1))
        run = folder / f"{name}.run"
        run.write_text("".join(lines))
        files = TableFiles(
            qrels=str(folder / "qrels.txt"), runs=[str(run)], queries=str(queries), documents=str(documents)
        )
        result = evaluate(
            EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True, by=["category"])
        )
        save(
            SaveRequest(name=f"{name}{SCRIPT}", store=str(store), tags=[SCRIPT], note=SCRIPT),
            result.recordings,
        )
    guidelines = folder / "guidelines.md"
    guidelines.write_text(SCRIPT)
    create_project(
        CreateProjectRequest(
            name="shop",
            pairs=str(folder / "qrels.txt"),
            grades=[f"0 {SCRIPT}", f"1 {SCRIPT}"],
            queries=str(queries),
            documents=str(documents),
            guidelines=str(guidelines),
            note=SCRIPT,
            store=str(store),
        )
    )
    save_hostile_evidence(store, SCRIPT, (f"a{SCRIPT}", f"b{SCRIPT}"))
    return store


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
        self.links += [values[name] for name in ("href", "data-href") if name in values]


def crawl(client: TestClient, start: str = "/") -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page that links lead to, one of each kind of query."""
    waiting = [start, "/people", "/audit", "/account", "/search?text=xss", "/no-such"]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting and len(seen) < MAX_PAGES:
        address = waiting.pop(0)
        parts = urlsplit(address)
        kind = parts.path, tuple(sorted(re.findall(r"(?:^|&)(\w+)=", parts.query)))
        if parts.netloc or not parts.path.startswith("/") or parts.path.startswith("/static") or kind in seen:
            continue
        seen.add(kind)
        response = client.get(address)
        yield address, response.text
        if response.headers.get("content-type", "").startswith("text/html"):
            reader = MarkupReader()
            reader.feed(response.text)
            waiting += reader.links


def test_no_text_becomes_markup_on_any_page(client: TestClient) -> None:
    pages, dangers, escaped = 0, [], 0
    for address, text in crawl(client):
        if text.lstrip().startswith("<!doctype"):
            reader = MarkupReader()
            reader.feed(text)
            pages, escaped = pages + 1, escaped + ("&lt;xss" in text)
            dangers += [(address, danger) for danger in reader.dangers]
    assert dangers == []
    assert escaped > 8
    assert pages > 15


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
