"""Corrects the words of a search by the words of the person's files and conversations."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from device_app.english import spelling
from device_app.english.searching import Search
from device_app.english.spelling import Correction
from device_app.english.terms import plain
from storage.keywords import quoted
from storage.search import FullText, all_of, any_of

_MOST_HELD = 1_000
_MOST_SPELLINGS = 8


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spelling of words in one store. It is cached: a `Spelling` serves only while the store stays the same."""

    files: FullText
    talk: FullText
    _spelled: dict[str, str | None] = field(default_factory=dict)

    def corrected(
        self, search: Search, unfinished: str, names: Collection[str]
    ) -> tuple[Search, tuple[Correction, ...]]:
        """Replace each word that no file and no conversation contains by the likeliest word one letter away.

        The `names` stay as they are, and so does the word `unfinished` if a word in the files begins with it.
        """
        used = {}
        for word in search.words:
            if word in names or not spelling.is_correctable(word):
                continue
            if word == unfinished and self.files.with_prefix(word):
                continue
            if word not in self._spelled:
                others = tuple(other for other in search.words if other not in (word, unfinished))
                self._spelled[word] = self._likeliest(word, others)
            if spelled := self._spelled[word]:
                used[word] = spelled
        words = tuple(dict.fromkeys(used.get(word, word) for word in search.words))
        text = re.sub(r"\w+", lambda match: used.get(plain(match[0]), match[0]), search.text)
        corrections = tuple(Correction(word, spelled) for word, spelled in used.items())
        return replace(search, words=words, text=text), corrections

    def _likeliest(self, word: str, others: Sequence[str]) -> str | None:
        """Return the likeliest correct spelling of a word in a search with the words `others`.

        Return None if the word occurs as it is, or if no similar word occurs.
        """
        if self.files.held(quoted(word), 1) or self.talk.held(quoted(word), 1):
            return None
        weights = spelling.spellings(word)
        held = self.files.held_each(map(quoted, weights), _MOST_HELD)
        passages = {each: held[quoted(each)] for each in weights}
        likely = sorted(filter(passages.get, weights), key=lambda each: -weights[each] * passages[each])
        together = {
            each: self.files.held(all_of([quoted(each), any_of(others)]), _MOST_HELD)
            for each in (likely[:_MOST_SPELLINGS] if others else ())
        }
        return spelling.best(weights, passages, together)
