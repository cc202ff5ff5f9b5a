from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.html import parse_html
from shared.types import Document

Read = Callable[..., list[Document]]
PAGE = """<!DOCTYPE html><html><head><title>Jota &amp; beans</title><meta name="date" content="2026-03-14">
<style>p {color: red}</style><script>if (a < b) document.write("<p>no</p>")</script></head>
<body><nav><a href="/">Home</a></nav><!-- <p>hidden</p> --><main>
<h1>Jota</h1><p>A soup<br>of beans<b>,</b> <i>slowly</i>
cooked.</p><ul><li>beans<li>cabbage</ul>
<table><tr><th>what</th><th>g</th></tr><tr><td><p>beans</p></td><td>200</td></tr></table>
<pre>one
  two</pre><blockquote>Good!</blockquote></main><footer>© me</footer></body></html>"""


def test_a_page_is_its_main_text_in_blocks(read: Read) -> None:
    (page,) = read("a.html", PAGE)
    assert (page.kind, page.title, page.date) == ("page", "Jota & beans", datetime(2026, 3, 14))
    assert [block.text for block in page.blocks] == [
        *("Jota", "A soup", "of beans, slowly cooked.", "beans", "cabbage"),
        *("what | g", "beans | 200", "one", "two", "Good!"),
    ]


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>a<nav>b</nav><p>c", ["a", "c"]),
        ("<nav>only this", ["only this"]),
        ("<article>a</article><p>b", ["a"]),
        ("plain", ["plain"]),
        ("a &lt;b&gt; &nbsp;&auml; &#x41; &#xD800;", ["a <b> ä A \ufffd"]),
        ("<p>unclosed <b>bold<p>next", ["unclosed bold", "next"]),
        ("</p></div></b>stray ends", ["stray ends"]),
        ("<table><tr><td>a<td><table><tr><td>b</table></table>", ["a", "b"]),
        ("<td><p>a</p><p>b</p></td><td>c", ["a", "b | c"]),
        ("<blockquote>said <br>twice</blockquote>own", ["> said", "> twice", "own"]),
        ("", []),
    ],
)
def test_markup_good_and_bad(html: str, lines: list[str]) -> None:
    assert list(parse_html(html).lines) == lines


def test_without_a_title_the_heading_is_it() -> None:
    assert parse_html("<h1>A <b>b</b></h1><h1>c</h1>").title == "A b"


def test_the_charset_a_page_declares_is_used(read: Read) -> None:
    (page,) = read("a.html", '<meta charset="koi8-r"><p>Привет'.encode("koi8-r"))
    assert page.blocks[0].text == "Привет"


@pytest.mark.long
@pytest.mark.parametrize(
    "hostile", ["<!--", "<![", "<?", "<a ", "<a b='", "</", "<", "<a b=c/", "<div>", "<table><tr><td>", "&", "<title>"]
)
def test_pages_without_end_take_linear_time(hostile: str) -> None:
    # Quadratic time would run into the suite's limit.
    assert parse_html(hostile * 100_000) is not None


@given(st.text(st.sampled_from("<>/!-=\"' abpretdhl&#;x\n[]?"), max_size=200))
def test_any_text_is_a_page(text: str) -> None:
    assert all(line == line.strip() and line for line in parse_html(text).lines)
