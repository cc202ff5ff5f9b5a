from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage

import pytest

from device_app.knowledge.readers.mail import mail_document
from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
PLAIN = b"""From: =?utf-8?q?J=C3=BCrg_M=C3=BCller?= <juerg@x.org>
To: Petra <petra@x.org>, "Orel, Tomaso" <tomaso@x.org>, petra@x.org
Cc: Petra <petra@x.org>
Subject: =?iso-8859-1?q?Schl=FCssel_f=FCr?=
 =?utf-8?b?IGRpZSBaaXN0ZXJuZQ==?=
Date: Sat, 14 Mar 2026 10:30:00 +0100
Message-ID: <abc@x.org>
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

The key is under the third stone, the one that Bruno laid on Tuesday when
it rained. Gr=C3=BC=C3=9Fe

On Fri, 13 Mar 2026, Petra wrote:
> Where is it?
"""


def text(document: Document) -> str:
    return "\n".join(block.text for block in document.blocks)


def test_a_mail_is_its_own_words_and_headers(read: Read) -> None:
    (mail,) = read("a.eml", PLAIN)
    assert (mail.key, mail.kind, mail.title) == ("abc@x.org", "mail", "Schlüssel für die Zisterne")
    assert mail.date == datetime(2026, 3, 14, 10, 30, tzinfo=timezone(timedelta(hours=1)))
    assert mail.people == (
        "Jürg Müller <juerg@x.org>",
        "Petra <petra@x.org>",
        "Orel, Tomaso <tomaso@x.org>",
        "petra@x.org",
    )
    assert text(mail) == ("The key is under the third stone, the one that Bruno laid on Tuesday when it rained. Grüße")


def test_plain_text_is_preferred_and_attachments_are_named() -> None:
    message = EmailMessage()
    message.set_content("Plain words.")
    message.add_alternative("<p>HTML words.</p>", subtype="html")
    message.add_attachment("secret contents", filename="notes.txt")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Räume.pdf")
    assert text(mail_document(bytes(message))) == "Plain words.\nAttachments: notes.txt, Räume.pdf"


def test_html_alone_is_read_without_what_it_quotes() -> None:
    message = EmailMessage()
    message.set_content(
        "<p>Yes,<br>on Tuesday.</p><div>On Mon, 2 Mar 2026, Petra wrote:<blockquote>When?</blockquote></div>",
        subtype="html",
    )
    assert text(mail_document(bytes(message))) == "Yes,\non Tuesday."


def test_an_attached_mail_is_named_by_its_subject() -> None:
    inner = EmailMessage()
    inner["Subject"] = "The inner one"
    inner.set_content("Inner words.")
    message = EmailMessage()
    message.set_content("See attached.")
    message.add_attachment(inner)
    assert text(mail_document(bytes(message))) == "See attached.\nAttachments: The inner one"


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("utf-8", "Grüße aus Köln".encode("cp1252")),
        ("us-ascii", "Grüße aus Köln".encode("cp1252")),
        ("iso-8859-1", "Grüße aus Köln".encode()),
        ("x-unknown", "Grüße aus Köln".encode()),
        ("base64", "Grüße aus Köln".encode()),
        ('"', "Grüße aus Köln".encode()),
    ],
)
def test_wrong_charsets_are_mended(charset: str, body: bytes) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=" + charset.encode() + b"\n\n" + body
    assert text(mail_document(data)) == "Grüße aus Köln"


def test_headers_with_raw_bytes_are_decoded() -> None:
    mail = mail_document("From: Jürg <j@x.org>\nSubject: Grüße\n\nx".encode())
    assert (mail.title, mail.people) == ("Grüße", ("Jürg <j@x.org>",))
    assert mail_document("Subject: Schöne Grüße aus Köln\n\nx".encode("cp1252")).title == "Schöne Grüße aus Köln"


@pytest.mark.parametrize(
    ("header", "date"),
    [
        ("Sat, 14 Mar 2026 10:30:00 -0000", datetime(2026, 3, 14, 10, 30, tzinfo=UTC)),
        ("Sat, 14 Mar 2026 10:30:00", datetime(2026, 3, 14, 10, 30, tzinfo=UTC)),
        ("2026-03-14T10:30:00Z", datetime(2026, 3, 14, 10, 30, tzinfo=UTC)),
        ("Sat, 99 Mar 2026 10:30:00 +0000", None),
        ("Sat, 14 Mar 2026 10:30:00 +9999999", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_aware_or_absent(header: str, date: datetime | None) -> None:
    assert mail_document(f"Date: {header}\n\nx".encode()).date == date


def test_a_mail_without_message_id_is_known_by_its_content() -> None:
    assert mail_document(b"Subject: a\n\nx").key == mail_document(b"Subject: a\n\nx").key
    assert mail_document(b"Subject: a\n\nx").key != mail_document(b"Subject: a\n\ny").key


def test_a_mail_that_is_all_subject_is_kept(read: Read) -> None:
    (mail,) = read("a.eml", "Subject: Meeting moved to 5 pm\nFrom: a@x.org\n\n")
    assert (mail.title, mail.blocks) == ("Meeting moved to 5 pm", ())


def test_what_is_no_mail_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="not an email"):
        read("a.eml", "Dear diary,\nno headers here.\nNone.\n")


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [
        b"From: " + b"(" * 100_000 + b"\n\nx",
        b'From: "' * 20_000 + b"\n\nx",
        b"Content-Type: multipart/mixed;" + b"a=b;" * 100_000 + b"\n\nx",
        b"Content-Type: text/plain;" + b" filename*0*=a;" * 20_000 + b"\n\nx",
        b"Content-Type: message/rfc822\n\n" * 5_000,
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3000)),
        b"Content-Type: text/plain; charset=punycode\n\n" + b"a-\xff" * 10_000,
        b"Subject: =?utf-8?b?!!!?= =?x?q?a?=\n\nx",
        b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n!!!\n",
        b"Content-Disposition: attachment; filename*=utf-99''%ff\n\nx",
        b"Content-Type: multipart/mixed\n\n--a\n",
        b"\n",
        b"",
    ],
)
def test_hostile_mails_are_read_in_linear_time(data: bytes) -> None:
    assert mail_document(data).kind == "mail"


def test_of_a_signature_the_lines_with_telephone_numbers_are_kept(read: Read) -> None:
    signed = b"From: Petra <p@x.org>\nSubject: Keys\n\nYes.\n\n-- \nPetra Orel\nOrel Ltd\nTel: 555 0101\n"
    (mail,) = read("a.eml", signed)
    assert [block.text for block in mail.blocks] == ["Yes.", "Tel: 555 0101"]
    (mail,) = read("b.eml", signed.replace(b"Yes.", b"> Come? Tel: 555 0102\nYes.\n--- Forwarded message ---\nHi"))
    assert "555 0101" in text(mail)
