"""Which questions are in a language that is not read."""

import pytest

from device_app.english.languages import other_language


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wann ist der Zahnarzttermin?", "German"),
        ("Wo ist der Schlüssel?", "German"),
        ("Wer hat den blauen Bohrer?", "German"),
        ("Was hat die Zither gekostet?", "German"),
        ("Wie viel haben wir für Lebensmittel ausgegeben?", "German"),
        ("Was hat Anna über das Dach gesagt?", "German"),
        ("Wann kommt Anna?", "German"),
        ("wann kommt anna", "German"),
        ("Wann will Anna kommen?", "German"),
        ("Wo wohnt Tom?", "German"),
        ("Wie heißt Annas Hund?", "German"),
        ("Was kostet Netflix?", "German"),
        ("Wer ruft Zoran?", "German"),
        ("Wann startet Annas Kurs?", "German"),
        ("¿Dónde está la llave?", "Spanish"),
        ("¿Cuándo viene Ana?", "Spanish"),
        ("¿Cuándo va a venir Ana?", "Spanish"),
        ("dónde vive Tom", "Spanish"),
        ("¿Quién llamó?", "Spanish"),
        ("¿Cuánto cuesta Netflix?", "Spanish"),
        ("cuándo es la cita con el dentista", "Spanish"),
        ("¿Cuánto gasté en Rewe?", "Spanish"),
        ("¿Qué dijo Ana sobre el techo?", "Spanish"),
    ],
)
def test_german_and_spanish_are_noticed(question: str, language: str) -> None:
    assert other_language(question) == language


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When is the dentist?",
        "What did Maria de la Cruz say about El Niño?",
        "Who is Karl von der Heide?",
        "mails from von der Leyen",
        "Is Die Zeit in der Bibliothek?",
        "invoice Haus zum Mond",
        "wifi password",
        "Wann",
        "Wann invoice",
        "Wann contract expired?",
        "When did Wann call?",
        "mails from Wann about the contract",
        "Die Hard",
        "Die Hard tickets",
        "Was Die Hard on?",
        "Der Spiegel",
        "Der Spiegel subscription",
        "Will Anna die in May?",
        "Wo Chang",
        "Wen Li phone number",
        "Cuando cuando song",
        "a table en el Prado",
        "stand in the cellar",
        "Was he in Die Zeit?",
        "hotel Rio de la Plata",
        "invoice Von der Heide",
        "dentist Dr. Es-Sayed",
        "Café de Flore",
        "fur hat price",
        "MIT license ES6",
        "MIT van der Berg",
        "Lake Como, Hotel del Sol",
        "Hasta La Vista, Los Lobos",
        "What is the German for “Wo ist der Bahnhof”?",
    ],
)
def test_english_with_foreign_names_is_not(question: str) -> None:
    assert other_language(question) == ""
