"""Checks whether a device and a server can write a joint answer."""

from shared.protocol import messages as m


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
