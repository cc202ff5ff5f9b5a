"""Log entries for unexpected errors: the error's type and its traceback.

An error's message is logged only for the project's own errors: any other message may contain a question.
"""

import logging
import traceback

from shared.errors import JackdawError

UNFORESEEN = "The server could not answer, because of an unexpected error. The server's log says why."
"""The message that a device gets in `Failed` for an unexpected error."""


def log_unforeseen(log: logging.Logger, message: str, error: BaseException | None, **facts: object) -> None:
    """Log an unexpected error as one entry with its traceback and the given `facts`."""
    place = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    said = f"{error}\n" if isinstance(error, JackdawError) else ""
    log.error(message, extra={**facts, "error": type(error).__name__, "detail": said + place})
