"""Splits documents that are too long, and gives each document a unique key within its file. Uses no store."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, groupby

from shared.types import Document

PART_CHARACTERS = 500_000
"""The most characters of a document: a longer one is stored in parts of a book's length, a minute's work each."""


def parts(document: Document) -> Iterator[Document]:
    """Yield the document or, if it is too long, its parts. A block belongs to the part in which it begins."""
    begins = accumulate((len(block.text) for block in document.blocks[:-1]), initial=0)
    groups = groupby(zip(begins, document.blocks, strict=False), key=lambda pair: pair[0] // PART_CHARACTERS)
    for number, (_, pairs) in enumerate(groups, 1):
        key = document.key if number == 1 else f"{document.key} part {number}".strip()
        yield replace(document, key=key, blocks=tuple(block for _, block in pairs))
    if not document.blocks:
        yield document


def with_own_key(document: Document, taken: dict[str, int]) -> Document:
    """Return the document with a key that no earlier document of its file has: a mailbox may hold the same mail twice.

    `taken` counts the copies of each key, so that the numbers of earlier copies need not be tried.
    """
    if document.key not in taken:
        return document
    copies = taken[document.key] + 1
    while (key := f"{document.key} ({copies})") in taken:
        copies += 1
    taken[document.key] = copies
    return replace(document, key=key)


def digest(document: Document) -> str:
    """Return a hash of everything in a document."""
    # Without an event it is the hash that earlier versions have stored.
    text = repr(document) + (repr(document.event) if document.event else "")
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
