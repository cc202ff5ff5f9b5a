"""Which messages contain a one-time code, so that they are never stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.codes import holds_one_time_code
from device_app.knowledge.phone.entries import MOST_CHARACTERS

FROM_SERVICES = [
    "Your code is 123456",
    "G-123456 is your Google verification code.",
    "123 456 is your Facebook confirmation code",
    "<#> Your WhatsApp code: 123-456\nYou can also tap on this link to verify your phone: v.whatsapp.com/123456",
    "Your one-time code is 482913. Do not share it with anybody.",
    "Use 7741 to verify your account.",
    "Enter 55012 as your security code",
    "TAN: 684213 für Überweisung über 250,00 EUR auf Konto DE89 3704 0044 0532 0130 00",
    "Ihre mTAN lautet 684213. Geben Sie diese nie weiter.",
    "Dein Bestätigungscode lautet 8812",
    "Ihr Einmalpasswort: 48AF91B",
    "Votre code de vérification est 334455",
    "Su código de verificación es 998877",
    "Din engångskod är 445566",
    "Код подтверждения: 4821. Никому не сообщайте",
    "【淘宝】您的验证码是 482913,请勿泄露",
    "קוד האימות שלך: 482913, your code",
    "482913",
    "Google: 482913",
    "OTP for txn of INR 1,500.00 is 998123. Valid for 10 min.",
    "Your Uber code is 4821. Reply STOP to unsubscribe.",
    "example.com: 482913 is your login code\n\n@example.com #482913",
    "Your parcel is in the locker. Your pickup code is 4471.",
    "PIN 4711 to log in to your account",
    "Your OTP:482913",
    "code:123456",
    "Your verification code:482913. Do not share",
    "mTAN:482913",
    "your code-482913",
    "PIN#4821",
    "验证码123456，请勿泄露",
    "您的验证码是123456",
    "認証コードは123456です",
    "인증번호는 123456입니다",
    "код подтверждения:482913",
    "Your login code is 482.913",
    "Your login code is 48 29 13",
    "Your code is ABCDEF",
    "Your code:ABCDEF",
    "Your one-time password is a8f3k2",
    "Security code 123",
]


@pytest.mark.parametrize("text", FROM_SERVICES)
def test_a_code_from_a_service(text: str) -> None:
    assert holds_one_time_code(text, from_contact=False)


@pytest.mark.parametrize("before", ["Good day. ", "\n", "your-", "1 "])
def test_a_code_at_the_end_of_the_longest_message(before: str) -> None:
    end = "\nYour login code is 482913."
    text = (before * MOST_CHARACTERS)[: MOST_CHARACTERS - len(end)] + end
    assert holds_one_time_code(text, from_contact=False)
    assert holds_one_time_code(text, from_contact=True)


KEPT = [
    "Your order 123456 has shipped.",
    "Your appointment is on 2026-03-14 at 10:30.",
    "Your balance is 1234.50 EUR.",
    "Your package arrives on Thursday. Postal code 80331.",
    "Use promo code SUMMER24 for a discount until 30 June",
    "Please sign the code of conduct by 2026",
    "Meet at 1830 by the boathouse",
    "Call me on 0701234567",
    "Table for 4 at 19:00",
    "Your flight confirmation code is XK4T2A",
    "Never share your password. The line is open for 30mins at 10:30",
    "",
]


@pytest.mark.parametrize("text", KEPT)
@pytest.mark.parametrize("from_contact", [True, False])
def test_no_code(text: str, from_contact: bool) -> None:
    assert not holds_one_time_code(text, from_contact=from_contact)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the code of the door is 1234", True),
        ("Your code for the garage is 4711, same as last year", True),
        ("The wifi password is tulip2024", True),
        ("4711", True),
        ("My bank just sent: your one-time code is 482913, do not share it", False),
        ("can you read me the verification code? it was 482913", False),
    ],
)
def test_what_a_contact_writes_of_a_code_is_kept_unless_it_is_a_services(text: str, kept: bool) -> None:
    assert holds_one_time_code(text, from_contact=True) is not kept


def test_the_code_of_a_door_from_a_stranger_is_kept_too() -> None:
    assert not holds_one_time_code("the code of the door is 1234", from_contact=False)


@given(st.text(max_size=3000), st.booleans())
def test_any_text(text: str, from_contact: bool) -> None:
    holds_one_time_code(text, from_contact=from_contact)
