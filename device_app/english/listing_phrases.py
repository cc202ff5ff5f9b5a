"""Phrases of questions for documents that their single words do not show."""

from __future__ import annotations

import calendar
import re
from typing import Final

NEWS: Final = re.compile(
    r"(?:what(?:['’]?s| is)|(?:is there )?any(?:thing)?) (?:new|news)(?: in my files)?"
    r"|(?:(?:my|the|all|new|any) )*(?:files|documents)"
    r"|(?:have|did) (?:i|we) miss(?:ed)? (?:any|some)thing|what (?:have|did) (?:i|we) miss(?:ed)?"
    r"|what (?:came|has come|has arrived|arrived|was added|has been added|got added|turned up)(?: in)?",
    re.IGNORECASE,
)
"""Matches a question for everything of a period, without the words for the period: "What is new (since Monday)?"."""

NTH: Final = re.compile(
    r"(?i)\b(?:second|third|fourth|fifth|sixth|penultimate)\b"
    r"(?:[- ](?:to[- ])?(?:last|latest|newest|oldest|most recent))? (?:(?:e-?)?mail|message|letter|note|chat|file)"
    r"|\blast but\b|\bbut (?:one|two)\b"
)
"""Matches a place in an order other than the first and the last: "the second mail", "the last mail but one"."""

NO_LIST: Final = re.compile(
    r"(?i)(?:write|draft|compose|send|forward|reply|respond|answer|delete|remove|erase|archive|move|mark|block|"
    r"unsubscribe|translate|summari[sz]e|recap|sum up|(?:(?:a|the|short) )*(?:summary|overview) of)\b(?! me\b)"
    r"|.*\b(?:how many|number of) (?:\w+ )?(?:people|senders)\b"
    r"|what for\b|what .*(?<! look)(?<! looking) for\W*$"
)
"""Matches requests to write, summarise or change mails, and questions that count people or ask for a reason: none of
them asks for documents.
"""

MONTH_OR_NAME: Final = re.compile(
    r"^(?!.*\b(?:from|between)\b.*\b(?:to|and|until|till|through)\b).*\b(?:from|of|by|to|with) "
    rf"(?P<name>{'|'.join(calendar.month_name[1:])})\b(?!,? \d)",
    re.IGNORECASE,
)
"""Matches a month that may be the name of somebody, too: "messages from May"."""
