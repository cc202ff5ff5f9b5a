"""Stores an answer: its turn in the history, also while it is written; the caches' counters, and an entry for reuse."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from device_app.cache.answers.bank import QABank
from device_app.question.answer import Answer
from device_app.question.request import Request
from device_app.question.typed import ReadWhileTyping
from shared.errors import StoreError
from storage.conversations import ConversationStore, Turn


@dataclass(slots=True)
class SoFar:
    """The text of an answer that is being written, which its turn in the history has until the answer is finished."""

    conversations: ConversationStore
    turn: Turn
    request: Request
    pieces: list[str] = field(default_factory=list)
    _can_store: bool = True

    def add(self, text: str) -> None:
        """Add a text, and store all of it before it is shown: a process may be killed at any moment.

        After an error, nothing is stored until the answer is finished, as each further try might delay the text.
        """
        self.pieces.append(text)
        if self._can_store:
            try:
                self.store()
            except StoreError:
                self._can_store = False

    def store(self) -> None:
        """Store the text as that of an answer that was not finished. Raises StoreError."""
        alone = self.request.model_only
        record: dict[str, Any] = {"egress": self.request.ledger.egress.as_json()}
        if alone:
            record |= {"model_only": True, "trace": {"decided": [alone]}}
        self.conversations.write(self.turn.id, "".join(self.pieces).strip(), so_far=record)


@dataclass(frozen=True, slots=True)
class Records:
    """The two stores that a finished answer goes to: the history and the bank of kept answers."""

    conversations: ConversationStore
    bank: QABank

    def finished(self, turn: Turn, answer: Answer, typed: ReadWhileTyping) -> Answer:
        """Store the answer in its turn and count the caches' savings; return the answer with its conversation's id."""
        answer, trace = replace(answer, conversation_id=turn.conversation_id), answer.trace
        joined = {passage for part in trace.all for passage in part.joined}
        if typed.tokens:
            answer = replace(answer, typed=typed.as_json(joined))
        self.conversations.write(turn.id, answer.text, answer.as_json())
        with suppress(StoreError):  # a failed count must not fail the answer
            self.bank.counters.add(
                questions=1,
                kv_hits=sum(part.segments_cached + part.segments_moved for part in trace.all),
                kv_tokens_saved=sum(part.tokens_cached + part.tokens_moved for part in trace.all),
                kv_tokens_computed=sum(part.tokens_prefilled for part in trace.all),
            )
        self.count_typing(typed, joined)
        return answer

    def count_typing(self, typed: ReadWhileTyping, joined: Collection[int]) -> None:
        """Count the passages read while the question was typed.

        `joined` are the passages whose attention states the answer reused.
        """
        with suppress(StoreError):
            self.bank.counters.add(
                typed_tokens=typed.tokens,
                typed_passages=typed.readings,
                typed_in_vain=typed.readings - typed.served(joined),
            )

    def keep(self, request: Request, answer: Answer, newest: int, fingerprint: str) -> None:
        """Keep the answer, or the fact that there is none.

        `newest` is the id of the newest passage in the store before the retrieval. An answer from a server's passages
        is kept only if `public_days` is above 0.
        """
        if not self.bank.public_days and any(hit.side != "device" for hit in answer.hits):
            return
        self.bank.put(
            request.query,
            request.vector,
            fingerprint,
            request.origin,
            answer=None if answer.abstained else answer.text,
            record={"failed": answer.text} if answer.abstained else answer.as_json(),
            sources=[hit.passage.id for hit in answer.hits if hit.side == "device"],
            newest_passage=newest,
            cost_ms=answer.trace.elapsed_ms(),
        )
