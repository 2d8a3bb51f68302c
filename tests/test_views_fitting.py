"""Tables in a terminal: as narrow as it is, with what matters left."""

from hypothesis import given
from hypothesis import strategies as st

from assay.views.fitting import fitted, known, wrapped
from assay.views.sections import WIDTH, Section
from assay.views.text import table, width


def lines(section: Section) -> list[str]:
    return table(section.head, section.rows).splitlines()


def test_what_fits_stays_as_it_is() -> None:
    section = Section("one", [], ["index", "R@10"], [["hnsw", "0.9000 (0.890 … 0.910)"]])
    assert fitted(section).rows == [["hnsw", "0.9000 (0.890 … 0.910)"]]


def test_intervals_go_below_before_a_label_is_cut_to_pieces() -> None:
    section = Section("one", [], ["index", *"abcde"], [["x" * 40, *["1,000 (900 … 1,100) *"] * 5]])
    first, second = fitted(section).rows
    assert first == ["x" * 40, *["1,000 *"] * 5]
    assert second == ["", *["900…1,100"] * 5]


def test_where_that_is_too_wide_the_farther_end_is_told() -> None:
    section = Section("one", ["said"], ["index", *"abcdefghij"], [["x", *["0.9000 (0.890 … 0.950)"] * 10]])
    made = fitted(section)
    assert made.rows[1] == ["", *["±0.050"] * 10]
    assert len(made.notes) == 2


@given(st.lists(st.text("ab=/ ", max_size=90), min_size=1, max_size=4), st.integers(1, 9))
def test_no_line_is_wider_than_a_terminal(labels: list[str], columns: int) -> None:
    rows = [[label, *["0.9000 (0.890 … 0.910)"] * columns] for label in labels]
    section = fitted(Section("one", [], ["index", *["R@10"] * columns], rows))
    assert max(map(width, lines(section))) <= WIDTH


def test_columns_of_which_nothing_is_known_are_left_out_and_tables_of_such_too() -> None:
    section = Section("one", ["said"], ["index", "p5", "p10"], [["a", "–", "0.1"], ["b", "–", "–"]])
    assert known(section).rows == [["a", "0.1"], ["b", "–"]]
    assert known(section._replace(rows=[["a", "–", "–"]])) == Section("")
    assert known(section._replace(rows=[])) == Section("")


def test_long_words_about_what_was_measured_go_on_below() -> None:
    said = ", ".join(f"faiss.engine{at} 1.10.0" for at in range(20))
    made = wrapped(Section("one", [], ["", ""], [["K", "10"], ["versions", said]]))
    assert max(map(width, lines(made))) <= WIDTH
    assert [name for name, _ in made.rows][:3] == ["K", "versions", ""]
    assert " ".join(line for _, line in made.rows[1:]) == said
