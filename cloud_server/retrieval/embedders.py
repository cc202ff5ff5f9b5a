"""The embedder of an index: the catalog's, which devices use too, or a named sentence-transformers model."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from cloud_server.retrieval.versions import EmbedderSource, IndexMetadata
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.sentence_embedder import SentenceEmbedder, Side, address, prefixes_of
from shared.errors import UsageError
from shared.memory import available


def embedder_for(
    source: EmbedderSource | None, catalog_folder: Callable[[], Path], side: Side, threads: int
) -> Embedder:
    """Return the embedder for questions or for passages, as `side` says; if `source` is None, the catalog's embedder,
    from the folder that `catalog_folder` returns.

    Raises UsageError, WeightsError.
    """
    if source is None:
        return OnnxEmbedder(catalog_folder(), threads)
    prefixes: dict[Side, str] = {"query": source.query_prefix, "passage": source.passage_prefix}
    return SentenceEmbedder(source.name, prefixes, side, threads)


def same_model(facts: IndexMetadata, model: EmbedderSource, threads: int) -> Embedder:
    """Return the sentence-transformers model that made the index, by the name stored in the index, for questions.

    Raises UsageError if the model's files have changed since, and WeightsError.
    """
    prefixes: dict[Side, str] = {"query": model.query_prefix, "passage": model.passage_prefix}
    embedder = SentenceEmbedder(model.name, prefixes, "query", threads)
    if embedder.fingerprint != facts.embedder:
        raise UsageError(
            f"The files of the embedder {model.name} have changed since the index was built: "
            f"{embedder.fingerprint} now, {facts.embedder} then. Restore the files, or build the index again."
        )
    return embedder


def in_processes(embedder: Embedder) -> AbstractContextManager[None]:
    """Within the context, embed a large corpus in several processes, if the embedder supports that."""
    return embedder.in_processes(available()) if isinstance(embedder, SentenceEmbedder) else nullcontext()


def named(name: str, query_prefix: str | None, passage_prefix: str | None) -> EmbedderSource:
    """Return the sentence-transformers model that the user has named; a prefix of None is taken from the model's own
    configuration.

    Raises UsageError, WeightsError.
    """
    own = prefixes_of(name)
    query = own["query"] if query_prefix is None else query_prefix
    passage = own["passage"] if passage_prefix is None else passage_prefix
    return EmbedderSource(address(name), query, passage)


def incomparable(facts: IndexMetadata) -> str:
    """Return a sentence that says which features do not work with the index's embedder; "" if devices use the same
    embedder.
    """
    if facts.embedder == OnnxEmbedder.fingerprint:
        return ""
    return (
        f"The index has vectors of {facts.embedder}, and devices use {OnnxEmbedder.fingerprint}: joint answers of "
        "server and device (--together) are not possible."
    )
