"""Chooses and orders the training data: each source gets a share of the tokens; the order is shuffled, reproducible by
seed.
"""

import math
import random
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.answerer.encyclopedia import made, near_misses
from scripts.answerer.lessons import Lesson, Pair, passage
from scripts.answerer.lives import lives
from scripts.answerer.packing import Tokenize, Tree, chat, cut, plain, tree
from scripts.datasets.retrieval_sets import lines

MOST_PAIRS = 6
"""The most questions per passage. More questions on the same passage would teach less than another passage does."""

SHARES = {
    "xquad": 0.14,
    "nq_passages": 0.18,
    "lihuaworld": 0.15,
    "qmsum": 0.06,
    "quotes": 0.07,
    "lives": 0.19,
    "encyclopedia": 0.10,
    "plain": 0.05,
    "chat": 0.06,
}
"""The share of training tokens by source; the share of a missing source is not used."""

TOGETHER = 0.2
"""The fraction of the lessons with several passages that one round over all lessons uses; each round draws another
sample. An answer from several passages costs three times as many tokens and teaches no more.
"""

TAUGHT = ("xquad", "nq_passages", "lihuaworld", "qmsum", "quotes")
"""The sources with a fixed set of lessons, which is small and therefore repeated."""

_ASKED_ABOUT = 0.9
"""The share of the encyclopedia used for questions; the rest is used as plain text."""

_OTHERS = 100
"""The number of recent questions about other passages that are remembered; some of them serve as unanswerable questions
about the next passage.
"""

_PLAIN_TOKENS, _CHAT_CHARACTERS = 160, 500
"""The most tokens of a plain text, and the most characters of an answer without passages."""


def curriculum(given: Sequence[Lesson], data: Path, tokenize: Tokenize, end: int, tokens: int, seed: int) -> list[Tree]:
    """Return shuffled lessons as trees of tokens (`packing.Tree`), about `tokens` tokens in total, with each source's
    share.

    `given` are the fixed lessons from the folders of questions; `end` is the token that ends an answer.
    """
    rng = random.Random(seed)
    wiki = list(lines(data / "wiki_corpus" / "passages.jsonl")) if (data / "wiki_corpus").is_dir() else []
    rng.shuffle(wiki)
    border = int(len(wiki) * _ASKED_ABOUT)
    sources = {
        **{name: (tree(_few(lesson, rng), tokenize, end) for lesson in _passes(given, name, rng)) for name in TAUGHT},
        "lives": (tree(_few(lesson, rng), tokenize, end) for lesson in lives(seed, tokens)),
        "encyclopedia": (tree(_few(lesson, rng), tokenize, end) for lesson in _encyclopedia(wiki[:border])),
        "plain": (
            plain(f"{article['title']}\n{article['text']}", tokenize, _PLAIN_TOKENS) for article in wiki[border:]
        ),
        "chat": (chat(*messages, tokenize, end) for messages in _again(list(_chats(data)), rng)),
    }
    chosen: list[Tree] = []
    for name, trees in sources.items():
        left = tokens * SHARES[name]
        for row in map(cut, trees):
            if left <= 0:
                break
            left -= len(row)
            chosen.append(row)
    rng.shuffle(chosen)
    return chosen


def _passes(given: Iterable[Lesson], name: str, rng: random.Random) -> Iterator[Lesson]:
    """Yield the lessons of one source endlessly, in rounds: each round has all lessons with one passage, and a new
    sample of the lessons with several passages.
    """
    own = [lesson for lesson in given if lesson.source == name]
    alone = [lesson for lesson in own if len(lesson.passages) == 1]
    several = [lesson for lesson in own if len(lesson.passages) > 1]
    part = math.ceil(TOGETHER * len(several))
    while alone or several:
        lessons = [*alone, *rng.sample(several, part)]
        yield from rng.sample(lessons, len(lessons))


def _again(chats: Sequence[tuple[str, str]], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield all chats endlessly, in a new order in each round."""
    while chats:
        yield from rng.sample(chats, len(chats))


def _few(lesson: Lesson, rng: random.Random) -> Lesson:
    pairs = rng.sample(lesson.pairs, min(len(lesson.pairs), MOST_PAIRS))
    asked = rng.sample(lesson.asked, min(len(lesson.asked), 1))
    return replace(lesson, pairs=tuple(pairs), asked=tuple(asked))


def _encyclopedia(articles: Iterable[Mapping[str, str]]) -> Iterator[Lesson]:
    others: deque[Pair] = deque(maxlen=_OTHERS)
    for article in articles:
        title, text = article["title"], article["text"]
        if pairs := made(title, text):
            missed = near_misses(title, text, others)[: max(1, len(pairs) // 3)]
            asked = tuple(pair.question for pair in pairs if pair.question.endswith("?"))
            yield Lesson("encyclopedia", (passage(text, title),), (*pairs, *missed), asked)
            others += pairs


def _chats(data: Path) -> Iterator[tuple[str, str]]:
    """Yield requests to an assistant that need no passages, each with its answer."""
    for talk in tomllib.loads(Path(__file__).with_name("small_talk.toml").read_text("utf-8"))["talk"]:
        yield from ((asked, talk["said"]) for asked in talk["asked"])
    path = data / "prompts" / "instructions.jsonl"
    for line in lines(path) if path.is_file() else ():
        first = line["instances"][0]
        if len(first["output"]) < _CHAT_CHARACTERS:
            yield "\n".join(filter(None, [line["instruction"], first["input"]])), first["output"]
