"""What a reader leaves out of a file that it reads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Omitted:
    """A part of a file that was not read, in words with its count: "950,000 rows of the sheet “Log” …"."""

    what: str
