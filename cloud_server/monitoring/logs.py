"""The server's log on stderr: one JSON object per line for machines, or plain lines for people.

The fields in `extra` are logged beside the message. Questions, tokens and session names are never logged; the setting
log.questions enables logging of questions.
"""

import json
import logging
import time
from datetime import UTC, datetime
from typing import Any

from cloud_server.monitoring.log_rate import LogRateLimit
from shared.printable import escaped

MOST_ALIKE = 120
"""The most log entries a minute with the same message about the same client or peer, so that no client can fill the
disk.
"""

MOST_OF_ALL = 1_200
"""The most log entries a minute with the same message, about all clients and peers together."""

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object per line: time, level, message and the fields of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a JSON line."""
        level, message = record.levelname.lower(), record.getMessage()
        record_fields = {"at": _moment(record), "level": level, "message": message, **_extra(record)}
        if record.exc_info:
            record_fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(record_fields, default=str).replace("\x7f", "\\u007f")  # only printable ASCII


class PlainLines(logging.Formatter):
    """Formats a record as a plain line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        facts = "".join(f" {name}={value}" for name, value in _extra(record).items())
        trouble = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        line = f"{_moment(record)} {record.levelname.lower()} {record.getMessage()}{facts}{trouble}"
        return "\n    ".join(map(escaped, line.split("\n")))  # indented: logged text cannot fake an entry


class RateLimitFilter(logging.Filter):
    """Drops entries that repeat too often, per client or peer and in total, and adds the number of dropped entries."""

    def __init__(self) -> None:
        super().__init__()
        self._each, self._all = LogRateLimit(MOST_ALIKE), LogRateLimit(MOST_OF_ALL)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the log record is written."""
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
    """Start writing the log messages of `cloud_server`, from severity `level` on, to stderr."""
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
    """Return the `extra` fields of a log record, without names that begin with an underscore, which belong to libraries
    (such as Ray's time stamp).
    """
    return {name: value for name, value in vars(record).items() if name not in _OWN and not name.startswith("_")}
