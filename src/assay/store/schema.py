"""The tables of the database after the newest migration.

Some names are older than the second kind of record: the table of all records is called `experiments`, and
the column that refers to it `experiment`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

MAX_INDEXED_CHARACTERS = 500  # of a text that a filter compares
metadata = MetaData()

records = Table(
    "experiments",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("body", Text, nullable=False),  # JSON; never changes
    Column("note", Text, nullable=False, server_default=""),
    Column("pinned", Boolean, nullable=False, server_default="0"),
    Column("deleted_at", BigInteger),
    Index("experiments_by_name", "name", "at"),
    Index("experiments_by_time", "at"),
)


def _record_column() -> Column[str]:
    owner = ForeignKey("experiments.id", ondelete="CASCADE")
    return Column("experiment", String(16), owner, key="record", primary_key=True)


metrics = Table(
    "metrics",
    metadata,
    _record_column(),
    Column("measure", Text, primary_key=True),
    Column("column", Text, primary_key=True),
    Column("slice", Text, primary_key=True),
    Column("value", Float),
    Column("low", Float),
    Column("high", Float),
    Column("n", Integer),
    Index("metrics_by_value", "measure", "column", "slice", "value"),
)

attributes = Table(  # values that filters compare: params, latency, figures and others
    "attributes",
    metadata,
    _record_column(),
    Column("space", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("text", Text),
    Column("number", Float),
    Index("attributes_by_text", "space", "key", "text"),
    Index("attributes_by_number", "space", "key", "number"),
)

tags = Table(
    "tags", metadata, _record_column(), Column("tag", Text, primary_key=True), Index("tags_by_tag", "tag")
)

links = Table(  # the tables of a record by role
    "links",
    metadata,
    _record_column(),
    Column("role", Text, primary_key=True),
    Column("digest", String(64), nullable=False),
    Index("links_by_digest", "digest"),
)
