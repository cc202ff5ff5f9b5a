"""Notices by its function words that a question is in German or Spanish, which Jackdaw does not read. Pure."""

import re
from typing import Final

from device_app.english.stop_words import STOP_WORDS, word_set
from device_app.english.terms import plain

_WORDS: Final = {
    "German": word_set(
        """aber alle am an auf aus bei beim bin bis bist dann das dass dein deine dem den der des dich die dir doch
        du ein eine einem einen einer eines es fur gibt haben hast hat hatte heute ich ihm ihn ihr ihre im in ist
        ja kann kannst kein keine konnen mein meine meinem meinen meiner mich mir mit morgen muss nach nein nicht
        noch nun oder schon sein seine sich sie sind so uber um und uns unser unsere vom von vor wann war warum
        was welche welcher welches wer wem wen wenn wie wieviel wir wird wo wohin woher wollte wurde zu zum zur
        zwischen"""
    ),
    "Spanish": word_set(
        """al algo cada como con cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde el ella ellos
        en he era es esta estaba estan este esto estoy fue fueron hace hasta hay la las le les lo los mas me mi
        mis muy no nos nuestra nuestro para pero por porque que quien quienes se ha has sin sobre somos soy su
        sus tambien te tengo tiene tienen tu tus un una unas unos y ya yo"""
    ),
}
"""Function words, in lower case and without accents. Words that English has too stand in `_SHARED`."""

_SHARED: Final = word_set(
    """alle am an bin bis con como das de del den der die el en es fur ha has hasta hat hay he in la las le los me mi
    mit muss no para se sin so sobre tu um un van von war was y zu zum"""
)
"""Words that English, or its names ("la Cruz"), share with another language: alone they say nothing."""

_WORD: Final = re.compile(r"\b[^\W\d_]+\b")
_LEAST, _LEAST_SHARED = 2, 3
"""The fewest function words of a language, and the fewest if English has each of them too."""


def other_language(question: str) -> str:
    """Return the language, other than English, that the question is in: "German" or "Spanish"; "" if unsure.

    A function word of English that this language lacks makes it unsure. Words with a capital, but for the first, are
    names: "Hasta La Vista".
    """
    typed = _WORD.findall(question)
    words = {plain(word).replace("ß", "ss") for word in typed[:1] + [word for word in typed if word.islower()]}
    counts: dict[str, int] = {}
    for language, own in _WORDS.items():
        held = words & own
        if len(held) >= (_LEAST if held - _SHARED else _LEAST_SHARED) and not words & (STOP_WORDS - own):
            counts[language] = len(held)
    return max(counts, key=lambda language: counts[language], default="")
