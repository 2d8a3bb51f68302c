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

annotation_projects = Table(  # what changes of a project; a row is locked while a rater gets or saves a pair
    "annotation_projects", metadata, _record_column(), Column("closed_at", BigInteger)
)

annotation_texts = Table(  # what raters read of queries and documents
    "annotation_texts",
    metadata,
    _record_column(),
    Column("kind", String(8), primary_key=True),  # query or document
    Column("item", Text, primary_key=True),  # the id
    Column("fields", Text, nullable=False),  # JSON
)

annotation_pairs = Table(
    "annotation_pairs",
    metadata,
    _record_column(),
    Column("number", Integer, primary_key=True, autoincrement=False),  # its place in the shuffled order
    Column("query_id", Text, nullable=False),
    Column("doc_id", Text, nullable=False),
    Column("role", String(8), nullable=False),  # counted, gold or training
    Column("gold_grade", Float),
    Column("gold_note", Text, nullable=False, server_default=""),
    Column("inclusion_probability", Float),
    Column("is_full", Boolean, nullable=False, server_default="0"),  # has all its judgments
    Index("annotation_pairs_by_role", "record", "role", "is_full", "number"),
    Index("annotation_pairs_by_ids", "record", "query_id", "doc_id"),
)

annotation_assignments = Table(  # the present state of a pair for a rater
    "annotation_assignments",
    metadata,
    _record_column(),
    Column("pair", Integer, primary_key=True, autoincrement=False),
    Column("rater", Text, primary_key=True),
    Column("state", String(8), nullable=False),  # open, labelled, skipped or later
    Column("shown_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),  # of an open assignment
    Column("label", Integer),  # the number of the valid label, or of the row that set the pair aside
    Index("annotation_assignments_by_rater", "record", "rater", "state"),
    Index("annotation_assignments_by_order", "record", "rater", "pair"),
)

annotation_labels = Table(  # everything that raters did, in order; rows are only added
    "annotation_labels",
    metadata,
    _record_column(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("pair", Integer, nullable=False),
    Column("rater", Text, nullable=False),
    Column("action", String(12), nullable=False),  # grade, cannot_rate, skip, later or undo
    Column("grade", Float),
    Column("note", Text, nullable=False, server_default=""),
    Column("source", Text, nullable=False, server_default=""),
    Column("shown_at", BigInteger),
    Column("at", BigInteger, nullable=False),
    Index("annotation_labels_by_pair", "record", "pair"),
    Index("annotation_labels_by_rater", "record", "rater", "number"),
)

annotation_raters = Table(  # raters who may go on after a pause
    "annotation_raters",
    metadata,
    _record_column(),
    Column("rater", Text, primary_key=True),
    Column("resumed_at", BigInteger, nullable=False),  # earlier answers to gold questions no longer pause
)

document_texts = Table(  # what rankings show of documents, once for all records
    "document_texts",
    metadata,
    Column("collection", String(64), primary_key=True),  # the digest of all documents
    Column("doc_id", Text, primary_key=True),
    Column("fields", Text, nullable=False),  # JSON
)

system_numbers = Table(  # the colour and shape of a system on every page
    "system_numbers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("number", Integer, nullable=False),
)

accounts = Table(  # people and programs that use the dashboard
    "accounts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(8), nullable=False),  # viewer, judge, engineer or admin
    Column("password", Text),  # its Argon2 hash; none: logs in elsewhere, or by token only
    Column("subject", Text),  # who the OIDC provider says it is: its issuer and its id there
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
    Index("accounts_by_subject", "subject", unique=True),
)

sessions = Table(  # logins that are open
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the secret in the cookie
    Column("account", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("address", Text, nullable=False),
    Column("agent", Text, nullable=False),  # the browser, as it names itself
    Index("sessions_by_account", "account"),
)

api_tokens = Table(  # what programs send instead of a password
    "api_tokens",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the token
    Column("account", String(64), nullable=False),
    Column("label", Text, nullable=False),
    Column("role", String(8), nullable=False),  # the most that it may do
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Index("api_tokens_by_account", "account"),
)

audit_log = Table(  # who did what, when and from where; rows are only added
    "audit_log",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("account", String(64), nullable=False),  # empty: nobody was logged in
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index("audit_log_by_time", "at", "id"),
    Index("audit_log_by_account", "account", "at"),
)

jobs = Table(  # long work that pages started
    "jobs",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("kind", String(16), nullable=False),  # evaluate, run, bench or judge
    Column("title", Text, nullable=False),
    Column("request", Text, nullable=False),  # JSON: what to do
    Column("account", String(64), nullable=False),  # who started it; empty: the only person
    Column("state", String(12), nullable=False),  # waiting, running, done, failed or cancelled
    Column("attempt", Integer, nullable=False),  # a worker of an earlier attempt changes nothing
    Column("is_cancelled", Boolean, nullable=False),  # the worker is asked to stop
    Column("done", Integer),
    Column("total", Integer),
    Column("phase", Text, nullable=False),
    Column("location", Text, nullable=False),  # the page of the result
    Column("error", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("seen_at", BigInteger, nullable=False),  # the last sign of life of the worker
    Column("ended_at", BigInteger),
    Index("jobs_by_time", "created_at"),
)

job_lines = Table(  # the log of a job
    "job_lines",
    metadata,
    Column("job", String(16), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
)

saved_filters = Table(  # states of the table of experiments under a name
    "saved_filters",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("address", Text, nullable=False),  # the query of the address
    Column("created_at", BigInteger, nullable=False),
)

rollouts = Table(  # staged releases
    "rollouts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("experiment", String(32), nullable=False),  # the id of the one that justifies it
    Column("baseline", String(32), nullable=False),  # the id of that of what was in production; may be empty
    Column("policy", Text, nullable=False),  # JSON; frozen when it was started
    Column("arms", Text, nullable=False),  # JSON
    Column("created_at", BigInteger, nullable=False),
)

rollout_transitions = Table(  # the moves of each; rows are only added
    "rollout_transitions",
    metadata,
    Column("rollout", String(64), ForeignKey("rollouts.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # the key lets one of two moves win
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", String(12), nullable=False),
    Column("state", String(12), nullable=False),  # after it
    Column("step", Integer, nullable=False),  # after it
    Column("reason", Text, nullable=False),
    Column("is_skipped", Boolean, nullable=False),
    Column("evidence", Text, nullable=False),  # JSON
    Index("rollout_transitions_by_time", "at"),
)

webhook_deliveries = Table(  # attempts to tell an address of a move of a rollout
    "webhook_deliveries",
    metadata,
    Column("rollout", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # of the transition
    Column("url", String(512), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column(
        "next_at", BigInteger, nullable=False
    ),  # not before; while one is under way, when it may be taken over
    Column("delivered_at", BigInteger),
    Column("error", Text, nullable=False),
)

SHARED_TABLES = (  # whose rows belong to no single record
    document_texts,
    system_numbers,
    accounts,
    api_tokens,
    audit_log,
    saved_filters,
    rollouts,
    rollout_transitions,
    webhook_deliveries,
)
LOCAL_TABLES = (sessions, jobs, job_lines)  # that stay where they are when a store is moved
