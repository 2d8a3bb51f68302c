"""Tables in a terminal: as narrow as it is, with what matters left."""

from hypothesis import given
from hypothesis import strategies as st

from assay.views.sections import WIDTH, Section
from assay.views.terminal_tables import (
    drop_empty_columns,
    fit_to_terminal,
    shorten_labels,
    wrap_second_column,
)
from assay.views.text import display_width, render_table


def lines(section: Section) -> list[str]:
    return render_table(section.head, section.rows).splitlines()


def test_what_fits_stays_as_it_is() -> None:
    section = Section("one", [], ["index", "R@10"], [["hnsw", "0.9000 (0.890 … 0.910)"]])
    assert fit_to_terminal(section).rows == [["hnsw", "0.9000 (0.890 … 0.910)"]]


def test_intervals_go_below_before_a_label_is_cut_to_pieces() -> None:
    section = Section("one", [], ["index", *"abcde"], [["x" * 40, *["1,000 (900 … 1,100) *"] * 5]])
    first, second = fit_to_terminal(section).rows
    assert first == ["x" * 40, *["1,000 *"] * 5]
    assert second == ["", *["900…1,100"] * 5]


def test_where_that_is_too_wide_the_farther_end_is_told() -> None:
    section = Section("one", ["said"], ["index", *"abcdefghij"], [["x", *["0.9000 (0.890 … 0.950)"] * 10]])
    made = fit_to_terminal(section)
    assert made.rows[1] == ["", *["±0.050"] * 10]
    assert len(made.notes) == 2


@given(st.lists(st.text("ab=/ ", max_size=90), min_size=1, max_size=4), st.integers(1, 9))
def test_no_line_is_wider_than_a_terminal(labels: list[str], columns: int) -> None:
    rows = [[label, *["0.9000 (0.890 … 0.910)"] * columns] for label in labels]
    section = fit_to_terminal(Section("one", [], ["index", *["R@10"] * columns], rows))
    assert max(map(display_width, lines(section))) <= WIDTH


def test_columns_of_which_nothing_is_known_are_left_out_and_tables_of_such_too() -> None:
    section = Section("one", ["said"], ["index", "p5", "p10"], [["a", "–", "0.1"], ["b", "–", "–"]])
    assert drop_empty_columns(section).rows == [["a", "0.1"], ["b", "–"]]
    assert drop_empty_columns(section._replace(rows=[["a", "–", "–"]])) == Section("")
    assert drop_empty_columns(section._replace(rows=[])) == Section("")


def test_long_words_about_what_was_measured_go_on_below() -> None:
    said = ", ".join(f"faiss.engine{at} 1.10.0" for at in range(20))
    made = wrap_second_column(Section("one", [], ["", ""], [["K", "10"], ["versions", said]]))
    assert max(map(display_width, lines(made))) <= WIDTH
    assert [name for name, _ in made.rows][:3] == ["K", "versions", ""]
    assert " ".join(line for _, line in made.rows[1:]) == said


def test_labels_that_share_a_beginning_and_an_end_show_what_varies() -> None:
    labels = [f"adaptive inner=faiss.hnsw training=train.fbin M={m} count=4000 / budget=64" for m in (8, 16)]
    assert shorten_labels(labels, 30) == ["adaptive … M=8 …", "adaptive … M=16 …"]


def test_labels_that_vary_in_two_places_show_both() -> None:
    labels = [f"mine data=vectors M={m} seed=1 threads=2 / ef={ef} more=9" for m in (8, 16) for ef in (4, 5)]
    short = shorten_labels(labels, 24)
    assert short[0] == "mine … M=8 … ef=4 …"
    assert len(set(short)) == 4


@given(st.lists(st.text("ab=/ ", max_size=60), min_size=1, max_size=5), st.integers(12, 40))
def test_no_label_is_longer_than_allowed(labels: list[str], max_length: int) -> None:
    assert max(map(len, shorten_labels(labels, max_length))) <= max_length
