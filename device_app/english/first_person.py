"""Rewrites a question that names the user in the first person: "What did Li Hua buy?" becomes "What did I buy?"."""

import re
from collections.abc import Collection

_SUBJECT = {"does": "do", "doesn't": "don't", "is": "am", "isn't": "am not", "has": "have", "hasn't": "haven't"}
_SAME = "do did didn't was wasn't had can can't could couldn't will won't would should may might must shall"
_AUXILIARY = re.compile(rf"\b({'|'.join((*_SUBJECT, *_SAME.split()))}) $", re.IGNORECASE)
_BEFORE_OBJECT = re.compile(
    r"\b(?:about|after|against|around|before|behind|by|for|from|near|of|to|toward|towards|with|without"
    r"|ask|asked|call|called|give|gave|help|helped|invite|invited|lend|lent|meet|met|offer|offered|owe|pay|paid|remind"
    r"|reminded|send|sent|show|showed|tell|told|thank|visit|visited|want|wanted) $",
    re.IGNORECASE,
)


def in_first_person(question: str, mine: Collection[str]) -> str:
    """Return the question with "I", "me" and "my" in place of the user's names, `mine`.

    A question that would need further changes, such as "What does Anna think that Li Hua wants?", stays unchanged.
    """
    text = question
    for name in sorted(mine, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}['’]s\b", "my", text) if name else text
        while name and (match := re.search(rf"(?<![\w@]){re.escape(name)}(?![\w@])", text)):
            before = text[: match.start()]
            if auxiliary := _AUXILIARY.search(before):
                word = _SUBJECT.get(auxiliary[1].lower(), auxiliary[1])
                word = word.capitalize() if auxiliary[1][0].isupper() else word
                text = f"{before[: auxiliary.start()]}{word} I{text[match.end() :]}"
            elif _BEFORE_OBJECT.search(before):
                text = f"{before}me{text[match.end() :]}"
            else:
                return question
    return text[:1].upper() + text[1:]
