"""Builds the prompt for a question and its passages: ordered by the cached states, and cut to the model's context."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from device_app.question.options import Arrangement
from shared import prompt as prompts
from shared.printable import counted
from shared.prompt import Exchange, Prompt
from shared.protocol.messages import Offer
from shared.types import Hit

SHORT_ANSWER = 64
"""Passages are left out of a prompt until an answer of this many tokens fits; a longer answer is cut."""


def too_few(offer: Offer, max_tokens: int) -> str:
    """Return why a server cannot write an answer of `max_tokens` tokens; "" if it can.
    `offer` says how many it writes.
    """
    if offer.max_tokens >= min(max_tokens, SHORT_ANSWER):
        return ""
    return f"the server writes {counted(offer.max_tokens, 'token')} at most"


def fitted(
    source: LocalSource,
    tree: QKVTree,
    question: str,
    hits: Sequence[Hit],
    earlier: Sequence[Exchange],
    arrangement: Arrangement,
    max_tokens: int,
    typed: Collection[int] = (),
) -> tuple[Prompt, Sequence[Hit]]:
    """Return the prompt and the passages in it: the least relevant passages are left out until a short answer fits.

    At least one is kept, even if it does not fit. The result does not depend on whether the passages with the ids
    `typed` were read while the question was typed.
    """
    needed = min(max_tokens, SHORT_ANSWER)
    while True:
        prompt = prompts.build(question, [hit.passage for hit in hits], source.template, earlier)
        if arrangement != "rows":
            # Passages that follow a kept path need not be computed; with one row per passage, the order does not
            # matter.
            read = [passage for passage in prompt.passages if passage[-1].passage in typed]
            before = tree.without(source.engine.info.kv_key, prompt.head, read)
            order = before.order(source.engine.info.kv_key, prompt.head, prompt.passages)
            joined, rows = prompt.ordered(order).joined(), prompt
            prompt = joined
            if arrangement == "cheapest" and source.room(rows) >= needed:
                prompt = min((joined, rows), key=partial(source.cost, tree=before))
        if len(hits) == 1 or source.room(prompt) >= needed:
            return prompt, hits
        hits = hits[:-1]


def kept_passages(source: LocalSource, tree: QKVTree, prompt: Prompt) -> set[int]:
    """Return the ids of the passages whose cached attention states an answer would reuse: those that are cached
    together with everything before them in the prompt.
    """
    beginnings = ((row[:end], row[end - 1]) for row in prompt.passages for end in range(1, len(row) + 1))
    return {
        last.passage
        for beginning, last in beginnings
        if last.passage is not None and not source.missing(replace(prompt, passages=(beginning,)), tree)
    }
