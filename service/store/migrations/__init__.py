"""Alembic migrations, run by :meth:`service.store.session.Store.upgrade`. There is no way back down.

A new one: copy ``script.py.mako``'s shape into ``versions/``, raise :data:`HEAD`, and run the tests,
which compare what the migrations build with ``tables.py`` on both databases.
"""

#: The newest revision, known without importing Alembic, so that a process on a current store starts fast.
HEAD = "0001"
