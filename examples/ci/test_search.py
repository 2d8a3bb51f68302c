"""May the search ship? For teams that test in pytest; `assay-search` brings the fixture."""


def test_search_may_ship(assay_gate):
    """Hold the rules of assay.toml, at the top of the repository, against its candidate."""
    verdict = assay_gate(undecided="fail")  # or "skip": an undecided gate then skips the test
    print(verdict.status)
