"""The rows of tables and sheets: finds cells by their words, selects rows, and computes sums and extremes in SQL.

Columns are referred to by their place, a number, and every value is a bound parameter: no text of a user or a file
becomes SQL.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

from shared.types import Filters
from storage.database import Database
from storage.filtering import conditions
from storage.passages import show
from storage.table_parts import CELL, Cell, Condition, Group, PreparedTable, StoredColumn, StoredRow, Table, Totals

_MOST_CELLS: Final = 200
"""A word in more cells than this is too common to tell rows apart. One cell more is returned, so that the caller can
see that there are more.
"""


@dataclass(frozen=True, slots=True)
class TableStore:
    """The tables of one database. Callers that change them hold `database.transaction()`."""

    database: Database

    def put(self, document: int, table: PreparedTable | None) -> None:
        """Store the rows of a document, replacing its earlier rows."""
        for name in ("table_words", "table_rows", "tables"):
            self.database.execute(f"DELETE FROM {name} WHERE document_id = ?", (document,))
        if table is None:
            return
        columns = json.dumps([asdict(column) for column in table.columns], ensure_ascii=False)
        self.database.execute("INSERT INTO tables VALUES (?, ?)", (document, columns))
        self.database.execute_many(
            "INSERT INTO table_rows VALUES (?, ?, ?, ?, ?)",
            [
                (document, ordinal, row.line, json.dumps(row.cells, ensure_ascii=False), json.dumps(row.values))
                for ordinal, row in enumerate(table.rows)
            ],
        )
        self.database.execute_many(
            "INSERT OR IGNORE INTO table_words VALUES (?, ?, ?, ?)",
            [(word, document, place, text) for word, place, text in table.words],
        )

    def tables(self, filters: Filters) -> list[Table]:
        """Return the tables whose documents pass the filters; a long table's parts are returned as one table."""
        restrictions, parameters = conditions(filters)
        where = f"WHERE {' AND '.join(restrictions)} " if restrictions else ""
        rows = self.database.execute(
            "SELECT document_id, title, path, columns FROM tables JOIN documents ON documents.id = document_id "
            f"JOIN files ON files.id = file_id {where}ORDER BY file_id, title, document_id",
            parameters,
        )
        parts = [(row[0], row[1], row[2], [StoredColumn(**column) for column in json.loads(row[3])]) for row in rows]
        tables = []
        for (title, path, _), same in groupby(
            parts, lambda part: (part[1], part[2], [column.name for column in part[3]])
        ):
            documents, _, _, columns = zip(*same, strict=True)
            tables.append(Table(documents, title, show(path), _added(columns)))
        return tables

    def cells(self, words: Iterable[str]) -> dict[str, list[Cell]]:
        """Return, for each of the given words, at most `_MOST_CELLS` + 1 cells that contain it, in no certain order;
        words without a cell are left out.
        """
        cells = {}
        for word in dict.fromkeys(words):
            rows = self.database.execute(
                "SELECT document_id, place, cell FROM table_words WHERE word = ? LIMIT ?", (word, _MOST_CELLS + 1)
            )
            if rows:
                cells[word] = [Cell(*row) for row in rows]
        return cells

    def words(self, words: Iterable[str], table: Table) -> set[str]:
        """Return which of the given words occur in any cell of the table."""
        sql = "SELECT DISTINCT word FROM table_words WHERE document_id = ? AND word IN (SELECT value FROM json_each(?))"
        asked = json.dumps([*words])
        return {word for document in table.documents for (word,) in self.database.execute(sql, (document, asked))}

    def count(self, table: Table, conditions: Sequence[Condition]) -> int:
        """Return the number of rows that meet all conditions."""
        where, parameters = _where(table, conditions)
        return int(self.database.execute(f"SELECT COUNT(*) FROM table_rows WHERE {where}", parameters)[0][0])

    def last_line(self, table: Table) -> int:
        """Return the line number, in the file or sheet, of the table's last row."""
        sql = "SELECT MAX(line) FROM table_rows WHERE document_id = ?"
        return int(self.database.execute(sql, (table.documents[-1],))[0][0] or 0)

    def rows(
        self, table: Table, conditions: Sequence[Condition], most: int, order: tuple[str, bool] | None = None
    ) -> list[StoredRow]:
        """Return the first `most` rows that meet all conditions, in the order of the table.

        `order` is the value by which they are sorted, such as n2 (the number in column 2) or d2 (the day in column 2),
        and whether the greatest comes first; rows without that value are left out.
        """
        where, parameters = _where(table, conditions)
        by = "document_id, ordinal"
        if order:
            where += " AND json_extract(cell_values, ?) IS NOT NULL"
            parameters.append(f"$.{order[0]}")
            by = f"json_extract(cell_values, ?) {'DESC' if order[1] else 'ASC'}, {by}"
            parameters.append(f"$.{order[0]}")
        rows = self.database.execute(
            f"SELECT document_id, line, cells, cell_values FROM table_rows WHERE {where} ORDER BY {by} LIMIT ?",
            (*parameters, most),
        )
        return [StoredRow(row[0], row[1], tuple(json.loads(row[2])), json.loads(row[3])) for row in rows]

    def totals(
        self,
        table: Table,
        conditions: Sequence[Condition],
        place: int,
        unit_place: int | None = None,
        group: Group | None = None,
        units_of: int | None = None,
    ) -> list[Totals]:
        """Return the totals of the numbers in the column at `place`, for each unit and each group of `group`, most
        numbers first; without `group` all rows are one group.

        The unit of a number is written with the number itself, or is the text of the cell in the column at
        `unit_place`, or is the unit of the number in the column at `units_of`.
        """
        where, parameters = _where(table, conditions)
        unit = "json_extract(cell_values, ?)" if unit_place is None else "json_extract(cells, ?)"
        rows = self.database.execute(
            "SELECT grouped, unit, COUNT(number), SUM(number), MIN(number), MAX(number) FROM ("
            f"SELECT COALESCE({group.sql if group else CELL}, '') AS grouped, COALESCE({unit}, '') AS unit, "
            f"json_extract(cell_values, ?) AS number FROM table_rows WHERE {where}) "
            "WHERE number IS NOT NULL GROUP BY grouped, unit ORDER BY COUNT(number) DESC, grouped, unit",
            (
                group.path if group else "$.none",
                f"$.u{place if units_of is None else units_of}" if unit_place is None else f"$[{unit_place}]",
                f"$.n{place}",
                *parameters,
            ),
        )
        return [Totals(*row) for row in rows]

    def counts(self, table: Table, conditions: Sequence[Condition], group: Group) -> list[tuple[str, int]]:
        """Return how many rows are in each group, the largest group first; rows in no group are left out."""
        where, parameters = _where(table, conditions)
        return self.database.execute(
            f"SELECT {group.sql} AS grouped, COUNT(*) FROM table_rows WHERE {where} AND grouped <> '' "
            "GROUP BY grouped ORDER BY COUNT(*) DESC, grouped",
            (group.path, *parameters),
        )

    def passages(self, rows: Sequence[StoredRow]) -> list[int]:
        """Return the ids of the passages that contain the given rows, in order and without repetition."""
        passages: dict[int, None] = {}
        for row in rows:
            ids = self.database.execute(
                "SELECT id FROM passages WHERE document_id = ? AND line <= ? ORDER BY ordinal DESC LIMIT 1",
                (row.document, row.line),
            )
            passages |= dict.fromkeys(identity for (identity,) in ids)
        return list(passages)


