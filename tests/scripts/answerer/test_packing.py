"""Packing training examples into rows of tokens: each question has the prompt that Jackdaw builds, and attends to no
other example.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.fake import CONTROL, END, FakeEngine
from scripts.answerer.lessons import Lesson, Pair, passage
from scripts.answerer.packing import LENGTH, MOST_ANSWER, Branch, Row, Tree, chat, cut, packed, plain, tree
from shared.prompt import NOT_FOUND, Exchange, Prompt, build, to_ask, turn

ENGINE = FakeEngine()
FILES = (
    passage("Ann keeps the drill in the shed.", "Tools", "2025-04-02T10:00:00"),
    passage("Ben: <|im_end|> is no word of mine.", "A chat"),
)
LESSON = Lesson(
    "lives",
    FILES,
    (
        Pair("Where is the drill?", "in the shed"),
        Pair(
            "And whose is it?", "Ann's", (Exchange("Where is the drill?", "in the shed"), Exchange("Since when?", ""))
        ),
        Pair("Where is the saw?", NOT_FOUND),
    ),
)


def tokenize(text: str, special: bool) -> list[int]:
    return ENGINE.tokenize(text, special=special)


def read(prompt: Prompt, answer: str) -> tuple[int, ...]:
    """Return the tokens that Jackdaw's engine prefills for the prompt, followed by those of the answer."""
    segments = (*prompt.head, *(segment for passage in prompt.passages for segment in passage), *prompt.tail)
    tokens = [token for segment in segments for token in tokenize(segment.text, segment.special)]
    return (*tokens, *tokenize(answer, False), END)


def written(tree: Tree) -> list[tuple[int, ...]]:
    return [(*tree.trunk, *branch.tokens) for branch in tree.branches]


def taught(row: Row) -> list[list[int]]:
    """For each token with a training target, return the tokens that it attends to, and the target."""
    columns, mask = [], row.mask()
    for place in np.flatnonzero(row.targets >= 0).tolist():
        own = np.flatnonzero(mask[place])
        assert row.positions[own].tolist() == list(range(len(own)))
        columns.append([*row.tokens[own].tolist(), int(row.targets[place])])
    return columns


def test_trunk_and_branch_are_the_prompt_that_jackdaw_builds_and_the_answer() -> None:
    expected = [read(build(pair.question, FILES, earlier=pair.earlier), pair.answer) for pair in LESSON.pairs]
    assert written(tree(LESSON, tokenize, END)) == expected


def test_a_question_to_be_asked_stands_where_the_questioner_writes_it() -> None:
    lesson = Lesson("xquad", FILES[:1], (Pair("Who?", "Ann"),), ("Where is the drill?",))
    assert written(tree(lesson, tokenize, END)) == [
        read(build("Who?", FILES[:1]), "Ann"),
        read(to_ask(FILES[0]), "Where is the drill?"),
    ]


def test_a_control_token_in_a_passage_is_text() -> None:
    assert tree(LESSON, tokenize, END).trunk.count(CONTROL["<|im_end|>"]) == 1


def test_a_talk_without_passages_is_the_turn_that_jackdaw_builds() -> None:
    assert written(chat("Hello", "Hello yourself", tokenize, END)) == [read(turn("Hello"), "Hello yourself")]


def test_plain_text_is_read_as_it_stands_up_to_a_length() -> None:
    taught = plain("What stands there.", tokenize, 9)
    assert (taught.trunk, taught.branches[0].tokens) == ((), tuple(b"What stan"))
    [row] = packed([taught])
    assert list(row.targets[:9]) == [*b"hat stan", -1]


def test_a_long_answer_is_taught_up_to_a_length_and_ended() -> None:
    [branch] = chat("Tell me.", "x" * 500, tokenize, END).branches
    assert branch.tokens[branch.taught :] == (*b"x" * MOST_ANSWER, END)


def test_an_abstention_weighs_less_than_an_answer_and_length_counts_by_its_root() -> None:
    answer, _, abstention = tree(LESSON, tokenize, END).branches
    assert answer.weight == len("in the shed" + ".") ** 0.5
    assert abstention.weight < len(NOT_FOUND + ".") ** 0.5


def test_targets_are_the_next_tokens_of_the_answers_alone() -> None:
    whole = tree(LESSON, tokenize, END)
    [row] = packed([whole], 4096)
    answers = [branch.tokens[branch.taught :] for branch in whole.branches]
    assert [line[-1] for line in taught(row)] == [token for answer in answers for token in answer]
    weights = [row.weights[(row.branch == number) & (row.targets >= 0)] for number in (1, 2, 3)]
    assert np.allclose([own.sum() for own in weights], [branch.weight for branch in whole.branches])
    assert not row.weights[row.targets < 0].any()


def test_of_a_lesson_that_is_too_long_the_last_questions_are_left_out() -> None:
    row = tree(LESSON, tokenize, END)
    assert cut(row, len(row)) == row
    assert cut(row, len(row) - 1) == Tree(row.source, row.trunk, row.branches[:2])
    assert cut(row, 10) == Tree(row.source, row.trunk, row.branches[:1])


tokens = st.integers(0, 400)
texts = st.lists(tokens, min_size=1, max_size=40).map(tuple)


@st.composite
def branches(draw: st.DrawFn) -> Branch:
    tail, said = draw(texts), draw(texts)
    return Branch((*tail, *said), len(tail), draw(st.floats(0.1, 9.0)))


trees = st.lists(
    st.builds(
        Tree, st.just("made"), st.lists(tokens, max_size=60).map(tuple), st.lists(branches(), max_size=4).map(tuple)
    ),
    max_size=8,
)


@given(trees, st.integers(1, 300))
def test_a_tree_is_cut_no_more_than_it_must_be(made: list[Tree], most: int) -> None:
    for part in made:
        left = cut(part, most)
        assert left.branches == part.branches[: len(left.branches)]
        assert len(left) <= most or len(left.branches) <= 1
        if left != part:
            assert len(left) + len(part.branches[len(left.branches)].tokens) > most


@given(trees, st.sampled_from([60, 300]))
def test_a_token_reads_its_own_prompt_up_to_itself_and_nothing_else(made: list[Tree], most: int) -> None:
    made = [part for part in made if len(part)]
    expected = [
        [*part.trunk, *branch.tokens[: place + 1]]
        for part in made
        for branch in part.branches
        for place in range(branch.taught, len(branch.tokens))
    ]
    assert [line for row in packed(made, most) for line in taught(row)] == expected


@given(trees)
def test_rows_are_a_multiple_long_and_hold_at_most_what_fits_or_one_lesson(made: list[Tree]) -> None:
    for row in packed([part for part in made if len(part)], LENGTH):
        assert len(row.tokens) % LENGTH == 0
        assert len(row.tokens) == LENGTH or {*row.lesson} <= {0, 1}  # the last one fills it up
        assert row.mask().diagonal().all()
