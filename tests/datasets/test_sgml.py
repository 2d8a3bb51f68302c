"""TREC SGML: documents and topics."""

from pathlib import Path

import pytest

from assay.core.errors import FormatError
from assay.core.tables import Documents, Queries
from assay.datasets import read

DOCUMENTS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<DATE>910514</DATE>
<HEADLINE>
FT  14 MAY 91 / Rates &amp; yields
</HEADLINE>
<TEXT>
<P>Rates rose
again.</P>
</TEXT>
<TEXT>Yields fell.</TEXT>
</DOC>
<doc><docno>LA-2</docno><p>no text element</p></doc>
"""
TOPICS = """
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate
in international crime.

<narr> Narrative:
A relevant document names one.
</top>

<top>
<num>302</num>
<title>Poliomyelitis</title>
</top>
"""


def test_documents_have_their_id_title_and_text(tmp_path: Path) -> None:
    (tmp_path / "ft").write_text(DOCUMENTS)
    documents = read(tmp_path / "ft")
    assert isinstance(documents, Documents)
    assert documents.columns == {
        "doc_id": ["FT911-1", "LA-2"],
        "title": ["FT 14 MAY 91 / Rates & yields", None],
        "text": ["Rates rose again.\nYields fell.", "no text element"],
    }


def test_topics_are_queries_with_description_and_narrative(tmp_path: Path) -> None:
    (tmp_path / "topics.301-302").write_text(TOPICS)
    queries = read(tmp_path / "topics.301-302")
    assert isinstance(queries, Queries)
    assert queries.columns == {
        "query_id": ["301", "302"],
        "text": ["International Organized Crime", "Poliomyelitis"],
        "description": ["Identify organizations that participate in international crime.", None],
        "narrative": ["A relevant document names one.", None],
    }


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("<DOC>\n<DOCNO>a</DOCNO>\n<TEXT>x</TEXT>\n", None, r"f:1: <DOC> is not closed: expected </DOC>"),
        ("<DOC>\n<TEXT>x</TEXT>\n</DOC>", None, r"f:1: expected <DOCNO> with the id of the document"),
        ("<top>\n<title>x\n</top>", None, r"f:1: expected <num> with the number of the topic"),
        (TOPICS, "documents", r"expected documents as TREC SGML, found queries"),
        ("<DOC><DOCNO>a</DOCNO></DOC>\n<DOC><DOCNO>a</DOCNO></DOC>", None, r"f:2: doc_id 'a' appears twice"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, kind: None, problem: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "f", kind)
