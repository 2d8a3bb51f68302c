"""Annotation projects: pairs, what raters read, assignments and labels."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    op.create_table("annotation_projects", _experiment(), sa.Column("closed_at", sa.BigInteger))
    op.create_table(
        "annotation_texts",
        _experiment(),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("item", sa.Text, primary_key=True),
        sa.Column("fields", sa.Text, nullable=False),
    )
    _create_pairs()
    _create_assignments()
    _create_labels()
    op.create_table(
        "annotation_raters",
        _experiment(),
        sa.Column("rater", sa.Text, primary_key=True),
        sa.Column("resumed_at", sa.BigInteger, nullable=False),
    )


def _create_pairs() -> None:
    op.create_table(
        "annotation_pairs",
        _experiment(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("doc_id", sa.Text, nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("gold_grade", sa.Float),
        sa.Column("gold_note", sa.Text, nullable=False, server_default=""),
        sa.Column("inclusion_probability", sa.Float),
        sa.Column("is_full", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    table = "annotation_pairs"
    op.create_index("annotation_pairs_by_role", table, ["experiment", "role", "is_full", "number"])
    op.create_index("annotation_pairs_by_ids", table, ["experiment", "query_id", "doc_id"])


def _create_assignments() -> None:
    op.create_table(
        "annotation_assignments",
        _experiment(),
        sa.Column("pair", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("rater", sa.Text, primary_key=True),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("shown_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("label", sa.Integer),
    )
    table = "annotation_assignments"
    op.create_index("annotation_assignments_by_rater", table, ["experiment", "rater", "state"])
    op.create_index("annotation_assignments_by_order", table, ["experiment", "rater", "pair"])


def _create_labels() -> None:
    op.create_table(
        "annotation_labels",
        _experiment(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pair", sa.Integer, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("action", sa.String(12), nullable=False),
        sa.Column("grade", sa.Float),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("source", sa.Text, nullable=False, server_default=""),
        sa.Column("shown_at", sa.BigInteger),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    table = "annotation_labels"
    op.create_index("annotation_labels_by_pair", table, ["experiment", "pair"])
    op.create_index("annotation_labels_by_rater", table, ["experiment", "rater", "number"])


def _experiment() -> sa.Column[str]:
    owner = sa.ForeignKey("experiments.id", ondelete="CASCADE")
    return sa.Column("experiment", sa.String(16), owner, primary_key=True)
