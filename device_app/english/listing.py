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

_NOBODY: Final = frozenset(
    "i we you me us he she it they him her them there my mine this that these those all any some many who what someone somebody anyone anybody".split()
)
"""Words that are nobody's name: a phrase is not meant that needs one of them to be a name."""

_NAMES: Final = {
    "mails": "mail|mails|email|emails|e-mail|e-mails|emial|emials|messages|message|post",
    "mail": "mail|email|e-mail|message",
    "notes": "note|notes|entry|entries|memo|memos|write-up",
    "chats": "chat|chats|chat messages|conversations|conversation",
    "files": "pdf|pdfs|pdf files|spreadsheets|word documents",
    "kinds": "<mails>|<notes>|<chats>|<files>",
    "show": "[please] (show|give|get|list|find|display|bring up|pull up|print|see|fetch|open|read|look up|search|search for|dig "
    "out|enumerate) [me|us|out|up]* [a list of|the list of|a list with]",
    "all": "all|the|all the|all of the|all my|my|any|every|some|every single|each|our",
    "box": "(in|from|on|at|among) (my|the) (inbox|mailbox|mails|mail|files|post)|that i have|that i got|i have|i got|there are|so far|in total|"
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
    "manykinds": "mails|emails|e-mails|notes|messages|entries|pdfs",
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
    <many> [<all>] {kind:kinds} <is> [there|in]* <from> {who} [<box>]
    <many> [<all>] {kind:kinds} (do|did) {me:i} (have|keep|own) [<from> {who}] [<box>] [(<about>) {topic}]
    <many> [<all>] {kind:kinds} (has|have|had|does|do) {who} (sent|written|mailed|emailed|have|send) [<tome>|<box>]*
    <many> [<all>] {kind:kinds} (has|have) {me:i} (received|gotten|got|had) [(from|by) {who}]
    <many> [<all>] {kind:kinds} (has|have) {mine:i} (sent|written|mailed) [to {to}]
    <many> times (has|did|had) {who} (<send>|written|mailed|emailed|contacted|write to) [<tome>|a {kind:mails}]*
    <many> (of my|of the) {kind:kinds} (are|is|were|came|come) <from> {who}
    <many> [<all>] {kind:kinds} <from> {who} (do|did|have) {me:i} (have|get|got|receive|received) [<box>]
    <many> [<all>] {kind:kinds} (to|addressed to|sent to|written to) {to}
    <many> [<all>] {kind:kinds} (with|between) {with} [and me]
    (how much|how many) {kind:kinds} (did|do|has|have) [{me:i}] (get|got|receive|received|come in|come|came|arrive|arrived)
    [the|my|what is the|what's the|whats the]* [total] {kind:kinds} count [<from> {who}]
    [the|my]* [total|number|amount|count|sum]* (of|number of) [<all>] {kind:kinds} [<from> {who}] [<box>]
    [<from>] {who} how many {kind:kinds}
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
    [<show>] [<all>] {kind:mails} (with|between) {with} [and me]
    [<show>] [<all>|complete|whole|entire]* (correspondence|exchange|mail traffic|e-mail traffic|email traffic|thread) with {with}
    [<show>] [<all>] {kind:mails} (received|arrived|i received|i got|that came|that arrived|that came in|which arrived) [from {who}]
    <what> {kind:kinds} <is> [there|<box>]* [in|from|that]* [(from|by) {who}]
    <what> {kind:kinds} <is> (<about>) {topic}
    <what> {kind:kinds} (mention|mentions|contain|contains|speak of|speaks of|deal with|talk about|talks about) {topic}
    <what> (has|have|had) {who} (sent|written|mailed|emailed|to say) [<tome>|by {kind:mails}]*
    <what> {kind:kinds} (has|have|had) {who} (sent|written|mailed|emailed) [<tome>]
    <what> {kind:kinds} (have|had) {me:i} (got|gotten|received) [from {who}]
    <what> {kind:kinds} (have|had) {mine:i} (sent|written|mailed) [to {to}]
    [<show>] [<all>] {whose} {kind:mails} [to me]
    [<show>] [<all>|everything|anything|all the stuff]* [that|which|what]* {who} (has|have|had) (sent|written|mailed|emailed) [<tome>]*
    who (wrote|mailed|emailed|sent {kind:mails}|has written|sent a {kind:mails}|sent me {kind:mails}|sent me a {kind:mails}) {me:tome}
    (from whom|who) did {me:i} (get|receive|have) [a|any|some]* {kind:mails} [from]
    {kind:mails} (received|from) [from] {who}
    (find|search|search for|look for|give me|get me|i want|i need|i'm looking for|im looking for|i am looking for|where are|where is) [<all>] {kind:kinds} (from|by|of) {who}
    (find|search|search for|look for|i'm looking for|im looking for|i am looking for|where are|where is) [<all>|a]* {kind:kinds} (<about>|with) {topic}
    <show> [me] [<all>] [what] {mine:i} (sent|wrote|mailed|emailed) [to] {to}
    [<show>] [my] [sent|outgoing] {kind:mails} to {to}
    [<show>] [<all>] notes (i wrote|i made|i took|from|of) [<about> {topic}]
    [<show>] [<all>] {kind:notes} (that|which) (mention|mentions|contain|contains|speak of|deal with|are about|talk about) {topic}
    """

BARE: Final = """
    [<show>] [<all>|new]* {kind:kinds} [<box>]
    [<show>] [<all>] [of] [my|the] {kind:kinds} [that|which]* [came|arrived|i got|i received|from|of|dated|written|sent]*
    (are|is|were|was) there (a|any|an|some) [new] {kind:kinds} [<box>]
    <what> [new] {kind:kinds} (are|is|were|was) (there|new|from|of|dated) [<box>]
    (did|have) [i] (get|got|receive|received) (any|some|new) [new] {kind:kinds}
    <what> (came|arrived|is new) (by|in [my|the]) {kind:mails}
    """
"""What is a list only of a period, or with filters."""

WHETHER: Final = """
    <did> {who} <send> [<tome>] [(a|any|an|some) {kind:mails}]
    <did> {who} (<send>|give) (a|any|an|some|me a|me any|me an|us any) {kind:mails} [to me]
    (<did>|have) {me:i} (<got>|gotten|received) (a|any|an|some) [new] {kind:mails} [(from|by) {who}]
    (are|is|were|was) there (a|any|an|some) {kind:kinds} [<box>] (from|by) {who}
    has {who} (written|mailed|emailed|sent (a|an|any) {kind:mails}) [<tome>]
    <did> {mine:i} (<send>|write) (a|an|any|to) [{kind:mails}] [to] {to}
    (do|did|have) {me:i} (have|get|got|received|receive|keep) (a|any|an|some) {kind:kinds} (from|by) {who}
    (is|are|was|were) there (a|any|an|some) {kind:kinds} [that] {who} (sent|wrote) [<tome>]
    (was|were) (a|any|an|some) {kind:kinds} (from|by) {who} [received|there]*
    (anything|something) (new|else) from {who}
    (has|did) (a|any) {kind:mails} (come|came|arrive|arrived) from {who}
    (did|has|have) {who} ever <send> [<tome>] [(a|any|an|some) {kind:mails}]
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
    [<show>] [the|my|me|your]* {kind:kinds} [that|which] {who} <sent> [<tome>] {order:last}
    [<show>] [the|my|me]* {kind:kinds} [that|which] i (wrote|made|took|edited|changed|saved|added|noted|updated) {order:last} [(<about>) {topic}]
    what did i {order:last} (write|note|write down|put down|jot down|record) [down] [(<about>|in my|in the) {topic}]
    what (have|did) i [most] (recently|lately) (written|noted|write|note|written down|put down) [down] (<about>|in my|in the) {topic}
    when did i {order:last} (write|note|write down|mention) [down|something|anything]* (<about>) {topic}
    (what is|what's|whats|what was|what were|show me|give me|read me) [the|my]* {order:last} (thing|things|words|lines|entries|bit) [that] [i] [wrote|noted|put|written]* [down] (<about>|in my|in the) {topic}
    (when|what time|on what day|on which day) did i {order:last} (hear from|get {kind:mails} from|get something from|get a {kind:mails} from) {who}
    (when|what time|on what day) did {who} {order:last} (<send>|contact|get in touch|write to) [<tome>|a {kind:mails}|with me]*
    (when|what) was the {order:last} time [that] {who} (wrote|mailed|emailed|contacted|sent) [<tome>|a {kind:mails}|anything|something]*
    what (did|does|has) {who} {order:last} (<send>|say|want|sent|written) [<tome>|by {kind:mails}|about]*
    [<show>] [the|my]* {adjective} (diary|journal|log) {order:last} {kind:notes}
    [<show>] [the|my]* {order:last} {kind:notes} (of|from) (the|my) {topic}
    [<show>] [the|my]* {order:last} {topic} [that] i (wrote|made|took)
    [<show>] [the|my]* {order:first} [{adjective}] {kind:kinds} [(<about>|called|in [my|the]) {topic}]
    [<show>] [the|my]* {order:first} {kind:kinds} {who} <sent> [<tome>]
    who (sent|wrote) [me] the {order:last} {kind:mails}
    who <is> the {order:last} {kind:mails} from
    """

BY_TITLE: Final = (
    r"(?:is there|do i have|have i got|did i get|have i|did i receive|was there) (?:a |an |any |the |some )?{MAIL} (?:with )?(?:the |a )?"
    r"(?P<by>subject|title|titled|called|named|entitled)(?: line)?:? (?P<title>.+)",
    r"(?:where is|where's|i(?:'m| am) looking for|i need|i want|look for|looking for|search(?: for)?|find) (?:me )?(?:the |a |that |my )?{MAIL} "
    r"(?:with )?(?:the |a )?(?P<by>subject|title|titled|called|named|entitled)(?: line)?:? (?P<title>.+)",
    r"(?:when|on what day|what day|at what time)(?: exactly)? (?:was|did|is|has) (?:the |that |my |i )?(?:get |receive |read )?(?:the )?{MAIL} (?:with (?:the )?subject |titled |"
    r"called |named |about )?(?P<title>.+?)(?: (?:sent|written|come|arrive|arrived|received|from|dated|been sent))?",
    r"(?P<author>who(?:'s| is| was)?(?: it)?) (?:the |that )?{MAIL} (?:with (?:the )?subject |titled |called |named |about )?(?P<title>.+?) (?:from|by)",
    r"(?P<author>from whom (?:is|was|came|did i get)) (?:the |that )?{MAIL} (?:with (?:the )?subject |titled |called |named |about )?(?P<title>.+)",
    r"(?:{MAIL}s? )(?P<by>subject|title|titled|called|named|entitled|headed) ?:? ?(?P<title>.+)",
    r"(?:what was|what is|what's|tell me|summari[sz]e|what did it say in) (?:said |written |in )?(?:in )?(?:the |that ){MAIL} (?:with (?:the )?subject |titled |called |named |"
    r"about )?(?P<title>\".+\"|.+?)(?: about)?",
    r"(?P<author>who (?:wrote|sent|is the author of|is the sender of)) (?P<title>\".+\")",
    r"(?:the )?{MAIL} (?P<title>\".+\")",
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

    `form` is count, list, bare (a list that has to be limited), whether, latest or title. `parts` are the words of the question: `kind`, `who` sent it, `to`
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
            for parts in phrases.readings(said):
                if not any(_is_nobody(parts.get(name, ""), today) for name in ("who", "whose", "to", "with", "topic")):
                    return Wanted(form, parts, None if said == text.lower() else period)
    return None


def _is_nobody(name: str, today: date) -> bool:
    return name in _NOBODY or (bool(name) and periods.read(name, today) is not None)


def _by_title(text: str) -> Wanted | None:
    for pattern in _TITLES:
        if match := pattern.fullmatch(text):
            parts = {name: words for name, words in match.groupdict().items() if words}
            return Wanted("title", parts | {"title": match["title"].strip("\"' ,")})
    return None


_FORMS: Final = {
    form: Phrases.of(phrases, _NAMES)
    for form, phrases in (("latest", LATEST), ("count", COUNT), ("whether", WHETHER), ("list", LIST), ("bare", BARE))
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
