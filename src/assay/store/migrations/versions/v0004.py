"""Texts of documents that rankings show, and the numbers of systems."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables; existing records have no texts, and their systems get numbers when shown."""
    op.create_table(
        "document_texts",
        sa.Column("collection", sa.String(64), primary_key=True),
        sa.Column("doc_id", sa.Text, primary_key=True),
        sa.Column("fields", sa.Text, nullable=False),
    )
    op.create_table(
        "system_numbers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
    )
