"""Rollouts and their transitions."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "rollouts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("experiment", sa.String(32), nullable=False),
        sa.Column("baseline", sa.String(32), nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("arms", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "rollout_transitions",
        sa.Column("rollout", sa.String(64), sa.ForeignKey("rollouts.name"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.String(12), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("is_skipped", sa.Boolean, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
    )
    op.create_index("rollout_transitions_by_time", "rollout_transitions", ["at"])
