"""Whether one query reformulates another: they differ, and share a word or are near by edit distance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.online.event_tables import load_ibis

if TYPE_CHECKING:
    from ibis.expr.types import Value

_SEPARATORS = r"""[ \t\r\n.,;:!?"()/]+"""
NEAR_SHARE = 3  # near: the edit distance is at most a third of the longer query
_FUNCTION = "assay_edit_distance"
_UNUSED = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # a query in lower case has none of them
# The distance of DuckDB is of bytes: other characters than ASCII are replaced by unused letters first.
_DUCKDB = f"""
CREATE OR REPLACE TEMP MACRO assay_rare_letters(a, b) AS
  left(array_to_string(list_distinct(regexp_extract_all(a || b, '[^\\x00-\\x7F]')), ''), 26);
CREATE OR REPLACE TEMP MACRO assay_plain_letters(text, rare) AS
  translate(text, rare, left('{_UNUSED}', length(rare)::INT));
CREATE OR REPLACE TEMP MACRO {_FUNCTION}(a, b) AS
  CASE WHEN strlen(a) = length(a) AND strlen(b) = length(b) THEN levenshtein(a, b)
  ELSE levenshtein(assay_plain_letters(a, assay_rare_letters(a, b)),
                   assay_plain_letters(b, assay_rare_letters(a, b))) END"""
# PostgreSQL has the distance in an extension that may be missing, and for up to 255 bytes.
_POSTGRES = f"""CREATE OR REPLACE FUNCTION pg_temp.{_FUNCTION}(a text, b text) RETURNS int AS $$
DECLARE previous int[]; present int[]; cost int; n int := length(b);
BEGIN
  IF a IS NULL OR b IS NULL THEN RETURN NULL; END IF;
  previous := ARRAY(SELECT generate_series(0, n));
  FOR i IN 1..length(a) LOOP
    present := ARRAY[i];
    FOR j IN 1..n LOOP
      cost := CASE WHEN substr(a, i, 1) = substr(b, j, 1) THEN 0 ELSE 1 END;
      present[j + 1] := LEAST(previous[j + 1] + 1, present[j] + 1, previous[j] + cost);
    END LOOP;
    previous := present;
  END LOOP;
  RETURN previous[n + 1];
END $$ LANGUAGE plpgsql IMMUTABLE"""
_DEFINITIONS = {"duckdb": _DUCKDB, "postgres": _POSTGRES}


def is_similar(first: Value, second: Value, backend: Any = None) -> Value:
    """Return whether two texts differ, and share a word or are near by edit distance."""
    ibis = load_ibis()
    a, b = _normalise(first), _normalise(second)
    shares_word = a.split(" ").intersect(b.split(" ")).length() > 0
    longer = ibis.greatest(a.length(), b.length())
    is_as_long = (a.length() - b.length()).abs() * NEAR_SHARE <= longer
    distance = _edit_distance(backend)(a, b)
    is_near = ibis.cases((is_as_long, distance * NEAR_SHARE <= longer), else_=ibis.literal(False))
    return ibis.cases((a == b, ibis.literal(False)), (shares_word, ibis.literal(True)), else_=is_near)


def _normalise(text: Value) -> Value:
    """Return a text in lower case with one space between words."""
    return text.lower().re_replace(_SEPARATORS, " ").strip()


def _edit_distance(backend: Any) -> Callable[[Value, Value], Value]:
    """Return the function that counts characters to insert, delete or replace, where the texts are."""
    name = backend.name if backend is not None else ""
    if name not in _DEFINITIONS:
        return lambda a, b: a.levenshtein(b)
    backend.raw_sql(_DEFINITIONS[name])
    return _edit_distance_function("pg_temp" if name == "postgres" else None)


@cache
def _edit_distance_function(schema: str | None) -> Callable[[Value, Value], Value]:
    """Return our own function of the database."""
    make = load_ibis().udf.scalar.builtin(database=schema, signature=(("string", "string"), "int32"))

    def assay_edit_distance(a, b):  # type: ignore[no-untyped-def]
        """Return the edit distance."""

    function: Callable[[Value, Value], Value] = make(assay_edit_distance)
    return function
