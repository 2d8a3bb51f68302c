"""Static files: bundles, compression, and files that the browser has already."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.web.access import Access
from assay.web.app import create_app

STATIC = Path(__file__).parents[2] / "src" / "assay" / "web" / "static"


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return TestClient(create_app(Access(str(tmp_path))), base_url="http://127.0.0.1:8765")


def test_every_file_is_sent_as_it_is(client: TestClient) -> None:
    for path in STATIC.iterdir():
        assert client.get(f"/static/{path.name}").content == path.read_bytes()


def test_the_style_sheets_of_every_page_are_one_file(client: TestClient) -> None:
    parts = [(STATIC / name).read_text() for name in ("style.css", "pages.css")]
    answer = client.get("/static/base.css")
    assert answer.text == "\n".join(parts)
    assert answer.headers["content-type"] == "text/css; charset=utf-8"


def test_a_file_is_compressed_for_those_who_can_read_it(client: TestClient) -> None:
    answer = client.get("/static/vega.min.js", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.content) / 2
    plain = client.get("/static/vega.min.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content


def test_a_file_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/static/app.js")
    again = client.get("/static/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "public, max-age=3600"


@pytest.mark.parametrize("name", ["no-such.js", "../app.py", "..%2Fapp.py", ""])
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_files_are_only_read(client: TestClient) -> None:
    token = client.get("/jobs").text.partition('"X-CSRF-Token": "')[2].partition('"')[0]
    assert client.post("/static/app.js", headers={"X-CSRF-Token": token}).status_code == 405
