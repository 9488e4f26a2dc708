"""Rule sets and linear models as SQL that SQLite and PostgreSQL run alike."""
