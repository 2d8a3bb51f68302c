"""Files of qrels in any format, read as the judgments of one judge."""

from __future__ import annotations

from assay.core.errors import FormatError, InputError
from assay.core.judgments import Judgments
from assay.core.tables import Qrels
from assay.datasets import judgment_lists, nested_json, query_list, trec
from assay.datasets.detection import detect_format
from assay.datasets.formats import FORMATS, Collection
from assay.datasets.input_files import InputFile

_MODULES = {"trec": trec, "json": nested_json, "guide": query_list, "judgments": judgment_lists}


def read_qrels_file(source: InputFile, name: str = "") -> Judgments:
    """Return the judgments of qrels; the judge is the name of the file."""
    name = name or detect_format(source, "qrels", {})
    if name not in _MODULES:
        raise FormatError(
            "expected judgments: rows with query_id, doc_id, judge, grade, one column of grades for each "
            "judge, qrels, a book of Quepid, or records of Argilla or Label Studio; found neither",
            source.label,
        )
    table = _MODULES[name].read(source, "qrels", {}, FORMATS[name])
    qrels = table.qrels if isinstance(table, Collection) else table
    assert isinstance(qrels, Qrels)
    return Judgments.from_qrels(qrels, source.name.removesuffix(".qrels"))


def qrels_of(judgments: Judgments, label: str) -> Qrels:
    """Return the judgments of one judge as qrels."""
    if len(judgments.judges) != 1:
        raise FormatError(
            f"qrels hold one grade for each pair, found {len(judgments.judges)} judges: write csv, jsonl or "
            "parquet, or combine them with assay judge qrels",
            label,
        )
    graded = judgments.frame.drop_nulls("grade")
    if graded.is_empty():
        raise InputError(f"{label}: expected grades, found only pairs that could not be rated")
    return Qrels(graded.select("query_id", "doc_id", "grade"))
