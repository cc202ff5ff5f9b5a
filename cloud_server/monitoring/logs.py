"""The server's log, on stderr: a JSON object a line for machines, a plain line for people.

What is said in `extra` stands beside the message. Questions, tokens and session names are never given to it, but for
the questions where log.questions asks for them.
"""

import json
import logging
import time
from datetime import UTC, datetime
from typing import Any

from cloud_server.monitoring.log_rate import LogRateLimit
from shared.printable import escaped

MOST_ALIKE = 120
"""Entries of one message about one client or peer in a minute: who asks for more fills no disk by it."""

MOST_OF_ALL = 1_200
"""The same about all of them together."""

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One object a line: at, level, message, and what was said in extra."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        level, message = record.levelname.lower(), record.getMessage()
        record_fields = {"at": _moment(record), "level": level, "message": message, **_extra(record)}
        if record.exc_info:
            record_fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(record_fields, default=str).replace("\x7f", "\\u007f")  # nothing but printable ASCII


class PlainLines(logging.Formatter):
    """The same for a person."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = "".join(f" {name}={value}" for name, value in _extra(record).items())
        trouble = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        line = f"{_moment(record)} {record.levelname.lower()} {record.getMessage()}{facts}{trouble}"
        return "\n    ".join(map(escaped, line.split("\n")))  # set in: what was said forges no entry


class RateLimitFilter(logging.Filter):
    """Leaves out what is said too often of one client or peer, or of all, and says how much it left out."""

    def __init__(self) -> None:
        super().__init__()
        self._each, self._all = LogRateLimit(MOST_ALIKE), LogRateLimit(MOST_OF_ALL)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is written."""
        now, facts = time.monotonic(), record.__dict__
        left_out = self._each.left_out((record.msg, facts.get("client") or facts.get("peer")), now)
        if left_out is None or (left_out_of_all := self._all.left_out(record.msg, now)) is None:
            return False
        if left_out:
            facts["left_out"] = left_out
        if left_out_of_all:
            facts["left_out_of_all"] = left_out_of_all
        return True


def begin_logging(level: str, *, as_json: bool) -> None:
    """Write what the server says, from that level on, to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else PlainLines())
    handler.addFilter(RateLimitFilter())
    logger = logging.getLogger("cloud_server")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """What was said besides; what begins with an underscore is a library's own, as Ray's time stamp."""
    return {name: value for name, value in vars(record).items() if name not in _OWN and not name.startswith("_")}