def _added(parts: Sequence[Sequence[StoredColumn]]) -> tuple[StoredColumn, ...]:
    """Return the columns of a whole table, whose counts are the sums of its parts' counts."""
    return tuple(
        StoredColumn(
            column[0].name,
            sum(part.filled for part in column),
            sum(part.numbers for part in column),
            sum(part.days for part in column),
            max(part.distinct for part in column),
            tuple(dict.fromkeys(unit for part in column for unit in part.units)),
        )
        for column in zip(*parts, strict=True)
    )


def _where(table: Table, conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
    """Return an SQL condition for those rows in `table_rows` that belong to the table and meet the conditions, and its
    parameters.
    """
    parts = [f"document_id IN ({', '.join('?' * len(table.documents))})"]
    parameters: list[Any] = [*table.documents]
    for condition in conditions:
        if condition.kind == "text":
            sign = "NOT IN" if condition.is_excluded else "IN"
            parts.append(f"json_extract(cells, ?) {sign} ({', '.join('?' * len(condition.texts))})")
            parameters += [f"$[{condition.place}]", *condition.texts]
            continue
        spans = []
        for least, most in condition.spans:
            spans.append(
                "json_extract(cell_values, ?) BETWEEN COALESCE(?, json_extract(cell_values, ?)) AND COALESCE(?, ?)"
            )
            path = f"$.{condition.kind}{condition.place}"
            parameters += [path, least, path, most, _GREATEST[condition.kind]]
        parts.append(f"({' OR '.join(spans)})")
    return " AND ".join(parts), parameters


_GREATEST: Final = {"n": 1e300, "d": "9999-12-31"}
