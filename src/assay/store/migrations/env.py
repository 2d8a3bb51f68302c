"""Run the migrations on the connection of the store, in its transaction."""

from alembic import context

from assay.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
