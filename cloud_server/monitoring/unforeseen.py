"""Log entries for unexpected errors: the kind of the error and its traceback.

The message of an error is logged only where the error is one of ours: any other may repeat a question.
"""

import logging
import traceback

from shared.errors import JackdawError

UNFORESEEN = "The server could not do it. Its log says why."
"""The message of the Failed that a device gets for it."""


def log_unforeseen(log: logging.Logger, message: str, error: BaseException | None, **facts: object) -> None:
    """Log the error as one entry with its traceback and these `facts`."""
    place = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    said = f"{error}\n" if isinstance(error, JackdawError) else ""
    log.error(message, extra={**facts, "error": type(error).__name__, "detail": said + place})
