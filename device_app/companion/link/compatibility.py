"""Checks whether a server can write an answer, or a joint answer with a device."""

from device_app.question.options import SHORT_ANSWER
from shared.printable import counted
from shared.protocol import messages as m


def too_few(offer: m.Offer, max_tokens: int) -> str:
    """Return why a server cannot write an answer of `max_tokens` tokens; "" if it can.

    `offer` says how many it writes.
    """
    if offer.max_tokens >= min(max_tokens, SHORT_ANSWER):
        return ""
    return f"the server writes {counted(offer.max_tokens, 'token')} at most"


def incompatible_reason(offer: m.Offer | None, hello: m.Hello) -> str:
    """Return why the device of `hello` and the server of `offer` can write no joint answer; "" if they can.

    The reason is a clause whose subject, the server, the caller adds.
    """
    if offer is None or not {"question", "drafts"} <= set(offer.receives):
        return "writes no answers together with a device"
    if offer.vocabulary != hello.vocabulary:
        return "has another vocabulary"
    if offer.embedder != hello.embedder:
        return "uses another embedding model, so its passages cannot be compared with yours"
    return ""
