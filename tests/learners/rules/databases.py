"""SQLite and PostgreSQL as places where a rendered rule set is run on rows."""

from learners.rules.sql.literals import identifier


class Database:
    """One table ``rows`` with a key column and the columns of a learners' table."""

    def __init__(self, connection, placeholder):
        self.connection = connection
        self.placeholder = placeholder

    def fetch(self, statement):
        cursor = self.connection.cursor()
        cursor.execute(statement)
        names = [description[0] for description in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def fill(self, table, name="rows", unseen="never seen"):
        columns = ", ".join(f"{identifier(column.name)} {sql_type(column)}" for column in table.columns)
        cursor = self.connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS {identifier(name)}")
        cursor.execute(f'CREATE TABLE {identifier(name)} ("row key" INTEGER, {columns})')
        marks = ", ".join([self.placeholder] * (len(table.columns) + 1))
        rows = [
            [key, *(cell_value(column, cell, unseen) for column, cell in zip(table.columns, row, strict=True))]
            for key, row in enumerate(table.values.tolist())
        ]
        cursor.executemany(f"INSERT INTO {identifier(name)} VALUES ({marks})", rows)

    def select(self, statement):
        """The statement's rows in key order."""
        return sorted(self.fetch(statement), key=lambda row: row["row key"])

    def evaluate(self, expression, name="rows"):
        rows = self.fetch(f'SELECT "row key" AS k, {expression} AS answer FROM {identifier(name)}')
        return [row["answer"] for row in sorted(rows, key=lambda row: row["k"])]


def sql_type(column):
    if column.is_numeric or column.level_type == "number":
        return "DOUBLE PRECISION"
    return "BOOLEAN" if column.level_type == "boolean" else "TEXT"


def cell_value(column, cell, unseen):
    if cell != cell:
        return None
    if column.is_numeric:
        return cell
    return unseen if cell < 0 else column.labels[int(cell)]
