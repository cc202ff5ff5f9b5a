"""Decides whether a model's text is shown as an answer, and lets the model reread single sentences.

A small model that was taught to answer in a few words reads a whole passage, and may copy words next to the answer. The
two sentences or rows that share most words with the question are therefore read again, each in a prompt of its own; the
answer with the highest confidence of the three is taken. If even that confidence is below the threshold, the answer is
a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from device_app.cache.states.tree import QKVTree
from device_app.english.query import Query
from device_app.english.units import Unit
from device_app.inference.local import LocalSource
from device_app.inference.sureness import LOOK_TOKENS, LOOKED_THROUGH, LOOKS, MIN_SHIFT, SURE, Sureness
from device_app.knowledge.proof import Subject, asks_whether, decision
from device_app.question.abstention import relevance
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.ending import Piece, ended
from shared.prompt import Exchange, Prompt, is_not_found
from shared.trace import Trace
from shared.types import Hit


@dataclass(frozen=True, slots=True)
class Written:
    """A text written by a model, with its passages and the model's confidence.

    `prompt` is the last prompt read; None if its attention states are kept already, or are in no engine of this device.
    """

    pieces: Sequence[Piece]
    hits: Sequence[Hit]
    sureness: Sureness
    prompt: Prompt | None = None

    @property
    def text(self) -> str:
        """The whole text; "" if nothing was written."""
        return "".join(piece.text for piece in self.pieces).strip()


@dataclass(frozen=True, slots=True)
class Check:
    """Checks the answer to the question `asked`, given the retrieved passages `near` the question, best first.

    `lacks` is non-empty if the files say nothing about a part of the question. With `fetched`, `near` includes passages
    fetched from a server.
    """

    source: LocalSource
    tree: QKVTree
    trace: Trace
    asked: Query
    near: Sequence[Hit]
    earlier: Sequence[Exchange] = ()
    lacks: str = ""
    fetched: bool = False
    subject: Subject = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "subject", Subject(self.asked, [hit.passage for hit in self.near]))

    def surest(self, first: Written) -> Written:
        """Return the answer with the highest confidence: `first`, or one from a sentence that shares many words.

        The sentences are those that share most words with the question. "Yes" and "No" are not reread from a single
        sentence, which lacks the context. But if passages were fetched from a server, each of which was read in a
        separate prompt, all passages are reread in one prompt to decide.
        """
        if self._decided(first.text):
            return self._shifted(first) if self.fetched else first
        if self.fetched:
            return first
        best, most = first, first.sureness.of_text
        likeliest = self.subject.likeliest([hit.passage for hit in self.near[:LOOKED_THROUGH]], len(LOOKS))
        for (enough, surer), (place, unit) in zip(LOOKS, likeliest, strict=False):
            if most >= enough:
                break
            look = self._look(self.near[place], unit)
            if look and look.sureness.of_text - surer > most:
                best, most = look, look.sureness.of_text - surer
        return best

    def is_sure(self, look: Written) -> bool:
        """Return whether the text is sure enough to be shown as an answer.

        The confidence of a joint answer is unknown: instead, its words have to occur in the passages that were read.
        """
        if self._decided(look.text):
            if self.fetched:
                return abs(look.sureness.yes_margin) >= MIN_SHIFT
            return look.sureness.decides and not self.lacks
        read = [hit.passage for hit in look.hits]
        return look.sureness.of_text >= SURE and self.subject.stands_in(look.text, read)

    def _decided(self, text: str) -> bool:
        return bool(decision(text)) and asks_whether(self.asked.text)

    def _shifted(self, first: Written) -> Written:
        """Return "Yes" if the server's passages raise the model's preference for "Yes" over "No", else "No".

        The preference (`yes_margin`) with all passages is compared with that from the files' passages alone.
        """
        own = [hit for hit in first.hits if hit.side == "device"]
        shift = self._yes_margin(first.hits) - self._yes_margin(own)
        said = Piece(first.pieces[0].token, "Yes" if shift > 0 else "No")
        return Written([said], first.hits, Sureness(yes_margin=shift))

    def _yes_margin(self, hits: Sequence[Hit]) -> float:
        passages = [hit.passage for hit in hits]
        prompt = prompts.build(self.asked.text, passages, self.source.template, self.earlier).joined()
        sureness = Sureness()
        self._read(prompt, 1, sureness)
        return sureness.yes_margin

    def _look(self, hit: Hit, unit: Unit) -> Written | None:
        """Return the answer from this sentence or row alone; None if it is empty, an abstention, or "Yes" or "No"."""
        alone = replace(hit.passage, text=unit.text)
        prompt = prompts.build(self.asked.text, [alone], self.source.template, self.earlier)
        if self.source.room(prompt) <= 0:
            return None
        sureness = Sureness()
        look = Written(self._read(prompt, LOOK_TOKENS, sureness, relevance([hit])), [hit], sureness)
        return look if look.text and not is_not_found(look.text) and not decision(look.text) else None

    def _read(self, prompt: Prompt, most: int, sureness: Sureness, relevant: float | None = None) -> list[Piece]:
        trace = Trace()
        self.trace.looks.append(trace)
        stream = self.source.stream(
            prompt,
            SamplingSettings(),
            max_tokens=most,
            relevance=relevant,
            trace=trace,
            tree=self.tree,
            sureness=sureness,
        )
        return list(ended(stream))
