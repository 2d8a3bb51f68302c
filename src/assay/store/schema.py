"""The tables of the records, as the newest migration leaves them."""

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

metadata = MetaData()

experiments = Table(
    "experiments",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("body", Text, nullable=False),  # JSON of what never changes
    Column("note", Text, nullable=False, server_default=""),
    Column("pinned", Boolean, nullable=False, server_default="0"),
    Column("deleted_at", BigInteger),
    Index("experiments_by_name", "name", "at"),
    Index("experiments_by_time", "at"),
)


def _experiment() -> Column[str]:
    return Column(
        "experiment", String(16), ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True
    )


metrics = Table(
    "metrics",
    metadata,
    _experiment(),
    Column("measure", Text, primary_key=True),
    Column("column", Text, primary_key=True),
    Column("slice", Text, primary_key=True),
    Column("value", Float),
    Column("low", Float),
    Column("high", Float),
    Column("n", Integer),
    Index("metrics_by_value", "measure", "column", "slice", "value"),
)

attributes = Table(  # params, latency, figures and what else is asked for by name
    "attributes",
    metadata,
    _experiment(),
    Column("space", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("text", Text),
    Column("number", Float),
    Index("attributes_by_text", "space", "key", "text"),
    Index("attributes_by_number", "space", "key", "number"),
)

tags = Table(
    "tags", metadata, _experiment(), Column("tag", Text, primary_key=True), Index("tags_by_tag", "tag")
)

links = Table(  # which table plays which part in an experiment
    "links",
    metadata,
    _experiment(),
    Column("role", Text, primary_key=True),
    Column("digest", String(64), nullable=False),
    Index("links_by_digest", "digest"),
)
