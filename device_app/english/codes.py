"""Recognises messages that hold a one-time code or password, which are never kept. Pure.

A message holds a one-time code if it has a short code and names its purpose in the words of a service. A message about
a code from a person in the contacts ("the code of the door is 1234") is kept, unless it repeats a service's words; such
a message from a stranger is not kept if in doubt.
"""

import re
from typing import Final

_BARE_CHARACTERS: Final = 40
"""The most characters of a message that consists of little more than a code."""

# All repeats are bounded, so that the time is linear in the length of a message, whatever is in it.
_CODE = re.compile(
    r"(?<![\w.,:/€$£#-])(?:[A-Z]{1,3}-)?(?:\d{4,10}|\d{3}[ -]\d{3}|\d{4}[ -]\d{4})(?![\w€$£%:/]|[.,]\d|-\d)"
    r"|(?<![\w-])(?=[A-Z0-9]{0,9}\d)(?=[A-Z0-9]{0,9}[A-Z])[A-Z0-9]{5,10}(?![\w-])|\B#\d{4,10}\b"
)
"""Matches a code without a word for it: digits, perhaps in groups or after letters (G-123456), or capitals with digits.

Prices, dates and times do not match.
"""

_NOUN = (
    r"(?:(?:codes?|c[oó]digos?|codice|kode?|kod|pin|passcodes?|passwords?|otp|tan|token|passwort|kennwort|contraseña"
    r"|mot de passe|parola|пароль|код|رمز|קוד)(?![^\W\d_])|验证码|驗證碼|校验码|動態碼|認証コード|確認コード|인증번호)"
)
"""Matches a word for a code, not followed by a letter, except in scripts without spaces."""

_TOKEN = re.compile(
    r"\d(?:[ .\u00a0\u2009-]?\d){2,}"
    r"|(?<![A-Za-z0-9])(?=[A-Za-z]{0,15}\d)(?=\d{0,15}[A-Za-z])(?!\d{1,3}(?:th|[ap]m|hrs?|hours?|mins?|secs?|days?)\b)"
    r"[A-Za-z0-9]{4,16}(?![A-Za-z0-9])"
)
"""Matches a possible code near a word for a code: three digits or more, perhaps in groups, or letters with digits."""

_SPELLED = re.compile(
    rf"(?i:{_NOUN})(?:\s{{1,3}}(?:is|lautet|est|es|är|er)\s{{1,3}}|\s{{0,3}}[:=]\s{{0,3}})[A-Z]{{4,10}}(?!\w)"
)
"""Matches a code of capitals alone, directly after a word for a code."""

_SERVICE = re.compile(
    r"\b(?:one[- ]?time|single[- ]use|otp|(?:sms|m|push|chip|photo|i)?-?tan\b|2fa|two[- ](?:factor|step)|passcode|"
    r"verif(?:y|ication)|authenticat\w+|security code|log ?-?in|sign ?-?in|signing in|confirmation code|"
    r"activation code|access code|einmal\w*|best[äa]tigungs-?code|sicherheits-?code|freischalt-?code|anmelde-?code|"
    r"verifizierungs\w*|v[ée]rification|verificaci[óo]n|verifica(?:tion)?|verificação|usage unique|"
    r"un solo uso|eng[åa]ngs\w*|"
    r"(?:do not|don['’]?t|never|please do not) (?:share|disclose|give|tell|forward)|nicht weiter\w*|niemals weiter\w*|"
    r"ne (?:le )?(?:partagez|communiquez)|no (?:la |lo )?compartas?|expires? (?:in|at|after)|valid (?:for|until)|"
    r"gültig|if you did(?: not|n['’]t) (?:request|ask))"
    r"|验证码|驗證碼|校验码|動態碼|認証コード|確認コード|인증번호|одноразов|никому|подтвержд",
    re.IGNORECASE,
)
"""Matches words that services use about codes, and that hardly any person uses."""

_FEW_WORDS = r"(?:\W{1,4}\w{1,40}){0,4}?\W{1,4}\w{0,40}?"
_YOURS = re.compile(
    rf"\b(?:your|ihr|dein|votre|ton|su|tu|il tuo|seu|je|uw|din|ditt|twój|ваш)\b{_FEW_WORDS}{_NOUN}"
    rf"|\bis (?:your|the)\b{_FEW_WORDS}{_NOUN}"
    rf"|\b(?:use|enter|type|reply with)\b.{{0,40}}\b{_NOUN}",
    re.IGNORECASE,
)
"""Matches a word for a code that is addressed to the reader: "your code", "is your … code"."""

_USE = re.compile(
    r"\b(?:use|enter|type)\b\W{1,4}(?:[a-z]-)?[\w-]{0,12}\d[\w-]{0,12}\W{1,4}(?:to|as|for)\b", re.IGNORECASE
)
"""Matches an instruction to use a code, without a word for a code: "use 7741 to verify your account"."""

_MENTION = re.compile(_NOUN, re.IGNORECASE)
_RETRIEVER = re.compile(r"^[ \t]*<#>|^@\S+ #\S+$", re.MULTILINE)
"""Matches the marks in a message by which a phone fills in a code by itself."""

_OTHER = re.compile(
    r"\b(?:zip|postal|post|area|country|dialling|promo\w*|discount|voucher|coupon|gift|referral|source|bar|qr|dress|"
    r"building|colou?r|error|sort|product|tax|swift|bic|"
    r"(?:booking|reservation|flight)(?: confirmation)?)[- ]?codes?\b|\bcodes? (?:of conduct|review|name|base)\b",
    re.IGNORECASE,
)
"""Matches codes that are not for logging in, or not secret, such as postal codes."""


def holds_one_time_code(text: str, *, from_contact: bool) -> bool:
    """Return whether a message holds a one-time code; `from_contact`: it is from or to a person in the contacts."""
    said = _OTHER.sub(" ", text)
    if _RETRIEVER.search(said):
        return True
    mentions, is_service = bool(_MENTION.search(said)), bool(_SERVICE.search(said))
    is_of_service = is_service and mentions and _has_token(said)
    if from_contact or is_of_service:
        return is_of_service
    if mentions and _YOURS.search(said) and _has_token(said):
        return True
    code = _TOKEN if mentions else _CODE
    is_bare = len(text.strip()) <= _BARE_CHARACTERS and len(code.sub("", text).split()) <= 2
    is_used = is_service and bool(_USE.search(said))
    return bool(code.search(said)) and (is_bare or is_used)


def _has_token(text: str) -> bool:
    return bool(_TOKEN.search(text) or _SPELLED.search(text))
