"""What the log says of an error that nobody foresaw: its kind and where it happened.

What it says itself is written only of our own errors: any other may repeat a question.
"""

import logging
import traceback

from shared.errors import JackdawError

UNFORESEEN = "The server could not do it. Its log says why."
"""What a device is told of it."""


def log_unforeseen(log: logging.Logger, message: str, error: BaseException | None, **facts: object) -> None:
    """Write it as one entry, with its traceback; `facts` stand beside it."""
    place = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    said = f"{error}\n" if isinstance(error, JackdawError) else ""
    log.error(message, extra={**facts, "error": type(error).__name__, "detail": said + place})
