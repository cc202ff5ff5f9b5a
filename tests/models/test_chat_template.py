"""Chat templates of real models are split into their parts; a template that cannot be split is replaced by ChatML."""

import gc

import pytest

from models import chat_template
from models.chat_template import parse
from shared.prompt import CHATML, ChatTemplate

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}{{ '<start_of_turn>' + message['role'] + '\n' + message['content'] | trim"
    " + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set messages = messages[1:] %}{% endif %}{% for message in messages %}"
    "{{ '[INST] ' + (system + '\n\n' if system is defined else '') + message.content + ' [/INST]' }}{% endfor %}"
)
DROPS_SYSTEM = "{% for m in messages if m.role == 'user' %}<user>{{ m.content }}</user>{% endfor %}<bot>"


def filled(template: ChatTemplate, system: str, user: str) -> str:
    """Return the first turn of a conversation, put together from the template's parts as a prompt is."""
    if template.system_in_user:
        turn = f"{template.before_user}{system}\n\n{user}"
    else:
        turn = f"{template.before_system}{system}{template.after_system}{template.before_user}{user}"
    return turn + template.after_user + template.before_assistant


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (SMOLLM2, "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"),
        (GEMMA, "<bos><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n"),
        (MISTRAL, "<bos>[INST] S\n\nU [/INST]"),
        (DROPS_SYSTEM, "<user>S\n\nU</user><bot>"),
    ],
    ids=["SmolLM2", "Gemma, which refuses a system message", "Mistral, which folds it in", "one that drops it"],
)
def test_a_first_turn_reads_as_the_model_was_trained(source: str, expected: str) -> None:
    assert filled(parse(source, "<bos>"), "S", "U") == expected


def test_what_is_known_of_a_template_is_what_rendering_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = chat_template._KNOWN.values()
    assert parse(SMOLLM2) is known
    monkeypatch.setattr(chat_template, "_KNOWN", {})
    parse.cache_clear()
    assert parse(SMOLLM2) == known


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "{% if %}",
        "no messages at all",
        "{{ messages[0].content }}{{ messages[0].content }}{{ messages[-1].content }}{{ messages[-1].content }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ 1 / 0 }}",
        "{{ 'x' * 10 ** 10 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set s = '" + "x" * 20_000 + "' %}{% for a in s %}{% for b in s %}{% set c = 1 %}{% endfor %}{% endfor %}",
        "{# " + "x" * 100_000 + " #}",
    ],
    ids=[
        "none",
        "empty",
        "broken",
        "without a place for the words",
        "with two places",
        "reaching for Python's insides",
        "changing what it is given",
        "dividing by zero",
        "filling memory",
        "never done with a power",
        "without end of recursion",
        "never done counting",
        "never done looping",
        "of absurd length",
    ],
)
def test_what_cannot_be_taken_apart_gives_way_to_chatml(source: str | None) -> None:
    # What other tests left must not be finalised in the midst of a recursion without end: it would fail there.
    gc.disable()
    try:
        assert parse(source) is CHATML
    finally:
        gc.enable()
