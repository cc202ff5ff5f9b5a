"""The random numbers that both sides of a joint answer share are the same on every machine."""

import numpy as np
import pytest

from shared.aggregation.noise import Stream, uniforms


def test_philox_is_the_published_function() -> None:
    # Random123's known answer for philox4x64-10, counter and key 0; numpy counts up before it draws.
    words = np.random.Philox(key=0, counter=2**256 - 1).random_raw(4)
    assert [f"{word:016x}" for word in words] == [
        "16554d9eca36314c",
        "db20fe9d672d0fdc",
        "d7e772cee186176b",
        "7e68b68aec7ba23b",
    ]


@pytest.mark.parametrize(
    ("seed", "position", "stream", "words"),
    [
        (0, 0, Stream.TOKENS, (104003916602523, 2175681743263000, 1003634882753029)),
        (1, 0, Stream.COIN, (676901392144019, 8861238793152100, 8533542596894524)),
        (2**64 - 1, 8191, Stream.VERDICT, (3411086526584931, 7240305351833133, 5598714940088883)),
        (42, 7, Stream.SERVER, (1034632727888758, 104776052860359, 4125864182985386)),
    ],
)
def test_fixed_vectors(seed: int, position: int, stream: Stream, words: tuple[int, ...]) -> None:
    drawn = uniforms(seed, position, stream, 3)
    assert [int(number * 2**53) for number in drawn] == list(words)


def test_numbers_lie_in_their_range_and_a_longer_call_begins_alike() -> None:
    drawn = uniforms(5, 3, Stream.TOKENS, 100_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert np.array_equal(uniforms(5, 3, Stream.TOKENS, 10), drawn[:10])


def test_seeds_positions_and_streams_have_numbers_of_their_own() -> None:
    keys = [(seed, position, stream) for seed in range(4) for position in range(16) for stream in Stream]
    assert len({uniforms(*key, 1)[0] for key in keys}) == len(keys)
