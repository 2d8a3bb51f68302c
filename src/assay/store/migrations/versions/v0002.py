"""Pins and soft deletion."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add both columns; existing records are neither pinned nor deleted."""
    op.add_column("experiments", sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("experiments", sa.Column("deleted_at", sa.BigInteger))
