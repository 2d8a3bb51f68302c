"""Jobs of the dashboard with their logs, and saved filters."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables."""
    _create_jobs()
    op.create_table(
        "job_lines",
        sa.Column("job", sa.String(16), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "saved_filters",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("is_cancelled", sa.Boolean, nullable=False),
        sa.Column("done", sa.Integer),
        sa.Column("total", sa.Integer),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
    )
    op.create_index("jobs_by_time", "jobs", ["created_at"])
