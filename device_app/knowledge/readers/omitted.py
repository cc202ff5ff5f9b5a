"""The type of a reader's message about a part of a file that it leaves out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Omitted:
    """A part of a file that was not read, described with a count: "950,000 rows of the sheet “Log” …"."""

    what: str
