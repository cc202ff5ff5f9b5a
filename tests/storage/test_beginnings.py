"""Search while a word is being typed: exact if few words begin with its letters, limited if very many do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.beginnings import MOST_WORDS, prefix_expression
from storage.conversations import ConversationStore
from storage.database import Database


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    database = Database(tmp_path / "jackdaw.db")
    store = ConversationStore(database)
    turn = store.begin("Which invoices are open?")
    for page in range(20):
        turn = store.begin("And then?", turn.conversation_id)
        store.write(turn.id, " ".join(f"invoice{number:05}" for number in range(page * 1_000, page * 1_000 + 1_000)))
    yield store
    database.close()


@pytest.mark.parametrize("word", ["invo", "invoice", "INVOICE", "Invoice0"])
def test_of_very_many_words_only_so_many_are_looked_up(store: ConversationStore, word: str) -> None:
    assert prefix_expression(store.database, word).count('"') == 2 * MOST_WORDS
    assert store.search(word, 50, prefix=True)


def test_the_words_before_it_count_as_well(store: ConversationStore) -> None:
    assert store.search("then invoice", 50, prefix=True)
    assert not store.search("nothing invoice", 50, prefix=True)
    assert prefix_expression(store.database, "then-invoice").startswith('"then" AND (')


@pytest.mark.parametrize("word", ["i", "inv", "invoice1234", "xylo", "-", "☃☃☃☃", '"*(a'])
def test_few_words_are_left_to_the_index(store: ConversationStore, word: str) -> None:
    assert prefix_expression(store.database, word) == '"' + word.replace('"', '""') + '"*'
    store.search(word, 50, prefix=True)


def test_a_beginning_that_is_a_word_of_its_own_stem_is_found(store: ConversationStore) -> None:
    assert any(turn.question == "Which invoices are open?" for turn in store.search("which invoices", prefix=True))
