"""The model card of a draft network: its data, settings and figures."""

from collections.abc import Mapping
from typing import Any

from models.speculative.network import Shape
from scripts.benchmarks.dovetail_prompts import SETS
from scripts.datasets.folders import HELD_OUT
from scripts.drafting.measuring import DEPTH
from scripts.drafting.recipe import WARM, WARM_UP, WEIGHTS, Collected, Recipe

_FUSIONS = {"gated": "dynamic gated fusion (Dovetail, section 3.2)", "plain": "a linear layer (EAGLE)"}


def card(model: str, shape: Shape, settings: Recipe, collected: Collected, figures: Mapping[str, Any]) -> str:
    """Return the whole card as Markdown."""
    soft, smooth = WEIGHTS[settings.losses]
    sources = ", ".join(SETS.values())
    int8 = figures["int8"]
    return f"""# A draft network for {model}

It foresees the next tokens of {model}, and of no other model: it is refused for another one, and where an adapter is
used. Made by `scripts/train_draft`. Licences: the model's, and those of the data.

## Data

{figures["written"]:,} tokens of the model's own answers to {figures["texts"]:,} of Jackdaw's prompts, and the
{figures["read"]:,} tokens in which these prompts differ. Sources: {sources}, and
requests without passages. One question in {HELD_OUT}, by its document, is held out.

{collected.answers} answers to each prompt, the first greedy, the others at temperature {WARM}; at most
{collected.most} tokens of each, up to where Jackdaw ends it. Features by llama.cpp, attention states in q8_0.
Seed {collected.seed}.

## Settings

Fusion by {_FUSIONS[shape.fusion]}, {shape.blocks} block(s) of the model's shape, a reduced vocabulary of
{shape.drafted:,} tokens. Losses: {soft:g} × soft targets over that vocabulary + {smooth:g} × SmoothL1 of the features.
AdamW, {settings.highest_rate:g} at most, up over {WARM_UP:.0%} of the steps, then down; {settings.epochs} epochs,
a prompt with its answers in each step; seed {settings.seed}. Matrices multiplied in {settings.precision},
written in float16.

## Figures

{figures["positions"]:,} tokens of greedy answers to held-out prompts, up to where Jackdaw ends them.

| | |
|---|---|
| the likeliest next token is foreseen (top-1) | {figures["top1"]} |
| the same without features of the prompt | {figures["top1_without_prompt"]} |
| next tokens that the reduced vocabulary holds | {figures["covered"]} |
| tokens a pass, {DEPTH} drafted in a chain | {figures["tokens_per_pass"]} |
| the same without features of the prompt | {figures["tokens_per_pass_without_prompt"]} |
| without them, with matrices in 8-bit integers | {int8["tokens_per_pass_without_prompt"]} |
| the first, second, … drafted token is accepted, once reached | {", ".join(map(str, figures["accepted"]))} |
| a draft step over one token, NumPy | {_times(figures["step_ms"])} |
| with matrices in 8-bit integers, products by torch | {_times(int8["step_ms"])} |
"""


def _times(step_ms: Mapping[str, float]) -> str:
    return ", ".join(f"{ms} ms with {count} thread{'s' * (count != '1')}" for count, ms in step_ms.items())
