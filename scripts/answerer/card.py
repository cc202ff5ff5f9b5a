"""The model card of an adapter: its training data with licences, the training, and its scores."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.answerer.packing import ROW, Tree
from scripts.answerer.recipe import ABSTENTION, TARGETS, USED, WARM_UP, Recipe
from scripts.benchmarks.answers import ASIDE, MOST_QUESTIONS
from scripts.benchmarks.answers_skills import WINDOW
from scripts.datasets.folders import HELD_OUT

LICENCE = "CC BY-SA 4.0"
"""The strictest licence of the training data; the base model's licence is Apache-2.0."""

_SOURCES = {
    "xquad": ("XQuAD", "its English part (the development set of SQuAD 1.1): CC BY-SA 4.0"),
    "nq_passages": ("Natural Questions", "with their passages of Wikipedia: CC BY-SA 3.0"),
    "lihuaworld": ("LiHua-World", "a year of chats of a person that was made up: MIT"),
    "qmsum": ("QMSum", "meetings of AMI and ICSI (CC BY 4.0) and of two parliaments: MIT"),
    "quotes": ("quotations from meetings", "made by `scripts/answerer/quotes.py` of QMSum: licences as there"),
    "lives": ("personal lives", "made by `scripts/answerer/lives.py`"),
    "encyclopedia": (
        "questions on an encyclopedia",
        "made by `scripts/answerer/encyclopedia.py` of 2WikiMultihopQA's passages: CC BY-SA 3.0",
    ),
    "plain": ("an encyclopedia", "its passages, unchanged"),
    "chat": ("chats without passages", "our own, and the seed tasks of Self-Instruct: Apache-2.0"),
}
"""The name of each data source, and its description with its licence."""


def about(trees: Sequence[Tree]) -> str:
    """Return one line that describes the training and its sources."""
    return "Trained to answer from passages, briefly, and to say when they do not contain the answer: " + ", ".join(
        _SOURCES[name][0] for name in sorted(_tokens(trees))
    )


def card(recipe: Recipe, trees: Sequence[Tree], figures: Mapping[str, Any]) -> str:
    """Return the whole card as Markdown. `trees` are the lessons of the training, as trees of tokens; `figures` are the
    results of `scripts/bench answers`.
    """
    taught = Counter[str]()
    for tree in trees:
        taught[tree.source] += len(tree.branches)
    tokens = _tokens(trees)
    read = "\n".join(
        f"| {', '.join(_SOURCES[name])} | {taught[name]:,} | {tokens[name]:,} |" for name in sorted(tokens)
    )
    measured = "\n".join(_measured(figures))
    chats = "\n".join(
        f"- *{chat['asked']}*\n  {' '.join(chat['said'].split())}" for chat in figures["skills"]["adapter"]["chats"]
    )
    return f"""# The answerer

A LoRA adapter for SmolLM2-135M-Instruct: it answers from passages, briefly, says "The passages do not say." if
they do not contain the answer, and writes questions that a passage answers. Made by `scripts/train_answerer`;
licence {LICENCE}, because of the data.

## Data

The real questions about one in {HELD_OUT} articles, passages, sessions or meetings, chosen by the hash of its name,
were held out: the model was not trained with them. It may have read their passages, with other questions. Questions
about several sessions, only some of which are held out, are not used at all. Questions that no document answers are
held out one by one, by the hash of the question.

| source | answers taught | tokens read |
|---|---:|---:|
{read}

## Settings

Rank {recipe.rank}, alpha {recipe.alpha}, on {", ".join(TARGETS)} of every layer. Of the learnt
change of the weights, {USED:.0%} is used (alpha {USED * recipe.alpha:g} in the file), which keeps more of the bare
model's abilities.
AdamW; the learning rate rises to {recipe.rate:g} over {WARM_UP:.0%} of the steps and falls along a cosine;
{recipe.rows} rows a step, of {ROW} tokens each, or more for a longer lesson; bfloat16, the adapter itself float32.
{_runs(recipe)}
Written in Q8_0; the rank is padded with zeros to a multiple of 32, which does not change the results.
It abstains where the log odds of its abstention are at least {ABSTENTION.intercept:g} plus {ABSTENTION.slope:g} times
the log odds, estimated by the search, that the best passage is relevant.

## Figures

Measured on held-out questions: `scripts/bench answers`. The modes: `best`, from the best passage that Jackdaw finds
or, if that does not contain the answer, from the next one; `prompt3` and `rows3`, from the best three passages;
`quoted`, as `best`, but a question about what was said is answered by a quotation, as in Jackdaw. The columns: F1 and
whether the answer contains the reference, the answer's tokens, milliseconds on the machine that trained the adapter,
and the share of abstentions when the answering passages were removed (right) and when they are present (false). Each
set has at most {MOST_QUESTIONS} questions; one in {ASIDE} of them is asked in the modes that are not the model's
own: compare only modes with equally many questions.

| set | mode | model | asked | F1 | contains | ROUGE-L | tokens | ms | right | false |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
{measured}

## Abilities of the bare model that it keeps

Perplexity of WikiText-2 (the second half of each of several windows of {WINDOW} tokens, from all over the text):
{_perplexities(figures["skills"])}.
Without passages, the model with its adapter says:

{chats}
"""


def _runs(recipe: Recipe) -> str:
    if recipe.runs == 1:
        return f"One run, seed {recipe.seed}."
    return f"""{recipe.runs} runs from the same
first weights, each with other lessons in another order (seeds from {recipe.seed} on); the mean of their results,
reduced to the rank, is used (Wortsman et al., Model soups, ICML 2022)."""


def _perplexities(skills: Mapping[str, Any]) -> str:
    return ", ".join(f"{model} {scores['perplexity']}" for model, scores in skills.items() if "perplexity" in scores)


def _tokens(trees: Sequence[Tree]) -> Counter[str]:
    """Return the number of tokens by source."""
    tokens = Counter[str]()
    for tree in trees:
        tokens[tree.source] += len(tree)
    return tokens


def _measured(figures: Mapping[str, Any]) -> Iterator[str]:
    for name, models in figures.items():
        for model, modes in models.items() if name not in ("abstain", "skills") else ():
            for mode, by_name in modes.items():
                shares = by_name["abstain"]
                values = [by_name[key] for key in ("asked", "f1", "contains", "rouge_l", "tokens", "ms")]
                cells = [*values, shares.get("right", ""), shares.get("false", "")]
                yield f"| {name} | {mode} | {model} | " + " | ".join(map(str, cells)) + " |"
