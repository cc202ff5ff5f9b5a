"""Judges replies to the everyday questions: by strings that the reply has to contain, and strings that it must not
contain.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

State = Literal["right", "wrong_shown", "abstained"]

_DECLINES = (
    "not say|don't say|doesn't say|not tell|don't tell|nothing|none|not find|not found|didn't find|couldn't find|"
    "can't find|found no|no such|no file*|no mail with|no note*|no event*|no mention|not mentioned|nobody|no one|"
    "there is no|don't know|do not know|not know|unknown|cannot tell|can't tell|no information|not in your"
)
_FIRST_LINE = ("mail_count", "count")
"""The kinds of questions whose reply is judged by its first line only, so that a number in a list below it does not
count.
"""

_YES, _DECISION = (
    ("yes", "yep", "yeah", "correct"),
    re.compile(r"\b(yes|yep|yeah|correct|no|not|never|didn't|hasn't|wasn't|isn't)\b", re.IGNORECASE),
)
_BEGINNING = 240


def judged(items: Sequence[Mapping[str, Any]], replies: Mapping[str, tuple[str, bool]]) -> dict[str, State]:
    """Return the verdict on each question by its id, from its reply and whether the reply abstains. Two questions that
    form a pair are right only if both are.

    A question without a reply counts as abstained.
    """
    right = {each["id"]: each["id"] in replies and _is_right(each, *replies[each["id"]]) for each in items}
    pairs: dict[str, list[str]] = {}
    for each in items:
        pairs.setdefault(each["pair"] or each["id"], []).append(each["id"])
    for pair in pairs.values():
        are_all_right = all(right[identity] for identity in pair)
        right |= dict.fromkeys(pair, are_all_right)
    return {
        identity: "right" if is_right else "abstained" if replies.get(identity, ("", True))[1] else "wrong_shown"
        for identity, is_right in right.items()
    }


def holds(text: str, alternatives: str) -> bool:
    """Return whether one of the alternatives, separated by "|", occurs in the text as whole words; "*" lets a word
    continue.
    """
    return any(_stands(text, " ".join(each.split())) for each in alternatives.split("|") if each.strip())


def _stands(text: str, words: str) -> bool:
    body = re.escape(words.rstrip("*")).replace(r"\ ", r"\s+")
    left = r"(?<![\w])(?<!\d[.,:])" if words[0].isalnum() else ""
    right = "" if words.endswith("*") or not words[-1].isalnum() else r"(?!\w)"
    return re.search(left + body + (r"(?![.,:]?\d)" if words[-1].isdigit() else right), text, re.IGNORECASE) is not None


def _is_right(item: Mapping[str, Any], reply: str, abstained: bool) -> bool:
    first = next((line for line in reply.splitlines() if line.strip()), "")
    text = first if item["kind"] in _FIRST_LINE else " ".join(reply.replace("’", "'").split())
    declines = abstained or holds(text[:_BEGINNING], _DECLINES)
    if item["unanswerable"]:
        return declines and not any(holds(text, each) for each in item["must_not"])
    if item["kind"] == "yes_no":
        said = _DECISION.search(text)
        return not declines and said is not None and (said[1].lower() in _YES) == item["reference"].startswith("yes")
    has_all = all(holds(text, each) for each in item["must"])
    return not abstained and has_all and not any(holds(text, each) for each in item["must_not"])
