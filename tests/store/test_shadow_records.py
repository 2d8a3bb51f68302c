"""A shadow report is kept under the name of its rollout."""

from pathlib import Path

from assay.store.store import Store


def test_a_shadow_report_is_read_back_with_its_links(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    body, links = {"counts": {"compared": 3}}, {"candidate": "e2"}
    saved = store.save_shadow_report("ranker", body, links)
    store.save_ab_test("ranker", {}, {})
    (record,) = store.shadow_reports()
    assert (record.id, record.name, record.body, record.links) == (saved, "ranker", body, links)
