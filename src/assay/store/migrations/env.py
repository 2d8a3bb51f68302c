"""Run migrations on the connection that is given; the store has begun the transaction."""

from alembic import context

from assay.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
