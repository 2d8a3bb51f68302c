"""A measure is a value: it prints, compares and reads back, and a wrong one is refused when made."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.core.errors import InputError, MeasureError
from assay.measures import ALIASES, DEFINITIONS, Measure, default_measure, parse
from tests.reference_measures import quick

OURS = [name for name, made in DEFINITIONS.items() if not hasattr(made.formula, "own")]
UNIT = st.floats(0, 1, exclude_min=True, exclude_max=True)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "rel": st.integers(1, 99),
    "gain": st.sampled_from(["linear", "exp"]),
    "delta": UNIT | st.sampled_from([1, 1.0, 0.07]),
    "p": UNIT,
    "beta": st.floats(0, 1e300, exclude_min=True) | st.integers(1, 9),
    "q": UNIT | st.sampled_from([0, 1]),
    "max_grade": st.integers(1, 99),
}
WRONG = {
    "": "expected a measure such as nDCG@10, found ''",
    "  ": "expected a measure such as nDCG@10, found '  '",
    "nDCG@": "expected a measure such as nDCG@10, found 'nDCG@'",
    "P + R": "expected a measure such as nDCG@10, found 'P + R'",
    "10": "expected a measure such as nDCG@10, found '10'",
    "P(rel=1": "expected a measure such as nDCG@10",
    "P(rel=1, rel=2)": "expected a measure such as nDCG@10",
    "Robustness-x@10": "expected a measure such as nDCG@10",
    "P; R": "expected a measure such as nDCG@10",
    "P\0": "expected a measure such as nDCG@10",
    "nDGC@10": "there is no measure 'nDGC' (in 'nDGC@10'); did you mean nDCG?",
    "zzz": "there is no measure 'zzz' (in 'zzz'); known: P, R, RCap",
    "P@0": "P: the cutoff must be a whole number from 1 to 1,000,000,000, found 0",
    "P@-5": "P: the cutoff must be a whole number from 1 to 1,000,000,000, found -5",
    "P@2.5": "P: the cutoff must be a whole number from 1 to 1,000,000,000, found 2.5",
    "P@99999999999999999999": "P: the cutoff must be a whole number from 1 to 1,000,000,000",
    "P@10@5": "expected a measure such as nDCG@10, found 'P@10@5'",
    "P@True": "P: the cutoff must be a number, found True",
    "nDCG@'5'": "nDCG: the cutoff must be a number, found '5'",
    "Rprec@5": "Rprec takes no cutoff, found @5",
    "IPrec@1.5": "IPrec: the recall level must be 0 to 1, found 1.5",
    "RCap": "RCap needs a cutoff: RCap@10",
    "ZeroHit": "ZeroHit needs a cutoff: ZeroHit@10",
    "IPrec": "IPrec needs a cutoff: IPrec@0.1",
    "Robustness@10": "Robustness needs delta: Robustness(delta=0.3)",
    "Robustness-0.3": "Robustness needs a cutoff: Robustness@10",
    "Quantile": "Quantile needs of: Quantile(of=R@10)",
    "Quantile(RCap)": "RCap needs a cutoff",
    "P(rel=0)@5": "P: rel must be a whole number of at least 1, found 0",
    "P(rel=-1)@5": "P: rel must be a whole number of at least 1, found -1",
    "P(rel=1.0)@5": "P: rel must be a whole number of at least 1, found 1.0",
    "P(rel=True)@5": "P: rel must be a whole number of at least 1, found True",
    "P(rel=None)@5": "P: rel must be a whole number of at least 1, found None",
    "P(rel='1')@5": "P: rel must be a whole number of at least 1, found '1'",
    "P(level=2)@5": "P has no parameter 'level'; it has rel",
    "P(1, 2)@5": "P takes rel, found 2 values",
    "P(1, rel=2)@5": "P got rel twice",
    "Judged(rel=1)": "Judged has no parameter 'rel'; it has no parameters",
    "nDCG(gain='log')": "nDCG: gain must be 'linear' or 'exp', found 'log'",
    "Robustness(delta=0)@10": "Robustness: delta must be a number above 0, at most 1, found 0",
    "Robustness(delta=1.1)@10": "Robustness: delta must be a number above 0, at most 1, found 1.1",
    "Robustness(delta='x')@10": "Robustness: delta must be a number above 0, at most 1, found 'x'",
    "RBP(p=1)": "RBP: p must be a number between 0 and 1, found 1",
    "RBP(p=0)": "RBP: p must be a number between 0 and 1, found 0",
    "F(beta=0)": "F: beta must be a number above 0, found 0",
    "F(beta=1e999)": "F: beta must be a number above 0, found inf",
    "ERR(max_grade=0)": "ERR: max_grade must be a whole number of at least 1, found 0",
    "Quantile(R@10, 2)": "Quantile: q must be a number from 0 to 1, found 2",
    "Quantile(R@10, -0.1)": "Quantile: q must be a number from 0 to 1, found -0.1",
    "Quantile(gmAP)": "Quantile: of must be a measure with a value for each query, found gmAP",
    "Quantile(5)": "Quantile: of must be a measure with a value for each query, found 5",
}


@st.composite
def measures(draw: st.DrawFn, names: tuple[str, ...] = tuple(OURS)) -> Measure:
    """Any measure with any parameters and any cutoff."""
    result = default_measure(draw(st.sampled_from(names)))
    definition, params = result.definition, dict[str, object]()
    for name, default in definition.defaults.items():
        if name == "of":
            inner = tuple(n for n in OURS if DEFINITIONS[n].kind in ("mean", "share"))
            params[name] = draw(measures(inner))
        elif name == "delta" or draw(st.booleans()):
            params[name] = draw(VALUES[name] | (st.none() if default is None else st.nothing()))
    result = result(**params)
    if definition.cutoff == "recall":
        return result @ draw(st.floats(0, 1) | st.sampled_from([0, 1]))
    if definition.cutoff == "required" or (definition.cutoff == "optional" and draw(st.booleans())):
        return result @ draw(st.integers(1, 10_000))
    return result


@settings(quick, max_examples=500)
@given(measures())
def test_reading_what_was_printed_gives_the_same_measure(made: Measure) -> None:
    second_result = parse(str(made))
    assert second_result == made
    assert str(second_result) == str(made) == repr(made)
    assert hash(second_result) == hash(made)
    assert (second_result.params, second_result.cutoff, second_result.name) == (
        made.params,
        made.cutoff,
        made.name,
    )


@quick
@given(measures())
def test_a_measure_that_is_parsed_is_itself(made: Measure) -> None:
    assert parse(made) is made
    assert parse(f"  {made}  ") == made


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_measure_fails_when_it_is_made(text: str) -> None:
    with pytest.raises(MeasureError) as caught:
        parse(text)
    assert str(caught.value).startswith(WRONG[text])
    assert isinstance(caught.value, InputError)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", OURS)
def test_every_measure_has_a_sentence_that_says_what_it_is(name: str) -> None:
    text = DEFINITIONS[name].text
    assert text[0].isupper()
    assert text.splitlines()[0].rstrip().endswith(".")


@pytest.mark.parametrize("name", [name for name in OURS if name.isidentifier()])
def test_every_measure_stands_at_the_front_door(name: str) -> None:
    assert getattr(assay, name) == default_measure(name)
    assert name in dir(assay)


def test_a_bad_parameter_fails_in_python_as_in_text() -> None:
    with pytest.raises(MeasureError, match="rel must be a whole number"):
        assay.P(rel=0)
    with pytest.raises(MeasureError, match="cutoff must be a whole number from 1"):
        assay.nDCG @ 0
    with pytest.raises(MeasureError, match="RCap needs a cutoff"):
        assay.Quantile(assay.RCap, 0.1)


def test_operators_and_text_make_the_same_measure() -> None:
    assert assay.P(rel=2) @ 10 == parse("P(rel=2)@10")
    assert assay.Robustness(0.3) @ 10 == parse("Robustness-0.3@10")
    assert assay.Quantile(assay.R @ 10, 0.05) == parse("Quantile(R@10, 0.05)")
    assert assay.Quantile("R@10", q=0.05) == parse("Quantile(of=R@10, q=0.05)")


def test_a_measure_is_never_changed_by_what_is_made_of_it() -> None:
    plain = assay.P
    result = plain(rel=3) @ 5
    assert (str(plain), str(result), str(result @ 7)) == ("P", "P(rel=3)@5", "P(rel=3)@7")
    assert result != plain
    assert len({result, parse("P(rel=3)@5"), plain}) == 2


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@10", "nDCG@10"),
        ("MAP", "AP"),
        ("mrr@10", "RR@10"),
        ("HitRate@5", "Success@5"),
        ("recall@100", "R@100"),
        ("precision@5", "P@5"),
        ("F1@3", "F@3"),
        ("GMAP", "gmAP"),
        ("11PT", "11pt"),
        ("Quantile(11pt, 0.1)", "Quantile(11pt, 0.1)"),
        ("P(rel=1)@5", "P@5"),
        ("F(beta=1)", "F"),
        ("Robustness-1@10", "Robustness(delta=1.0)@10"),
        ("robustness-.5@10", "Robustness(delta=0.5)@10"),
        ("nDCG @ 10", "nDCG@10"),
        ("IPrec@0", "IPrec@0.0"),
        ("Quantile(R@10, 0.5)", "Quantile(R@10)"),
    ],
)
def test_other_spellings_are_read_and_one_is_printed(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


def test_no_name_stands_for_two_measures() -> None:
    assert {ALIASES[name.lower()] for name in OURS} == set(OURS)


@pytest.mark.parametrize(
    ("text", "depth"), [("nDCG@10", 10), ("AP", None), ("IPrec@1.0", None), ("Quantile(R@7, 0.1)", 7)]
)
def test_the_depth_is_where_a_measure_stops_looking(text: str, depth: int | None) -> None:
    assert parse(text).depth == depth


def test_robustness_is_read_in_its_short_form_inside_a_quantile() -> None:
    assert str(parse("Quantile(Robustness-0.3@10, 0.1)")) == "Quantile(Robustness(delta=0.3)@10, 0.1)"


def test_what_is_neither_text_nor_a_measure_is_refused() -> None:
    with pytest.raises(MeasureError, match="expected a measure such as nDCG@10, found 5"):
        parse(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("recall_100", "R@100"),
        ("map", "AP"),
        ("P_5", "P@5"),
        ("recip_rank", "RR"),
    ],
)
def test_the_names_of_trec_eval_are_read(theirs: str, ours: str) -> None:
    assert parse(theirs) == parse(ours)


def test_a_gain_may_be_written_without_quotes() -> None:
    assert parse("nDCG(gain=exp)@10") == parse("nDCG(gain='exp')@10")


def test_every_measure_is_declared_for_type_checkers() -> None:
    text = Path(assay.__file__).read_text(encoding="utf-8")
    assert sorted(re.findall(r"^    (\w+): Measure$", text, re.M)) == sorted(
        name for name in OURS if name.isidentifier()
    )


def test_a_word_in_place_of_a_number_is_named_with_its_parameter() -> None:
    with pytest.raises(MeasureError, match="P: rel must be a whole number of at least 1, found 'x'"):
        parse("P(rel=x)@10")
