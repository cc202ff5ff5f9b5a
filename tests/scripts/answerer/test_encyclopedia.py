"""Questions made by rules from an encyclopedia passage, and questions that the passage does not answer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.answerer.encyclopedia import RULES, made, near_misses
from scripts.answerer.encyclopedia_general import GENERAL
from scripts.answerer.encyclopedia_text import sentences, topic
from scripts.answerer.lessons import Pair

BOWMAN = (
    "Ronnie Bowman",
    "Ronnie Bowman( born July 9, 1961 in Mount Airy, North Carolina) is an American singer and composer of bluegrass "
    "music. He studied at Surry College. In 1990, he joined the Lonesome River Band. Bowman married Ann Imes in 1995.",
)
FILM = (
    "Devil's Doorway (1950 film)",
    "Devil's Doorway is a 1950 western film directed by Anthony Mann and starring Robert Taylor, Louis Calhern and "
    "Paula Raymond. It was released on September 15, 1950. It is based on the novel of the same name by Guy Trosper.",
)
VILLAGE = (
    "Qaleh-ye Sahar",
    "Qaleh- ye Sahar( also Romanized as Qal‘ eh) is a village in Elhayi Rural District, Khuzestan Province, Iran. At "
    "the 2006 census, its population was 801, in 129 families.",
)
PASSAGES = [BOWMAN, FILM, VILLAGE]


def _answers(title: str, text: str) -> set[str]:
    return {pair.answer for pair in made(title, text)}


@pytest.mark.parametrize(
    ("title", "text", "asked", "answer"),
    [
        (*BOWMAN, "birth|born", "July 9, 1961"),
        (*BOWMAN, "born|birth", "Mount Airy, North Carolina"),
        (*BOWMAN, "nationality", "American"),
        (*BOWMAN, "study|educated|school", "Surry College"),
        (*BOWMAN, "join the lonesome river band", "1990"),
        (*BOWMAN, "ann imes", "1995"),
        (*FILM, "direct", "Anthony Mann"),
        (*FILM, "star|cast", "Robert Taylor, Louis Calhern and Paula Raymond"),
        (*FILM, "released|release|come out", "September 15, 1950"),
        (*FILM, "based", "the novel of the same name by Guy Trosper"),
        (*VILLAGE, "families", "129"),
        (*VILLAGE, "population|people", "801"),
        ("Dakar", "Dakar (French: x) is the capital and largest city of Senegal.", "capital", "Senegal"),
        ("Air One", "Air One was a charter airline based in Tripoli, Libya.", "based|headquarters", "Tripoli, Libya"),
        ("Penicillin", "Penicillin was discovered in 1928 by Fleming.", "discovered", "1928"),
        ("Hoot", "Hoot is a 2002 young adult novel by Carl Hiaasen.", "author|wrote|written", "Carl Hiaasen"),
        ("Abacus", "Jean Fernel introduced the term Physiology.", "who introduced the term", "Jean Fernel"),
        ("Rose", "Rose (1901 – 1980) was a painter. She died of lung cancer in Rome.", "die|death", "lung cancer"),
        ("Kurt", "Kurt( born 3 May 1960) is a German footballer who plays as a defender.", "position", "defender"),
        (
            "Ada Lo",
            "Ada Lo (born 1950) is a poet. She left school in 1966 due to illness at home.",
            "why|reason",
            "illness at home",
        ),
        (
            "Ada Lo",
            "Ada Lo (born 1950) is a poet. She won three prizes in Oslo.",
            "many prizes|number of prizes",
            "three",
        ),
    ],
)
def test_a_sentence_answers_what_is_asked_of_it(title: str, text: str, asked: str, answer: str) -> None:
    pairs = made(title, text)
    assert [pair for pair in pairs if pair.answer == answer and re.search(asked, pair.question.lower())], pairs


def test_the_question_names_a_film_as_one_and_without_its_brackets() -> None:
    questions = [pair.question.lower() for pair in made(*FILM)]
    assert all("the film devil's doorway" in question and "(" not in question for question in questions)


def test_a_pronoun_after_another_subject_says_nothing_of_the_topic() -> None:
    text = (
        "Anna Berg (born 1900) was a painter. Her teacher Carl Lund lived in Oslo. The club closed. She died in 1950."
    )
    assert "1950" not in _answers("Anna Berg", text)


def test_two_answers_that_compete_make_no_question() -> None:
    text = "Doorway is a 1950 film. It was released on May 1, 1951. It was released on June 7, 1952."
    assert not {"May 1, 1951", "June 7, 1952"} & _answers("Doorway", text)


def test_a_name_that_goes_on_is_not_cut() -> None:
    text = "Murad (1326 – 1389) was the Sultan of Rum. He was a son of Orhan and the Valide Nilüfer."
    assert "Orhan" not in _answers("Murad", text)


def test_initials_and_titles_end_no_sentence() -> None:
    assert sentences("J. Lee saw St. Paul's. He left.") == ("J. Lee saw St. Paul's.", "He left.")


@pytest.mark.parametrize(("passage", "kind"), [(BOWMAN, "person"), (FILM, "film"), (VILLAGE, "place")])
def test_the_opening_sentence_says_what_the_topic_is(passage: tuple[str, str], kind: str) -> None:
    assert topic(*passage).kind == kind


def test_there_are_many_forms() -> None:
    assert len({rule.name for rule in (*RULES, *GENERAL)}) >= 60


@given(st.sampled_from(PASSAGES), st.integers(0, 300))
def test_every_answer_is_a_span_and_the_same_each_time(passage: tuple[str, str], end: int) -> None:
    title, text = passage[0], passage[1][:end]
    pairs = made(title, text)
    assert pairs == made(title, text)
    assert all(pair.answer and pair.answer in text for pair in pairs)
    assert len({pair.question for pair in pairs}) == len(pairs)


@given(st.text(max_size=30), st.text(max_size=200))
def test_any_text_is_borne(title: str, text: str) -> None:
    assert all(pair.answer in text for pair in made(title, text))
    assert all(pair.abstains for pair in near_misses(title, text, []))


def test_near_misses_are_not_answered_by_the_passage() -> None:
    others = [*made(*FILM), Pair("What did Nils Holm study?", "Law"), Pair("When was Ronnie Bowman born?", "1961")]
    misses = near_misses(*BOWMAN, others)
    assert misses
    assert all(miss.abstains for miss in misses)
    of_him = [miss.question.lower() for miss in misses if "ronnie bowman" in miss.question.lower()]
    assert not any(re.search("school|study", question) for question in of_him)  # the passage tells of a college
    assert not {miss.question for miss in misses} & {pair.question for pair in made(*BOWMAN)}


def test_a_near_miss_names_another_year_than_the_passage() -> None:
    title, text = "Oak Hald", "Oak Hald (born 1902) was an author. He joined Nordisk Film in 1923."
    years = [miss.question for miss in near_misses(title, text, []) if "19" in miss.question]
    assert years
    assert not any("1923" in question for question in years)


def test_a_near_miss_asks_of_another_surname() -> None:
    others = [Pair("Who directed the film Rope?", "Alfred Hitchcock")]
    questions = [miss.question.lower() for miss in near_misses(*BOWMAN, others)]
    assert any("ronnie hitchcock" in question for question in questions)


def test_near_misses_of_several_kinds_come_first() -> None:
    names = [f"Oak H{vowel}{end}" for vowel in "aeiou" for end in ("ld", "rm", "sk")]
    text = "{} (born 1902) was an author. He joined Nordisk Film in 1923."
    firsts = [near_misses(name, text.format(name), [])[0] for name in names]
    of_a_year = [pair for pair in firsts if "19" in pair.question]
    assert 0 < len(of_a_year) < len(firsts)


def test_no_near_miss_names_whom_the_passage_names() -> None:
    others = [Pair("Who wrote Doors?", "Lena Imes"), Pair("When was Ann Imes born?", "1970")]
    questions = " ".join(miss.question.lower() for miss in near_misses(*BOWMAN, others))
    assert "imes" not in questions


@pytest.mark.parametrize(
    "life",
    [
        "(July 27, 1914 – April 14, 2001)",
        "( 29 May 1900( O.S.) – 18 July 1993)",
        "(1877–1960)",
        "(born 1517 – died 1553)",
    ],
)
def test_when_someone_died_is_not_a_near_miss_where_it_is_told(life: str) -> None:
    title, text = "Ida Holm", f"Ida Holm {life} was a Danish painter."
    assert not any("die" in miss.question for miss in near_misses(title, text, []))
