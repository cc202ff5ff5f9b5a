"""Writes small data sets of questions in the formats of the real evaluation data."""

import json
from collections.abc import Iterable
from pathlib import Path

WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "flint",
    "grove",
    "heron",
    "indigo",
    "juniper",
    "kestrel",
    "larch",
)


def folders(data: Path, size: int = 12) -> Path:
    """Write all data sets that the training reads, each with `size` articles, sessions or passages, and three meetings.

    Return `data`.
    """
    _xquad(data / "xquad", size)
    _nq_passages(data, size)
    _lihuaworld(data / "lihuaworld", size)
    _qmsum(data / "qmsum")
    _jsonl(
        data / "prompts" / "instructions.jsonl",
        ({"instruction": f"Name {word}.", "instances": [{"input": "", "output": f"{word}!"}]} for word in WORDS),
    )
    return data


def _xquad(folder: Path, size: int) -> None:
    articles = []
    for number in range(size):
        name = WORDS[number % len(WORDS)]
        paragraphs = []
        for part in range(2):
            built, cost = 1800 + 10 * number + part, 100 + 7 * number + part
            text = f"The {name} tower {part} of town {number} was built in {built}. It cost {cost} pounds."
            asked = {f"When was the {name} tower {part} of town {number} built?": str(built)}
            asked[f"What did the {name} tower {part} of town {number} cost?"] = f"{cost} pounds"
            qas = [{"question": question, "answers": [{"text": answer}]} for question, answer in asked.items()]
            paragraphs.append({"context": text, "qas": qas})
        articles.append({"title": f"Town_{number}", "paragraphs": paragraphs})
    folder.mkdir(parents=True)
    (folder / "xquad.json").write_text(json.dumps({"data": articles}), encoding="utf-8")


def _nq_passages(data: Path, size: int) -> None:
    people = [f"{WORDS[n % len(WORDS)].title()} Number{n}" for n in range(size)]
    _jsonl(
        data / "nq_passages" / "passages.jsonl",
        (
            {"pid": n, "title": f"Film {n}", "text": f"Film {n} was directed by {person}."}
            for n, person in enumerate(people)
        ),
    )
    _jsonl(
        data / "nq_passages" / "questions.jsonl",
        ({"question": f"who directed film {n}", "answers": [person], "gold_pid": n} for n, person in enumerate(people)),
    )
    born = ((n, f"{word.title()} Writer") for n, word in enumerate(WORDS * 5))
    _jsonl(
        data / "wiki_corpus" / "passages.jsonl",
        (
            {
                "pid": n,
                "title": word,
                "text": f"{word} (born 1{n:02} May 19{n + 10}) is a Danish novelist. {word} won a prize.",
            }
            for n, word in born
        ),
    )


def _lihuaworld(folder: Path, size: int) -> None:
    sessions = [(n, WORDS[n % len(WORDS)], f"2026{1 + n // 28:02}{1 + n % 28:02}") for n in range(size)]
    _jsonl(
        folder / "docs.jsonl",
        (
            {
                "id": f"{day}_1100",
                "text": f"Time: {day}_11:00\nLiHua: My {name} code is K{n}7.\nAnn: Noted, {name} K{n}7.",
            }
            for n, name, day in sessions
        ),
    )
    single = [
        {
            "question": f"What is LiHua's {name} code {n}?",
            "answer": f"K{n}7",
            "evidence": f"{day}_11:00",
            "type": "Single",
        }
        for n, name, day in sessions
    ]
    files = {
        "question": "What is the name of LiHua's boat?",
        "answer": "Nothing says it.",
        "evidence": "",
        "type": "Null",
    }
    late = {"question": "When was it said?", "answer": "20260101_11:00", "evidence": "20260101_11:00", "type": "Single"}
    lost = {"question": "Who left?", "answer": "Bo", "evidence": "20270101_11:00", "type": "Single"}
    _jsonl(folder / "queries.jsonl", [*single, files, late, lost])


def _qmsum(folder: Path) -> None:
    folder.mkdir(parents=True)
    for meeting in range(3):
        turns = [
            {
                "speaker": f"S{turn % 2}",
                "content": f"In meeting {meeting} the {name} is priced {turn}. " + "We agree. " * 30,
            }
            for turn, name in enumerate(WORDS)
        ]
        asked = [
            {
                "query": f"What was said about the {name} in meeting {meeting}?",
                "answer": f"They priced the {name}. They agreed. Then they went on to something else.",
                "relevant_text_span": [[str(turn), str(turn)]],
            }
            for turn, name in enumerate(WORDS)
        ]
        said = {"meeting_transcripts": turns, "specific_query_list": asked}
        (folder / f"M{meeting}.json").write_text(json.dumps(said), encoding="utf-8")


def _jsonl(path: Path, lines: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
