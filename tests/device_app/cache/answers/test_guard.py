"""When a cached answer may serve another question: never if a difference changes the answer, even if the questions are
similar.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.cache.answers.guard import compare
from device_app.english.wording import adds, moves
from models.embedder import OnnxEmbedder
from models.fake import FakeEmbedder
from scripts.benchmarks import guard as benchmark

NEAR = 0.97
"""A cosine similarity that both paraphrases and questions with another answer reach."""


@pytest.mark.parametrize(
    ("cached", "asked", "reason"),
    [
        ("What is in box 3?", "What is in box 5?", "another number: 3 / 5"),
        ("Who booked the table for four?", "Who booked the table for six?", "another number: 4 / 6"),
        ("What is on my calendar on Monday?", "What is on my calendar on Tuesday?", "another day: monday / tuesday"),
        ("What did I eat on 3 May?", "What did I eat on 3 June?", "another day: may / june"),
        ("What is due this week?", "What is due next week?", "another day: this week / next week"),
        ("What did Anna write?", "What did Hanna write?", "another name: hanna"),
        ("Which dentist did Sara recommend?", "Which dentist did Sofia recommend?", "another name: sofia"),
        ("Who is coming?", "Who is not coming?", "only one question has a negation"),
        ("Which of the children can swim?", "Which of the children can't swim?", "only one question has a negation"),
        ("Which tasks are finished?", "Which tasks are unfinished?", "opposite words: finished / unfinished"),
        ("When does the shop open?", "When does the shop close?", "opposite words: open / close"),
        ("When is check-in?", "When is check-out?", "opposite words: in / out"),
        ("Who organised the workshop?", "When was the workshop organised?", "another kind of question: who / when"),
        ("Trains from Vienna to Prague?", "Trains from Prague to Vienna?", "the roles are reversed"),
        ("How much does Nils owe me?", "How much do I owe Nils?", "the roles are reversed"),
        ("What did Ana lend to Mirko?", "What did Mirko lend to Ana?", "the roles are reversed"),
        ("Who did Selma hire?", "Who hired Selma?", "the roles are reversed"),
        ("Who came to dinner?", "Who came to dinner besides Ida?", "only one question has a negation"),
        ("What did Ida give us for our party?", "What did Ida give us for her party?", "the roles are reversed"),
        ("What did B think of the prototype?", "What did D think of the prototype?", "another name: d"),
        ("What did Will say?", "What did Tom say?", "another name: tom"),
        ("Summarise the talk.", "Who gave the talk?", "another kind of question: summary / who"),
        (
            "What time does Ida watch the film?",
            "Who does Ida watch the film with?",
            "another kind of question: when / who",
        ),
        ("Is C++ hard to learn?", "Is C hard to learn?", "another name: c"),
        ("What does `fs.ls` return?", "What does `fs.rm` return?", "another term: fs.rm"),
        ("What about Bergen?", "What about Bergen's weather?", "only one question asks for weather"),
        ("What is the boys' school called?", "What are the boys called?", "only one question asks for school"),
        ("What time did Adam ask Li Hua to come?", "What time does Li Hua ask Adam to come?", "the roles are reversed"),
        ("who is acme sending the contract to", "who is sending acme the contract", "the roles are reversed"),
        ("Which composers did Clara admire?", "Which composers admired Clara?", "the roles are reversed"),
        ("What was Ulrich given by the twins?", "What did Ulrich give the twins?", "the roles are reversed"),
        ("When did she text him about it?", "When did he text her about it?", "the roles are reversed"),
        ("Who is Noah's godfather?", "Whose godfather is Noah?", "the roles are reversed"),
        ("Who has paid for the trip?", "who hasnt paid for the trip", "only one question has a negation"),
        ("Which jabs has Leo had?", "Which jabs has Leo yet to have?", "only one question has a negation"),
        ("Is smoking allowed here?", "Is smoking forbidden here?", "only one question has a negation"),
        ("Who joined us since Tuesday?", "Who joined us until Tuesday?", "another time: since / until"),
        ("What was on the day of the wedding?", "What was on the eve of the wedding?", "another time: none / eve"),
    ],
)
def test_what_changes_the_answer_refuses_however_similar_the_questions_are(
    cached: str, asked: str, reason: str
) -> None:
    verdict = compare(asked, cached, NEAR, 0.0)

    assert not verdict.serves
    assert verdict.reason == reason


@pytest.mark.parametrize(
    ("cached", "asked"),
    [
        ("When does the meeting start?", "What time does the meeting begin?"),
        ("What is the Wi-Fi password at the cabin?", "what's the wifi password at the cabin"),
        ("Who came to the meeting on 12 June?", "Who attended the meeting on June 12?"),
        ("Where were we on 2025-08-14?", "Where were we on 14 August 2025?"),
        ("Who booked the table for four?", "Who booked the table for 4?"),
        ("Which invoices have not been paid?", "Which invoices haven't been paid?"),
        ("What did tom say about the car", "What did Tom say about the car?"),
        ("Who is responsible for the battery in the project?", "Who in the project is responsible for the battery?"),
        (
            "What is the booking reference of the flight to Oslo?",
            "Tell me the booking reference of the flight to Oslo.",
        ),
        ("Who organised the workshop?", "Who organized the workshop?"),
        ("What is the phone number of the pharmacy?", "What is the pharmacy's telephone number?"),
        ("When do Adam and Petra meet?", "When do Petra and Adam meet?"),
        ("Did Adam ask Li Hua to come?", "Was Li Hua asked by Adam to come?"),
        ("In Oslo, where does Petra stay?", "Where does Petra stay in Oslo?"),
    ],
)
def test_other_words_for_the_same_question_serve(cached: str, asked: str) -> None:
    assert compare(asked, cached, 0.95, 0.85).serves


def test_the_same_question_serves_whatever_the_cosine_is() -> None:
    assert compare("Who is  Mia?", "who is Mia", 0.0, 1.0).reason == "the same question"


def test_questions_of_little_in_common_are_too_far_apart() -> None:
    verdict = compare("Where is the ladder?", "Where does the choir rehearse?", 0.2, 0.7)

    assert verdict.reason.startswith("too different")


def test_a_word_in_the_place_of_another_needs_a_very_high_cosine() -> None:
    cached, asked = "What did we decide about the kitchen shelves?", "What did we decide about the hallway shelves?"

    assert compare(asked, cached, 0.93, 0.0).reason == "another word: kitchen / hallway"
    assert compare(asked, cached, 0.96, 0.85).serves


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do I have tomorrow?", True),
        ("What is due next week?", True),
        ("What did we eat on Monday?", True),
        ("Who called two days ago?", True),
        ("What did we eat on 3 May 2026?", False),
        ("When is Mia's birthday?", False),
    ],
)
def test_a_question_that_counts_from_today_asks_something_else_tomorrow(question: str, expected: bool) -> None:
    assert moves(question) is expected


@pytest.mark.long
@pytest.mark.weights
def test_with_real_similarities_near_misses_are_refused_and_paraphrases_served(weights: Path) -> None:
    embedder = OnnxEmbedder(weights / "all-minilm-l6-v2", threads=1)

    figures = benchmark.measure([], benchmark.near_misses(), embedder, 0.85)

    assert figures["near_miss_hit"] <= 0.015
    assert figures["paraphrase_hit"] >= 0.8


def test_the_benchmark_tells_own_originals_from_others() -> None:
    pairs = [
        benchmark.Pair("Where is the ladder?", "Where's the ladder?"),
        benchmark.Pair("Who repaired the roof?", "Who fixed the roof?"),
    ]

    figures = benchmark.measure(pairs, [], FakeEmbedder(), 0.0, benchmark.cosine_alone)

    assert figures == {"right_hit": 1.0, "wrong_hit": 0.0, "never_cached_hit": 1.0}


near_words = st.sampled_from("abcdeABC 0123456789.,:?!'’-–/`()_äéß\n\t東")
texts = st.text(near_words, max_size=40) | st.text(max_size=60)


@given(texts, texts, st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_serves_less(
    asked: str, cached: str, cosine: float, threshold: float, other: float
) -> None:
    low, high = sorted((threshold, other))

    assert compare(asked, cached, cosine, low).serves or not compare(asked, cached, cosine, high).serves


spoken = "Who when what did does I me Ana Mirko not 3 4 from to before in out the old new rent on Monday"
questions = st.lists(st.sampled_from(spoken.split()), max_size=8).map(" ".join)


@given(questions, questions, st.floats(-1, 1), st.floats(0, 1))
def test_it_does_not_matter_which_of_two_questions_was_cached(
    asked: str, cached: str, cosine: float, threshold: float
) -> None:
    forth, other = compare(asked, cached, cosine, threshold), compare(cached, asked, cosine, threshold)

    assert forth.serves == other.serves
    assert forth.similarity == pytest.approx(other.similarity)


@given(texts, texts, st.floats(-1, 1), st.floats(0, 1))
def test_what_serves_has_the_similarity_asked_for(asked: str, cached: str, cosine: float, threshold: float) -> None:
    verdict = compare(asked, cached, cosine, threshold)

    assert verdict.serves == (verdict.similarity >= threshold)


@given(texts, st.floats(-1, 1), st.floats(0, 1))
def test_a_question_always_serves_itself(question: str, cosine: float, threshold: float) -> None:
    assert compare(question, question, cosine, threshold).serves


@pytest.mark.parametrize(
    ("asked", "cached", "said"),
    [
        ("When was my last dentist appointment?", "When is my dentist appointment?", "last"),
        ("What is Anna's phone number?", "What is Anna's old phone number?", "old"),
        ("Who will repair the roof?", "Who repaired the roof?", "will"),
        ("Which vaccine should Tomaso get?", "Which vaccine did Tomaso get?", "should"),
    ],
)
def test_what_only_one_question_says_of_which_or_whether_refuses(asked: str, cached: str, said: str) -> None:
    verdict = compare(asked, cached, 0.99, 0.85)
    assert (verdict.serves, verdict.reason) == (False, f"only one question says {said}")


@pytest.mark.parametrize(
    ("question", "answer", "says"),
    [
        ("What did Marcus Beil write about Café on Friday?", "Marcus Beil wrote about Café on Friday.", False),
        ("What is written about the blue drill?", "The blue drill is what is written about.", False),
        ("What did Marcus Beil write about Café on Friday?", "Marcus Beil wrote that he comes.", True),
        ("When is the dentist?", "The dentist is on Tuesday.", True),
        ("What is the code of the door?", "The code of the door is 4711.", True),
    ],
)
def test_an_answer_in_the_words_of_the_question_adds_nothing(question: str, answer: str, says: bool) -> None:
    assert adds(question, answer) is says
