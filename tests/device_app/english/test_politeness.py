"""Questions without greetings and polite words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.politeness import bare

BARE = {
    "Hi, could you please tell me when the opening is?": "when the opening is",
    "mails from Anna, thanks": "mails from Anna",
    # "For me" is a courtesy behind a request.
    "show me the mails from Tom Reed for me": "show me the mails from Tom Reed",
    "count the mails from Rick for me, please": "count the mails from Rick",
    "can you divide 1,000 by 16 for me": "divide 1,000 by 16",
    "find the roof notes again for me, thanks": "find the roof notes",
    "look up Rick's email for me": "look up Rick's email",
    # Elsewhere it is asked about.
    "what did Tom buy for me": "what did Tom buy for me",
    "what did Tom buy for me please?": "what did Tom buy for me",
    "can you tell me what Tom bought for me": "what Tom bought for me",
    "show me what Tom bought for me": "show me what Tom bought for me",
    "list the presents Anna bought for me": "list the presents Anna bought for me",
    "list the things Anna baked for me": "list the things Anna baked for me",
    "any mails for me": "any mails for me",
    "what can you do for me": "what can you do for me",
}


@pytest.mark.parametrize("question", BARE)
def test_polite_words_are_left_out(question: str) -> None:
    assert bare(question) == BARE[question]


@given(st.text(max_size=250))
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(bare(text), str)
