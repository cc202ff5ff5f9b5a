"""Reading source files of any form: passages that fit the protocol's limits, and the reasons for skipped parts."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.retrieval import sources
from cloud_server.retrieval.sources import Position, Record, Skipped, find, records
from shared.errors import UsageError
from shared.protocol.messages import PublicPassage
from storage.public_passages import PassageText


def read(*named: Path) -> list[Record]:
    files, skipped = find(named)
    assert not skipped
    return list(records(files, Position()))


def passages(*named: Path) -> list[PassageText]:
    return [passage for record in read(*named) for passage in record.passages]


def reasons(*named: Path) -> list[str]:
    return [record.skipped.reason for record in read(*named) if record.skipped]


def jsonl(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "passage"),
    [
        ({"id": "7", "title": "Rivers", "text": "The Danube."}, ("Rivers", "c.jsonl#7", "The Danube.")),
        ({"pid": 0, "title": "Rivers", "text": "The Danube."}, ("Rivers", "c.jsonl#0", "The Danube.")),
        ({"_id": "x", "text": "The Danube."}, ("c", "c.jsonl#x", "The Danube.")),
        ({"id": 3, "contents": '"Rivers"\nThe Danube.'}, ("Rivers", "c.jsonl#3", "The Danube.")),
        ({"contents": "The Danube."}, ("c", "c.jsonl#1", "The Danube.")),
        ({"title": None, "text": "The Danube.", "contents": "other"}, ("c", "c.jsonl#1", "The Danube.")),
        ({"title": "A\x1b[31m\nB", "text": "Red.\x1b[0m", "more": [1]}, ("A[31m B", "c.jsonl#1", "Red.[0m")),
    ],
)
def test_a_line_is_a_document(tmp_path: Path, line: object, passage: tuple[str, str, str]) -> None:
    assert passages(jsonl(tmp_path / "c.jsonl", line)) == [PassageText(*passage)]


def test_a_long_document_becomes_passages_of_about_a_hundred_words(tmp_path: Path) -> None:
    text = " ".join(f"This is sentence number {number} of the document." for number in range(100))
    hits = passages(jsonl(tmp_path / "c.jsonl", {"id": 1, "title": "Long", "text": text}))
    assert len(hits) == 7
    assert {(passage.title, passage.path) for passage in hits} == {("Long", "c.jsonl#1")}
    assert " ".join(passage.text for passage in hits) == text


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not valid JSON"),
        (b'{"text": "\xff"}', "not valid JSON"),
        (b"[1]", "not in the expected form: expected `object`, got `array`"),
        (b'{"text": 5}', "not in the expected form: expected `str | null`, got `int` - at `$.text`"),
        (b'{"title": "Rivers"}', "no text"),
        (b'{"text": " \\n "}', "no text"),
    ],
)
def test_a_line_that_is_none_is_left_out_with_its_number(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "First."}\n\n' + line + b'\n{"text": "Last."}')
    assert [passage.text for passage in passages(path)] == ["First.", "Last."]
    (skipped,) = [record.skipped for record in read(path) if record.skipped]
    assert skipped == Skipped(str(path), reason, 1, 3)


def test_a_line_without_an_end_is_left_out_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_LINE", 1 << 20)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "First."}\n{"text": "' + b"x" * (5 << 20) + b'"}\n{"text": "Last."}\n')
    assert [passage.text for passage in passages(path)] == ["First.", "Last."]
    assert reasons(path) == ["longer than 1 MB"]


def test_a_file_without_a_suffix_that_holds_json_is_read_as_lines(tmp_path: Path) -> None:
    assert passages(jsonl(tmp_path / "wiki_00", {"id": "12", "title": "Rivers", "text": "The Danube."}))[0][:2] == (
        "Rivers",
        "wiki_00#12",
    )


def test_a_text_is_a_document_of_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "rivers.txt"
    path.write_text("The Danube\nis long.\n \nThe Rhine is not.\n", encoding="utf-8-sig")
    assert passages(path) == [PassageText("rivers", "rivers.txt", "The Danube is long.\nThe Rhine is not.")]


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", "empty"), (b"a\0b", "binary content"), (b"caf\xe9 au lait", "not UTF-8 text")]
)
def test_a_file_that_is_no_text_is_left_out(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert reasons(tmp_path / "a.txt") == [reason]


@given(st.text("aä🐦。 \n", min_size=1, max_size=400), st.integers(8, 64))
def test_a_text_is_read_whole_in_pieces_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, piece: int
) -> None:
    path = tmp_path_factory.mktemp("sources") / "a.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "_PIECE", piece)
        hits = "".join(passage.text for passage in passages(path))
    assert "".join(hits.split()) == "".join(text.split())


def test_reading_goes_on_from_behind_any_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_PIECE", 64)
    jsonl(tmp_path / "a.jsonl", *({"text": f"Sentence {number}."} for number in range(5)), [1], {"text": "Last."})
    (tmp_path / "b.txt").write_text("\n\n".join(f"Paragraph {number} of the text." for number in range(20)))
    (tmp_path / "c.bin").write_bytes(b"\0" * 100)
    files, _ = find([tmp_path])
    whole = list(records(files, Position()))
    assert len(whole) > 12
    for number, record in enumerate(whole):
        assert list(records(files, record.after)) == whole[number + 1 :]


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3000),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=600),
    st.text(min_size=1, max_size=600),
)
def test_every_passage_fits_the_protocol(
    tmp_path_factory: pytest.TempPathFactory, text: str, title: str, name: str
) -> None:
    path = jsonl(tmp_path_factory.mktemp("sources") / "c.jsonl", {"id": name, "title": title, "text": text * 3})
    for passage in passages(path):
        assert passage.text
        assert len(passage.title) <= 300
        assert len(passage.path) <= 500
        assert len(passage.text) <= 2500
        PublicPassage(1, *passage, similarity=0.5, score=0.5)


def test_a_passage_of_few_long_words_is_cut_to_fit(tmp_path: Path) -> None:
    hits = passages(jsonl(tmp_path / "c.jsonl", {"text": " ".join(["x" * 39] * 120)}))
    assert [len(passage.text) <= 2500 for passage in hits] == [True, True]
    assert " ".join(passage.text for passage in hits) == " ".join(["x" * 39] * 120)


def test_a_folder_gives_its_files_by_name_without_hidden_ones_and_never_what_lies_above(tmp_path: Path) -> None:
    root = tmp_path / "secret" / "corpus"
    (root / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    for name in ("z.txt", "b/a.txt", ".hidden.txt", ".git/config.txt"):
        (root / name).write_text("Text.")
    files, skipped = find([root, root / "z.txt"])
    assert [file.name for file in files] == ["corpus/z.txt", "corpus/b/a.txt"]
    assert not skipped


def test_what_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        find([tmp_path / "nowhere"])


def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert find([tmp_path / "pipe"]) == ([], [Skipped(str(tmp_path / "pipe"), "no regular file")])
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("Text.")
    assert [passage.reason for passage in find([tmp_path])[1]] == ["its name is not UTF-8"]
    (tmp_path / "a.txt").write_text("Text.")
    files, _ = find([tmp_path / "a.txt"])
    (tmp_path / "a.txt").unlink()
    assert [passage.skipped.reason for passage in records(files, Position()) if passage.skipped] == [
        "no such file or directory"
    ]


def test_a_file_that_changes_meanwhile_ends_the_reading(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "c.jsonl", {"text": "One."})
    files, _ = find([path])
    jsonl(path, {"text": "One."}, {"text": "Two."})
    with pytest.raises(UsageError, match="has changed"):
        list(records(files, Position()))


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    root, above = tmp_path / "corpus", tmp_path / "secret.txt"
    root.mkdir()
    above.write_text("Secret.")
    (root / "a.txt").write_text("Text.")
    (root / "inside.txt").symlink_to("a.txt")
    for name, target in (("out.txt", above), ("up", tmp_path), ("nowhere.txt", tmp_path / "gone")):
        (root / name).symlink_to(target)
    files, skipped = find([root])
    assert [file.name for file in files] == ["corpus/a.txt", "corpus/inside.txt"]
    assert {(Path(passage.path).name, passage.reason) for passage in skipped} == {
        (name, "a link that leads elsewhere: name its target") for name in ("out.txt", "up", "nowhere.txt")
    }
    (tmp_path / "link.txt").symlink_to(above)
    assert [file.name for file in find([tmp_path / "link.txt"])[0]] == ["link.txt"]


def test_no_two_files_have_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b", "c/docs", "d/docs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "notes.txt").write_text(f"Of {folder}.")
    named = [tmp_path / passage for passage in ("a/notes.txt", "b/notes.txt", "c/docs", "d/docs")]
    files, _ = find(named)
    assert [file.name for file in files] == ["notes.txt", "notes (2).txt", "docs/notes.txt", "docs/notes (2).txt"]
    assert find(named) == (files, [])
    assert find([named[1]], files)[0] == [files[1]]  # what is held keeps its name
    assert [file.name for file in find([named[0]], files[1:2])[0]] == ["notes.txt"]
    (tmp_path / "notes.txt").write_text("Another.")
    assert [file.name for file in find([tmp_path / "notes.txt"], files)[0]] == ["notes (3).txt"]
    assert len({passage.path for passage in passages(*named)}) == 4
