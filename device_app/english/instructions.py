"""Parses the instructions of a request: verbs, roles, polite words, and phrases that refer to a given text."""

import re

from device_app.english.stop_words import word_set

MAKES = word_set(
    """brainstorm calculate code compose compute concoct construct convert craft create design develop devise draft
    formulate generate implement improvise invent narrate paraphrase produce program proofread prove recite rephrase
    reword rewrite sketch simulate solve translate write"""
)
TREATS = word_set(
    """abbreviate add analyse analyze annotate anonymise anonymize answer arrange assess categorise categorize change
    check choose classify clean complete condense conjugate continue correct count critique debug decode deduce detect
    determine edit encode estimate evaluate examine expand extract fill find fix format group guess highlight identify
    improve infer insert interpret judge label link match merge modify order output pair parse polish predict punctuate
    rank rate read recognise recognize refactor reformat remove reorder replace reply respond restate restructure
    reverse review score select separate shorten simplify sort spell split spot state summarise summarize tag tell
    transform unscramble verify"""
)
LOOKS = word_set("answer check detect determine find identify judge read select state tell")
"""Verbs after which a colon may introduce a question as well as a text."""

LOOKS_UP = word_set("get inform know look lookup open remember remind retrieve search see show")
"""Verbs that ask for known facts, so that a long text below them is not a text to treat."""

GENERAL = word_set(
    """advise argue characterise characterize clarify compare contrast define demonstrate describe discuss elaborate
    enumerate explain give illustrate justify list make name offer outline plan present propose provide recommend share
    suggest teach"""
)
"""Verbs after which nothing is known if their object is general: "suggest three titles"."""

ROLE = re.compile(
    r"(?:act|assume|behave|imagine|pretend|respond|speak|suppose)(?: that)? (?:you\b|yourself|as\b|the role|to be)"
    r"|you are (?:an?|now)\b",
    re.IGNORECASE,
)
MAKES_UP = re.compile(
    r"(?:come|coming) up with \w|make up \w|tell (?:me|us) an? (?:\w+ )?(?:joke|poem|riddle|story|tale)\b",
    re.IGNORECASE,
)

_POLITELY = re.compile(
    r"\W*(?:(?:please|kindly|hi|hello|hey|ok|okay|now|then|first|also|help me|to|"
    r"(?:can|could|would|will) you(?: please)?|i(?:['’]d| would) like you to|i (?:want|need) you to|"
    r"you (?:need to|have to|are to|should|will|must)|try|"
    r"your (?:task|job) is|in this task|(?:given|using|based on|in order to) [^,.:]{1,120},)(?!\w)[\s,:]*)+",
    re.IGNORECASE,
)
_VERB = re.compile(r"\W*\d*[.)]?\W*([^\W\d_]+)\b\s*")
NEXT_SENTENCE = re.compile(r"(?<=[.?!;:])\s+|\n+")
POINTS = re.compile(
    r"\b(?:following|below|given|provided|attached)\b"
    r"|\bthis (?:text|passage|paragraph|sentence|code|function|poem|article)\b",
    re.IGNORECASE,
)
"""Matches phrases that refer to a given text, such as "the following text"."""


def first_verb(sentence: str) -> tuple[str, str]:
    """Return the first word of a sentence after polite words, in lower case, and the rest of the sentence."""
    rest = without_polite_words(sentence)
    word = _VERB.match(rest)
    return (word[1].lower(), rest[word.end() :]) if word else ("", rest)


def without_polite_words(sentence: str) -> str:
    polite = _POLITELY.match(sentence)
    return sentence[polite.end() if polite else 0 :]
