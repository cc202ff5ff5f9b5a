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

_VERBS: Final = {
    "German": word_set(
        """bekommt beginnt bekam bezahlt brauche braucht brachte darf endet fahre fahren fahrt fand fangt fehlt findet
        fliege fliegt funktioniert fuhr geht gehen gehort geschickt gesagt ging heiss heisse heisst hiess kam
        kaufen kennt kommen kommst kommt konnte koste kosten kostet kriegt kundigen lauft lebt liegt lasst macht
        machen meldet mochte musste nimmt offnet passiert ruft sagt sagte schickte schliesst schreibt schrieb
        sehe sehen sieht sollte spielt startet steht starb treffe treffen trifft traf verdient vergass wachst
        weiss wohne wohnen wohnt zahlt"""
    ),
    "Spanish": word_set(
        """abre acaba cierra compre cuesta cuestan debemos debo dice dieron dijo empieza envio escribio gaste
        gastamos hablo hizo llama llamo llega llegan llego necesito pague puede puedo queda quiere quiero sabe sabes
        salio tenemos termina trabaja va vamos venir viene vienen vino vive viven volvio"""
    ),
}
"""Common verbs of short questions, in the same form: "Wann kommt Anna?"."""

_ASKING: Final = {
    "German": word_set(
        "wann warum wem wen wer weshalb wessen wie wieso wieviel wo woher wohin welche welchen welcher welches"
    ),
    "Spanish": word_set("cual cuales cuando cuanta cuantas cuanto cuantos donde que quien quienes"),
}
"""Question words that English lacks. A person may have such a name, so that such a word alone says nothing."""

_NEUTRAL: Final = {"German": word_set("will"), "Spanish": word_set("a")}
"""Function words of English that are words of the language, too, and speak against it only without a question word."""

_SHARED: Final = word_set(
    """alle am an bin bis con como das de del den der dice die el en es fur ha has hasta hat hay he in la las le llama
    los me mi mit muss no para se sin so sobre tu um un va van vino von war was y zu zum"""
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
    words = {_compared(word) for word in typed[:1] + [word for word in typed if word.islower()]}
    counts: dict[str, int] = {}
    for language, own in _WORDS.items():
        held = words & (own | _VERBS[language] | _ASKING[language])
        is_asked = bool(typed) and _compared(typed[0]) in _ASKING[language]
        foreign = STOP_WORDS - own - (_NEUTRAL[language] if is_asked else frozenset())
        least = _LEAST if held - _SHARED else _LEAST_SHARED
        if len(held) >= least and not words & foreign:
            counts[language] = len(held)
    return max(counts, key=lambda language: counts[language], default="")


def _compared(word: str) -> str:
    return plain(word).replace("ß", "ss")
