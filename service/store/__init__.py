"""The store: SQLAlchemy on SQLite or PostgreSQL; one query module per resource."""
