"""The model card of a trained adapter: data sources with licences, settings, which questions were held out, and all
figures.
"""

from scripts.answerer.card import LICENCE, about, card
from scripts.answerer.packing import Branch, Tree
from scripts.answerer.recipe import Recipe

TREES = [
    Tree("xquad", (1,) * 1200, (Branch((1, 2), 1, 1.0), Branch((1, 3), 1, 1.0))),
    Tree("lives", (1, 2), (Branch((1, 2), 1, 1.0),)),
]
MEASURED = {"asked": 40, "f1": 0.61, "contains": 0.58, "rouge_l": 0.6, "tokens": 4.2, "ms": 310.5}
FIGURES = {
    "xquad": {
        "base": {"best": {**MEASURED, "abstain": {"right": 0.0, "false": 0.0}}},
        "adapter": {
            "best": {**MEASURED, "f1": 0.7, "abstain": {"right": 0.82, "false": 0.09}},
            "rows3": {**MEASURED, "abstain": {"right": 0.5}},
        },
    },
    "qmsum": {"adapter": {"prompt3": {**MEASURED, "abstain": {}}}},
    "abstain": {"right": 0.82, "false": 0.09},
    "skills": {
        "base": {"perplexity": 20.5, "chats": [{"asked": "Hello!", "said": "Hello there."}]},
        "adapter": {"perplexity": 21.25, "chats": [{"asked": "Hello!", "said": "Hi.\n\nWhat now?"}]},
    },
}
TEXT = card(Recipe(rank=12, seed=5), TREES, FIGURES)


def test_every_source_is_told_with_its_licence_and_how_much_was_read() -> None:
    assert "| XQuAD, its English part (the development set of SQuAD 1.1): CC BY-SA 4.0 | 2 | 1,204 |" in TEXT
    assert "| personal lives, made by `scripts/answerer/lives.py` | 1 | 4 |" in TEXT
    assert f"licence {LICENCE}" in TEXT
    assert about(TREES).endswith("do not contain the answer: personal lives, XQuAD")


def test_the_rule_of_what_was_held_out_and_the_settings_are_told() -> None:
    assert "one in 5 articles, passages, sessions or meetings" in TEXT
    assert "Rank 12, alpha 24, on attn_q, attn_v, attn_output, ffn_up, ffn_down" in TEXT
    assert "85% is used (alpha 20.4 in the file)" in TEXT
    assert "3 runs from the same" in TEXT
    assert "seeds from 5 on" in TEXT


def test_one_run_is_no_mean() -> None:
    text = card(Recipe(rank=12, seed=5, runs=1), TREES, FIGURES)
    assert "One run, seed 5." in text
    assert "mean" not in text


def test_the_table_has_a_line_for_each_set_model_and_mode() -> None:
    assert [line for line in TEXT.splitlines() if line.startswith(("| xquad", "| qmsum"))] == [
        "| xquad | best | base | 40 | 0.61 | 0.58 | 0.6 | 4.2 | 310.5 | 0.0 | 0.0 |",
        "| xquad | best | adapter | 40 | 0.7 | 0.58 | 0.6 | 4.2 | 310.5 | 0.82 | 0.09 |",
        "| xquad | rows3 | adapter | 40 | 0.61 | 0.58 | 0.6 | 4.2 | 310.5 | 0.5 |  |",
        "| qmsum | prompt3 | adapter | 40 | 0.61 | 0.58 | 0.6 | 4.2 | 310.5 |  |  |",
    ]


def test_what_it_keeps_is_told_of_both_models_and_ten_chats_of_the_adapter() -> None:
    assert "all over the text):\nbase 20.5, adapter 21.25." in TEXT
    assert "- *Hello!*\n  Hi. What now?\n" in TEXT
    assert "Hello there" not in TEXT
