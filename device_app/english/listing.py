"""Reads questions for mails, notes, chats and files by what is known of them: who, when, what kind, which title.

"mails from Rick Moen in October", "how many notes about the roof", "the last mail from Livia", "who wrote “Final bill”".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.phrases import Phrases, bare

_MOST_CHARACTERS: Final = 240

_NAMES: Final = {
    "mails": "mail|mails|email|emails|e-mail|e-mails|emial|emials|messages|message|post",
    "mail": "mail|email|e-mail|message",
    "notes": "note|notes|entry|entries|memo|memos|write-up",
    "chats": "chat|chats|chat messages|conversations|conversation",
    "files": "file|files|document|documents|pdfs|papers|items",
    "kinds": "<mails>|<notes>|<chats>|<files>",
    "show": "[please] (show|give|get|list|find|display|bring up|pull up|print|see|fetch|open|read|look up|search|search for|dig "
    "out|enumerate) [me|us|out|up]* [a list of|the list of|a list with]",
    "all": "all|the|all the|all of the|all my|my|any|every|some|every single|each|our",
    "box": "(in|from) (my|the) (inbox|mailbox|mails|mail|files|post)|that i have|that i got|i have|i got|there are|so far|in total|"
    "altogether|overall|to date|which i have",
    "from": "from|by|sent by|written by|of|sent from|that came from|that are from|i got from|i received from|i have from|came from|"
    "which came from|coming from|that i got from|that i received from|received from",
    "sent": "sent|wrote|mailed|emailed|e-mailed|has sent|has written|had sent|sends|forwarded",
    "send": "send|write|mail|email|e-mail|message|sent",
    "tome": "me|to me|us|to us|me in",
    "about": "about|on|regarding|concerning|mentioning|re|dealing with",
    "last": "last|latest|newest|most recent|recent|most recently written|last few|final|recentest",
    "first": "first|oldest|earliest",
    "got": "get|receive|have|got|receive from",
    "did": "did|do|have|had|has",
    "is": "is|was|'s|are|were",
    "many": "how many|how many of the|how many of my|count of|number of|the number of|the count of|total number of|the total number of|"
    "(what is|what's|whats|what was) the [total|exact] (number|count|amount) of|count|count [up] (the|all|my|all the|all my)|how "
    "much",
    "what": "(what|which) [kind of]",
    "i": "i|we",
    "number": "1|2|3|4|5|6|7|8|9|10|12|15|20|two|three|four|five|six|seven|eight|nine|ten|few",
    "manykinds": "mails|emails|e-mails|notes|messages|entries|files|documents",
}

COUNT: Final = """
    <many> [<all>] {kind:kinds} [<box>] <from> {who} [<box>] [(<about>) {topic}]
    <many> [<all>] {kind:kinds} <did> {who} (<send>|<sent>) [<tome>|in|in all]* [(<about>) {topic}]
    <many> [<all>] {kind:kinds} {who} <sent> [<tome>]
    <many> [<all>] {kind:kinds} <did> {me:i} [<got>|gotten|received] [(from|by) {who}] [(<about>) {topic}]
    <many> [<all>] {kind:kinds} {me:i} (got|received|have|get|had) [(from|by) {who}] [(<about>) {topic}]
    <many> [<all>] {kind:kinds} <did> {mine:i} <send> [to {to}]
    <many> [<all>] {kind:kinds} {mine:i} (sent|wrote|have sent|have written) [to {to}]
    <many> [<all>] {kind:kinds} [<is>] [there|in the store|in my (inbox|mailbox|files|notes)|stored] [<box>]
    <many> [<all>] {kind:kinds} (came|come|arrived|reached me|have come|were sent) [in] [from {who}]
    <many> [<all>] {kind:kinds} (<is> there|exist|do you (have|know|see|know of)) [<from> {who}] [(<about>) {topic}]
    <many> [<all>] {kind:kinds} (<is> there|do i have|have i|mention|<is>) [that] (<about>|mention|mentioning) {topic}
    how (often|many times) <did> {who} (<send>|contact|write to) [<tome>|a {kind:mails}]*
    how (often|many times) (has|have|is) {who} (written|mailed|emailed) [<tome>]*
    how (often|many times) <did> {mine:i} (<send>|write to) [to] {to}
    """

LIST: Final = """
    [<show>] [<all>] {kind:kinds} [<box>] <from> {who} [<box>] [(<about>) {topic}]
    [<show>] [<all>] {kind:kinds} [that|which] {who} <sent> [<tome>|in]* [(<about>) {topic}]
    [<show>] [<all>] {kind:kinds} [that|which] {me:i} (got|received|have|get|have got|have received) [(from|by) {who}] [(<about>) {topic}]
    [<show>] [<all>] {kind:kinds} [that|which] {mine:i} (sent|wrote|have sent|have written) [to {to}]
    [<show>] [<all>] {kind:kinds} to {to}
    <show> [<all>] {kind:kinds} [<box>]
    <show> [<all>] {kind:kinds} [<is>] (<about>|that mention|mentioning|which mention) {topic}
    [<show>] [<all>] {kind:mails} (<about>|that mention|mentioning) {topic} <from> {who}
    <what> {kind:kinds} (<did>) {me:i} (<got>|received|gotten) [(from|by) {who}] [(<about>) {topic}]
    <what> {kind:kinds} (came|come|arrived|have come|has come|were sent|have arrived) [in] [from {who}]
    <what> {kind:kinds} (<is>) [there|<box>]* (from|by) {who}
    <what> {kind:kinds} <did> {who} (<send>) [<tome>|in]* [(<about>) {topic}]
    <what> {kind:kinds} <did> {mine:i} <send> [to {to}]
    <what> {kind:kinds} <sent> by {who}
    (anything|something|everything|all|what) from {who} <box>
    (anything|something|everything|all) [that] {who} <sent> [<tome>] [by {kind:mails}]
    (anything|something|everything) [in the] {kind:mails} from {who}
    [<show>] what <did> {who} (<send>) [<tome>|by {kind:mails}|in]*
    [<show>] what {who} (<sent>) [<tome>]*
    what <did> {me:i} (<got>|received) [by {kind:mails}|in the {kind:mails}] (from|by) {who} [<box>]
    what {kind:mails} <is> there from {who}
    what <did> {mine:i} (send|write|mail|email) [to] {to}
    what [{kind:kinds}] [<did>|have] {mine:i} (write|written|note|noted|wrote|made|make) [down] (lately|recently) [(<about>) {topic}]
    [<show>] [<all>] {number:number} {kind:kinds} [<from> {who}] [(<about>) {topic}]
    [<show>] [<all>] <last> {number:number} {kind:kinds} [<from> {who}] [(<about>) {topic}]
    [<show>] [my|the] (<last>) {many:manykinds} [<from> {who}] [(<about>) {topic}]
    """

WHETHER: Final = """
    <did> {who} <send> [<tome>] [(a|any|an|some) {kind:mails}]
    <did> {who} (<send>|give) (a|any|an|some|me a|me any|me an|us any) {kind:mails} [to me]
    (<did>|have) {me:i} (<got>|gotten|received) (a|any|an|some) [new] {kind:mails} [(from|by) {who}]
    (are|is|were|was) there (a|any|an|some) {kind:kinds} [<box>] (from|by) {who}
    has {who} (written|mailed|emailed|sent (a|an|any) {kind:mails}) [<tome>]
    <did> {mine:i} (<send>|write) (a|an|any|to) [{kind:mails}] [to] {to}
    """

LATEST: Final = """
    [<show>] [<is>] [the|my|me|your]* {order:last} {kind:kinds} [<box>] <from> {who} [<box>] [(<about>) {topic}]
    [<show>] [the|my]* {order:last} {kind:kinds} [that|which|{me:i}|got|received|<box>]* [from {who}] [(<about>|called|named|titled|in [my|the]) {topic}]
    [<show>] [the|my]* {order:last} {kind:kinds} {who} <sent> [<tome>]
    [<show>] [the|my]* {order:last} {adjective} {kind:kinds} [(<about>|called|named|titled|in [my|the]|for|with) {topic}]
    [<show>] [the|my]* {adjective} {kind:kinds} {order:last}
    (what is|what's|whats|what was|which is|which was) [the|my]* {order:last} {kind:kinds} [<from> {who}] [(<about>|called|in [my|the]) {topic}] [about]
    (what is|what's|whats|what was|which is|which was) [the|my]* {order:last} {adjective} {kind:kinds} [(<about>|called|in [my|the]) {topic}] [about]
    (what is|what's|whats|what was|what does|what did) [the|my]* {order:last} {kind:kinds} [<from> {who}] [(<about>) {topic}] [say|about]
    what did i (write|note|put|say) [down] in [the|my]* {order:last} [{adjective}] {kind:kinds} [(<about>) {topic}]
    (what is|what's|whats|what was) the {order:last} thing [that] i (noted|wrote|wrote down|put down) [down] (<about>|in my|in the) {topic}
    which {kind:kinds} (did i|have i|i) (change|edit|write|update|modify|changed|touch|touched|written) {order:last} [and when]
    which <is> [the|my]* {order:last} {kind:kinds} [(<about>) {topic}]
    when did {who} {order:last} <send> [<tome>] [a {kind:mails}]
    when did {me:i} {order:last} (hear from|get a {kind:mails} from|get {kind:mails} from) {who}
    when <is> [the|my]* {order:last} {kind:mails} <from> {who}
    when did {who} {order:last} (write to|write|mail|email) [<tome>]
    (newest|latest|most recent|last|recent) {kind:kinds}
    [<show>] [the|my]* {order:first} {kind:kinds} <from> {who}
    """

BY_TITLE: Final = (
    rf"(?P<author>who (?:wrote|sent|is|was)(?: me)?(?: the)?(?: author of| sender of| from)?) (?:the )?{{MAIL}} (?:with )?(?:the |a )?"
    r"(?P<by>subject|title)(?: line)?(?: of| is|:)? (?P<title>.+)",
    r"(?:{OPEN} )?(?:the |that |my |a |any )?{MAIL} (?:with|having|whose|that has)? ?(?:the |a )?(?P<by>subject|title|heading)(?: line)?"
    r"(?: of| is| was|:| reads)? (?P<title>.+?)(?P<says> say| about| contain)?",
    r"(?:{OPEN} )?(?:the |that |my |a )?{MAIL} (?P<by>titled|called|named|entitled|headed)(?: as)?:? (?P<title>.+?)(?P<says> say| about)?",
    r"(?P<author>who (?:wrote|sent)(?: me)?(?: the {MAIL})?(?: titled| called| named)?) (?P<title>\".+\")",
    r"(?P<author>who (?:wrote|sent)(?: me)? the {MAIL}(?: titled| called| named| about)?) (?P<title>.+)",
    r"(?P<by>subject) ?: ?(?P<title>.+)",
    r"{OPEN} (?:the |that |my )?(?:{MAIL} )?(?P<title>\".+\")",
    r"(?:show|open|read|display|bring up|pull up) (?:me )?(?:the |that |my )?{MAIL} (?P<title>.+)",
    r"(?:{OPEN} )?the {MAIL} (?:about|re|regarding) (?P<title>.+)",
    r"when did (?:i get|i receive|i have) the {MAIL} (?:about|titled|called|with (?:the )?subject|named)? ?(?P<title>.+)",
)
"""Regular expressions for a mail by its title; `title` is in the letters that were typed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    `form` is count, list, whether, latest or title. `parts` are the words of the question: `kind`, `who` sent it, `to`
    whom, `topic`, `adjective` before the kind, `title`, and `by`, what says that it is one; `me` and `mine` are set where the person received or sent it.
    """

    form: str
    parts: Mapping[str, str] = field(default_factory=dict)
    period: Period | None = None


def read(question: str, today: date) -> Wanted | None:
    """Return what a question asks for; None if it asks for anything else."""
    text = bare(question)
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    if wanted := _by_title(text):
        return wanted
    period = periods.read(text, today)
    rest = (period.rest if period else text).lower()
    for said in dict.fromkeys((rest, text.lower(), _FORMS["list"].corrected(rest))):
        for form, phrases in _FORMS.items():
            if (parts := phrases.read(said)) is not None:
                return Wanted(form, parts, None if said == text.lower() else period)
    return None


def _by_title(text: str) -> Wanted | None:
    for pattern in _TITLES:
        if match := pattern.fullmatch(text):
            parts = {name: words for name, words in match.groupdict().items() if words}
            return Wanted("title", parts | {"title": match["title"].strip("\"' ,")})
    return None


_FORMS: Final = {
    form: Phrases.of(phrases, _NAMES)
    for form, phrases in (("latest", LATEST), ("count", COUNT), ("whether", WHETHER), ("list", LIST))
}
_TITLES: Final = tuple(
    re.compile(
        pattern.replace("{MAIL}", "(?:mail|e-?mail|message)").replace(
            "{OPEN}", r"(?:show|open|read|find|display|bring up|pull up|get|give|what is in|what's in|what does|what did|what is|what was|what do|what were)(?: me)?"
        ),
        re.IGNORECASE,
    )
    for pattern in BY_TITLE
)
