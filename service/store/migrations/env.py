"""What Alembic runs. The connection is handed over by the store, inside the transaction that locks it."""

from alembic import context

from service.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
