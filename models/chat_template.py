"""Converts a model's chat template into the strings around each part of a conversation.

The template is a jinja program from an untrusted file: it is rendered in jinja's sandbox within bounded time.
Placeholder marks stand in for the texts of users, which therefore never pass through the template.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import Any

from shared.prompt import CHATML, ChatTemplate

_MOST_CHARACTERS = 50_000
_SECONDS = 0.5
# The exceptions that an untrusted template may raise.
_FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
)
# The default model's template, converted ahead: importing jinja and rendering takes longer than loading the weights.
_KNOWN = {
    "872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788": ChatTemplate(
        CHATML.before_system,
        CHATML.after_system + CHATML.before_user,
        "",
        "",
        CHATML.after_user + CHATML.before_assistant,
    )
}
_SYSTEM, _USER = "\ue000system\ue000", "\ue000user\ue000"


@cache
def parse(source: str | None, bos: str = "") -> ChatTemplate:
    """Return the template as strings; ChatML if there is no template or it cannot be converted.

    `bos` is the text of the model's beginning-of-text token, for templates that insert it.
    """
    if not source or len(source) > _MOST_CHARACTERS:
        return CHATML
    if known := _KNOWN.get(hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()):
        return known
    both = _around(_rendered(source, bos, ("system", "user")), _SYSTEM, _USER)
    if both:
        before_system, between, after_user = both
        return ChatTemplate(before_system, between, "", "", after_user)
    # Some templates refuse a system message, others drop it: try again without one.
    alone = _around(_rendered(source, bos, ("user",)), "", _USER)
    if alone:
        _, before_user, after_user = alone
        return ChatTemplate("", "", before_user, "", after_user, system_in_user=True)
    return CHATML


def _rendered(source: str, bos: str, roles: tuple[str, ...]) -> str:
    """Render a conversation whose texts are placeholder marks, up to the start of the answer; "" on failure."""
    from jinja2.exceptions import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not (isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < 1000):
                raise TemplateError("Chat templates need no product of these values.")
            return super().call_binop(context, operator, left, right)

    def refuse(message: str) -> None:
        raise TemplateError(message)

    content = {"system": _SYSTEM, "user": _USER}
    environment = Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    try:
        with _deadline(_SECONDS):
            return environment.from_string(source).render(
                messages=[{"role": role, "content": content[role]} for role in roles],
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=bos,
                eos_token="",
                raise_exception=refuse,
            )
    except (TemplateError, SyntaxError, *_FAILURES):
        return ""


def _around(text: str, first: str, second: str) -> tuple[str, str, str] | None:
    """Return the texts before, between and after two marks; None unless each mark occurs once, and in order."""
    if (first and text.count(first) != 1) or text.count(second) != 1 or text.find(first) > text.find(second):
        return None
    before, _, rest = text.partition(first) if first else ("", "", text)
    between, _, after = rest.partition(second)
    return before, between, after


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Interrupt the Python code in this context after `seconds`, because a template's nested loops could run for
    hours.
    """
    end = monotonic() + seconds

    def watch(*_: object) -> Any:
        if monotonic() > end:
            raise TimeoutError
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)
