"""Experiments with their metrics, attributes, tags and links."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("experiments_by_name", "experiments", ["name", "at"])
    op.create_index("experiments_by_time", "experiments", ["at"])
    op.create_table(
        "metrics",
        _experiment(),
        sa.Column("measure", sa.Text, primary_key=True),
        sa.Column("column", sa.Text, primary_key=True),
        sa.Column("slice", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Float) for name in ("value", "low", "high")),
        sa.Column("n", sa.Integer),
    )
    op.create_index("metrics_by_value", "metrics", ["measure", "column", "slice", "value"])
    op.create_table(
        "attributes",
        _experiment(),
        sa.Column("space", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("text", sa.Text),
        sa.Column("number", sa.Float),
    )
    op.create_index("attributes_by_text", "attributes", ["space", "key", "text"])
    op.create_index("attributes_by_number", "attributes", ["space", "key", "number"])
    op.create_table("tags", _experiment(), sa.Column("tag", sa.Text, primary_key=True))
    op.create_index("tags_by_tag", "tags", ["tag"])
    op.create_table(
        "links",
        _experiment(),
        sa.Column("role", sa.Text, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    op.create_index("links_by_digest", "links", ["digest"])


def _experiment() -> sa.Column[str]:
    owner = sa.ForeignKey("experiments.id", ondelete="CASCADE")
    return sa.Column("experiment", sa.String(16), owner, primary_key=True)
