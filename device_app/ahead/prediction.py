"""Predicts questions from passages read and questions asked since the last run (PerCache, section 4.1.2).

Combines proposals of `predictor`, `questions` and a model trained to ask. Keeps proposals that differ from all known
questions; one made from a passage must also retrieve that passage first. Progress is stored, so that no passage or
question is used twice.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np

from device_app.ahead import predictor
from device_app.ahead.selection import Selection, own_names
from device_app.ahead.usefulness import Tally
from device_app.ahead.work import Step
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank
from device_app.english import query, questions, words
from device_app.english.query import Query
from device_app.question.options import Options
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.errors import NotWritable, StoreFull
from shared.text import embedded_text
from shared.trace import Trace
from shared.types import StoredPassage
from storage.abstracts import Abstracts
from storage.counters import Counters
from storage.vectors import Vectors

HISTORY = 10
"""The number of latest questions used to predict the next ones."""

KNOWLEDGE_MARK, HISTORY_MARK, _READ_MARK = "predicted_passage", "predicted_turn", "read_turn"
_NEAR_MARK, _NEAR_DONE = "near_turn", "near_done"
"""Names of two counters: the newest question when passages near it were chosen, and how many of these are used."""

_QUESTION_TOKENS, _ABSTRACT_TOKENS = 40, 60
"""The most tokens that the model may write for a question, and for an abstract."""

_ABSTRACTS, _KEPT_ABSTRACTS = 2, 8
"""The numbers of new abstracts (of `stride` passages each) and of all abstracts in a prompt for questions."""

PER_PASSAGE, WRITTEN_PER_PASSAGE = 2, 4
"""The maximum number of questions predicted for each passage: by rules from its text, and by a model."""

_CONTINUATIONS, _CONTINUATIONS_NEAR = 3, 4
"""Questions that the model completes per given beginning: for a new passage, and for one near recent questions."""

_ANALOGUES = 2
"""The most predicted questions that repeat the person's last question with another person's name in it."""

_NEAR, _AROUND = 30, 6
"""Passages considered near each of the latest questions, and on either side of the one that answered it."""


def predict_again(counters: Counters) -> None:
    """Reset the progress, so that questions are predicted from all passages again."""
    counters.forget(KNOWLEDGE_MARK, HISTORY_MARK, _NEAR_MARK)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A question that may be asked, and, in words for people, the passages or questions that it was predicted from."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction over one person's files and history. `stride` is how many questions are predicted at a time.

    `predict_from` is the setting `cache.predict_from`: how new passages are used. With `abstracts`, the model's
    summaries of passages are kept, and the latest are put into a prompt together with the new ones. `tallies` returns
    how often the earlier predictions of each form were asked (`usefulness`): forms that are never asked are predicted
    less often.
    """

    assistant: Assistant
    options: Options
    bank: QABank
    counters: Counters
    stride: int
    predict_from: Literal["passages", "abstracts", "questioner"] = "passages"
    abstracts: Abstracts | None = None
    tallies: Callable[[], Mapping[str, Tally]] = dict

    def questions(self) -> Iterator[Predicted | Step]:
        """Yield questions that may be asked next, and the model's steps to predict them.

        Each question is marked as predicted once the next one is taken.
        """
        yield from self._from_history()
        yield from self._from_abstracts() if self.predict_from == "abstracts" else self._from_passages()

    def _from_history(self) -> Iterator[Predicted | Step]:
        newest = self._newest_turn()
        if newest <= self.counters.all().get(HISTORY_MARK, 0):
            return
        latest = self._latest()
        why = "the last question, asked about another person"
        yield from (Predicted(question, why) for question in self._analogues(latest))
        yield from self._near(latest, newest)
        yield from self._like(latest)
        self.counters.set(HISTORY_MARK, newest)

    def _near(self, latest: Sequence[str], newest: int) -> Iterator[Predicted | Step]:
        """Yield questions about the passages near the latest questions, each passage once, even after interruptions."""
        if self.counters.all().get(_NEAR_MARK) != newest:
            self.counters.set(_NEAR_DONE, 0)
            self.counters.set(_NEAR_MARK, newest)
        done = int(self.counters.all()[_NEAR_DONE])
        for number, passage in enumerate(self._next(latest, self.stride)[done:], done + 1):
            near = f"{passage.title}, near your last questions"
            yield from self._of(passage, near, "the passage is near your last questions", _CONTINUATIONS_NEAR)
            self.counters.set(_NEAR_DONE, number)

    def _like(self, latest: Sequence[str]) -> Iterator[Predicted | Step]:
        """Yield questions that the model writes to continue the list of the latest ones."""
        trace = Trace()
        prompt = predictor.history_prompt(latest, self.stride)
        like = self._new(predictor.parse(self._questions(prompt, trace), self.stride), self.stride)
        yield Step.traced("predict", f"questions like yours: {len(like)}", "you asked new questions", trace)
        for question in like:
            yield Predicted(question, "your earlier questions")

    def _from_passages(self) -> Iterator[Predicted | Step]:
        mark = self._mark()
        while passages := self.assistant.retriever.store.passages_after(mark, self.stride):
            for passage in passages:
                yield from self._of(passage, passage.title, "the passage is new", _CONTINUATIONS)
                mark = passage.id
                self.counters.set(KNOWLEDGE_MARK, mark)

    def _of(self, passage: StoredPassage, source: str, why: str, count: int) -> Iterator[Predicted | Step]:
        """Yield questions about a passage: the model's, `count` for each given beginning, and those made by rules."""
        trace = Trace()
        written = self._written_about(passage, count, trace)
        if trace.tokens_decoded:
            yield Step.traced("predict", f"questions about {passage.title}: {len(written)}", why, trace)
        for question in written:
            yield Predicted(question, source)
        yield from (Predicted(question, source) for question in self.about(passage))

    def _written_about(self, passage: StoredPassage, count: int, trace: Trace) -> list[str]:
        """Return the model's questions about the passage, nearest first; none if the model was not trained to ask.

        The passage's attention states are kept for the answers.
        """
        if self.predict_from != "questioner" or not self.assistant.source().engine.info.asks:
            return []
        source = self.assistant.source()
        prompt = prompts.to_ask(passage, source.template)
        most = min(_QUESTION_TOKENS, source.room(prompt))
        if most <= 0:
            return []
        kept = self.assistant.tree
        beginnings = questions.beginnings(passage)
        said = source.alternatives(prompt, beginnings, count, max_tokens=most, trace=trace, tree=kept)
        asked = [question for text in said for question in predictor.parse(predictor.as_question(text), 1)]
        near = self.assistant.embedder.embed([embedded_text(passage.title, passage.text)])[0]
        written = self._new(self._finding(passage, asked), WRITTEN_PER_PASSAGE, near)
        if written:
            with suppress(StoreFull, NotWritable):
                source.keep(prompt, kept)
        return written

    def _from_abstracts(self) -> Iterator[Predicted | Step]:
        while self.assistant.retriever.store.passages_after(self._mark(), 1):
            yield from self._from_next_abstracts()

    def _from_next_abstracts(self) -> Iterator[Predicted | Step]:
        """Write abstracts of the next passages, and yield questions from them (PerCache, Figures 26 and 27)."""
        trace, mark, last = Trace(), self._mark(), ""
        abstracts: list[str] = []
        for _ in range(_ABSTRACTS):
            if passages := self.assistant.retriever.store.passages_after(mark, self.stride):
                abstracts.append(self._kept_abstract(passages, trace))
                mark, last = passages[-1].id, passages[-1].title
        if self.abstracts:
            kept = [text for text in self.abstracts.newest(_KEPT_ABSTRACTS) if text not in abstracts]
            abstracts = [*kept, *abstracts][-_KEPT_ABSTRACTS:]
        said = self._questions(predictor.knowledge_prompt(abstracts, self.stride), trace)
        predicted = self._new(predictor.parse(said, self.stride), self.stride)
        yield Step.traced("predict", f"questions from abstracts: {len(predicted)}", "passages are new", trace)
        for question in predicted:
            yield Predicted(question, f"abstracts of passages up to {last}")
        self.counters.set(KNOWLEDGE_MARK, mark)

    def _mark(self) -> int:
        return int(self.counters.all().get(KNOWLEDGE_MARK, 0))

    def likeliest(self) -> Iterator[StoredPassage]:
        """Yield the passages most likely used by the next question; none if no question was asked since the last call.

        Their attention states are computed without predicting questions, which gives more hits (`scripts/bench
        percache`).
        """
        newest = self._newest_turn()
        if newest > self.counters.all().get(_READ_MARK, 0):
            yield from self._next(self._latest(), _NEAR)
            self.counters.set(_READ_MARK, newest)

    def newest(self) -> Iterator[StoredPassage]:
        """Yield all passages, newest first: among passages not asked about yet, the newest are asked about most."""
        return self.assistant.retriever.store.newest_passages()

    def _newest_turn(self) -> int:
        return max((turn for turn, _ in self.assistant.conversations.questions(HISTORY)), default=0)

    def _latest(self) -> list[str]:
        return [query.parse(text, date.today()).text for _, text in self.assistant.conversations.questions(HISTORY)]

    def _next(self, latest: Sequence[str], count: int) -> list[StoredPassage]:
        """Return at most `count` passages, most likely first, that the question after the `latest` will be about."""
        retriever, store = self.assistant.retriever, self.assistant.retriever.store
        near_hits = [retriever.search(Query(text), _NEAR) for text in latest]
        sources = [hits[0].passage for hits in near_hits if hits]
        if not sources:
            return []
        near = {hit.passage.id: hit.passage for hits in near_hits for hit in hits}
        near |= {passage.id: passage for source in sources for passage in store.passages_around(source, _AROUND)}
        passages = list(near.values())
        texts = [embedded_text(passage.title, passage.text) for passage in passages]
        vectors = self.assistant.embedder.embed([*texts, *latest])
        asked = vectors[len(texts) :][[bool(hits) for hits in near_hits]]
        scores = predictor.expected_use(passages, vectors[: len(texts)], asked, sources)
        scores += predictor.asked_about(passages, [query.parse(text, date.today()) for text in latest])
        return [passages[place] for place in np.argsort(-scores, kind="stable")[:count].tolist()]

    def _questions(self, prompt: str, trace: Trace) -> str:
        """Return the model's reply to a prompt for `stride` questions."""
        return self._written(prompt, _QUESTION_TOKENS * self.stride, trace)

    def _abstract(self, passages: Sequence[StoredPassage], trace: Trace) -> str:
        """Return the model's summary of the passages."""
        return self._written(predictor.abstract_prompt(passages), _ABSTRACT_TOKENS, trace).strip()

    def _kept_abstract(self, passages: Sequence[StoredPassage], trace: Trace) -> str:
        """Return the summary of the passages: the kept one, or a new one, which is kept."""
        ids = [passage.id for passage in passages]
        if self.abstracts and (kept := self.abstracts.about(ids)):
            return kept
        written = self._abstract(passages, trace)
        if self.abstracts and written:
            self.abstracts.add(written, ids)
        return written

    def _written(self, text: str, most: int, trace: Trace) -> str:
        """Return the model's greedy reply to a prompt; "" if the prompt leaves no room."""
        source = self.assistant.source()
        prompt = prompts.turn(text, source.template)
        if source.room(prompt) <= 0:
            return ""
        return "".join(piece.text for piece in source.stream(prompt, SamplingSettings(), max_tokens=most, trace=trace))

    def _analogues(self, latest: Sequence[str]) -> list[str]:
        """Return the last question with its person replaced by others: people in passages near it, or in earlier
        questions.
        """
        *earlier, last = latest
        hits = self.assistant.retriever.search(Query(last), _AROUND, self.options.relevance)
        if not hits:
            return []
        people = [person for hit in hits for person in hit.passage.people]
        for text in earlier:
            for hit in self.assistant.retriever.search(Query(text), 1, self.options.relevance):
                named = words.names(text)
                people += [each for each in hit.passage.people if named & set(words.content_words(each))]
        near = self.assistant.embedder.embed([embedded_text(hits[0].passage.title, hits[0].passage.text)])[0]
        return self._new(questions.analogues(last, people), _ANALOGUES, near)

    def about(self, passage: StoredPassage) -> list[str]:
        """Return questions made by rules from the passage's text; runs no model but the embedder."""
        near = self.assistant.embedder.embed([embedded_text(passage.title, passage.text)])[0]
        return self._finding(
            passage, self._new(questions.from_passage(passage, own_names(self.assistant)), PER_PASSAGE, near)
        )

    def _finding(self, passage: StoredPassage, candidates: Sequence[str]) -> list[str]:
        """Return the questions that retrieve their own passage first; others are vague, or fit another passage."""
        return [
            question
            for question in candidates
            if (hits := self.assistant.retriever.search(Query(question), 1, self.options.relevance))
            and hits[0].passage.id == passage.id
        ]

    def _new(self, candidates: Sequence[str], most: int, near: Vectors | None = None) -> list[str]:
        """Return at most `most` candidates that are new and worth predicting, nearest to `near` first."""
        if not candidates:
            return []
        selection = Selection(self.assistant, self.options, self.bank, self.tallies())
        return selection.of(candidates, most, self._latest(), near)
