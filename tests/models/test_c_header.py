"""The parser of C headers: what it understands, what it rejects, and that any other text gives a clear error."""

import ctypes
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.c_declarations import PRIMITIVES, HeaderError, Signature
from models.c_header import Header
from models.c_types import CTypes
from models.llama_header import HEADERS
from scripts.layouts_compared import compiled, read

SAMPLE = """
#ifndef SAMPLE_H
#define SAMPLE_H  // a guard
#define SAMPLE_API __attribute__ ((visibility ("default")))
#define DEPRECATED(func, hint) func
#define SAMPLE_VERSION 3
#define SAMPLE_SEED 0xFFFFFFFFu
#define SAMPLE_ALIAS SAMPLE_VERSION
#define SAMPLE_LINES(a) \\
    struct broken { int a; };
#ifdef __cplusplus
extern "C" {
#endif
    struct sample_model;
    typedef struct sample_memory * sample_memory_t;  /* opaque; a pointer */
    typedef int32_t sample_token;
    typedef bool (*sample_callback)(float progress, void * data);
    enum sample_kind { SAMPLE_NONE = -1, SAMPLE_FIRST, SAMPLE_SECOND, SAMPLE_BIT = 1 << 4, SAMPLE_LAST = SAMPLE_BIT, };
    typedef struct sample_pair { sample_token id; float p; } sample_pair;
    struct sample_params {
        uint32_t n, m; // two "of them"; and a semicolon
        enum sample_kind kind;
        const struct sample_model * model, ** models;
        sample_callback callback;
        void * callback_data;
        sample_pair pairs[SAMPLE_VERSION];
        char name[16];
        sample_memory_t memory;
        unsigned long long total;
        bool is_on;
    };
    SAMPLE_API struct sample_params sample_default_params(void);
    SAMPLE_API const char * sample_name(const struct sample_model * model, const sample_token * tokens, size_t n);
    DEPRECATED(SAMPLE_API int32_t sample_old(sample_callback callback, float [], enum sample_kind),
            "use sample_name(\\"x\\"); instead");
    static inline int sample_inline(int a) { if (a) { return 1; } return 0; }
    SAMPLE_API void sample_after(sample_memory_t);
#ifdef __cplusplus
}
#endif
#endif
"""


def test_a_struct_has_its_fields_in_order_with_plain_types() -> None:
    fields = Header(SAMPLE).struct("sample_params")
    assert [tuple(field) for field in fields] == [
        ("n", "uint32_t"),
        ("m", "uint32_t"),
        ("kind", "int"),
        ("model", "sample_model*"),
        ("models", "sample_model**"),
        ("callback", "void*"),
        ("callback_data", "void*"),
        ("pairs", "sample_pair[3]"),
        ("name", "char[16]"),
        ("memory", "sample_memory*"),
        ("total", "unsigned long long"),
        ("is_on", "bool"),
    ]


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("sample_default_params", Signature("sample_params", ())),
        ("sample_name", Signature("char*", ("sample_model*", "int32_t*", "size_t"))),
        ("sample_old", Signature("int32_t", ("void*", "float*", "int"))),
        ("sample_after", Signature("void", ("sample_memory*",))),
    ],
)
def test_a_function_has_its_types(name: str, signature: Signature) -> None:
    assert Header(SAMPLE).function(name) == signature


def test_a_callback_has_its_types() -> None:
    assert Header(SAMPLE).callback("sample_callback") == Signature("bool", ("float", "void*"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SAMPLE_VERSION", 3),
        ("SAMPLE_SEED", 0xFFFFFFFF),
        ("SAMPLE_ALIAS", 3),
        ("SAMPLE_NONE", -1),
        ("SAMPLE_FIRST", 0),
        ("SAMPLE_SECOND", 1),
        ("SAMPLE_LAST", 16),
    ],
)
def test_a_constant_has_its_value(name: str, value: int) -> None:
    assert Header(SAMPLE).constant(name) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "lacks s"),
        ("struct s { int a;", "lacks s"),
        ("struct s { int a : 3; };", "'int a : 3' in the struct s, which is not understood"),
        ("struct s { union { int a; float b; }; };", "the struct s in a way that is not understood"),
        ("struct s { int a; int a; };", "two fields of one name"),
        ("struct s { };", "in a way that is not understood"),
        ("struct s { unheard a; };", "'unheard a' in the struct s, whose type is not declared"),
        ("struct s { struct t a; };", "'struct t a' in the struct s, whose type is not declared"),
        ("typedef a b; typedef b a; struct s { a x; };", "whose type is not declared"),
        ("struct s { int a;\n#ifdef X\n int b;\n#endif\n};", "the struct s differently under some condition"),
        ("struct s { int a; }; struct s { float a; };", "the struct s in several ways"),
        ("#pragma pack(1)\nstruct s { char a; int b; };", "by a pragma"),
        ("struct __attribute__((packed)) s { char a; int b; };", "lacks s"),
        ("struct s { char a; int b; } __attribute__((packed));", "lacks s"),
        ("struct s { int a[0]; };", "whose size is not understood"),
        ("struct s { int a[2][2]; };", "which is not understood"),
        ("struct s { int a[N + 1]; };", "which is not understood"),
        ("struct s { long double a; };", "whose type is not declared"),
        ("struct s { int (*a)(void); };", "which is not understood"),
        ("enum e : char { A }; struct s { enum e a; };", "an enum whose size is not understood"),
        ("enum e { A = 1 << 40 }; struct s { enum e a; };", "an enum whose size is not understood"),
        ("enum e { A = 1 | 2 }; struct s { enum e a; };", "an enum whose size is not understood"),
        ("enum e { A, B } __attribute__((packed)); struct s { enum e a; };", "lacks e"),
        ("enum __attribute__((packed)) e { A, B }; struct s { enum e a; };", "lacks e"),
        ("struct s { int a[010]; };", "whose size is not understood"),
        ("#define int char\nstruct s { int a; };", "which is not understood"),
        ("struct s { ALIGNED int a; };", "which is not understood"),
    ],
)
def test_a_struct_that_is_not_understood_for_sure_is_refused(text: str, reason: str) -> None:
    with pytest.raises(HeaderError) as refused:
        CTypes({"s": Header(text).struct("s")}).type("s")
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "int f(int a, ...);",
        "int f(int (*a)(void));",
        "int f(struct t a);",
        "t f(void);",
        "__declspec(dllimport) int f(int);",
        "int f(int); long f(int);",
        "int f(int,);",
    ],
)
def test_a_function_that_is_not_understood_for_sure_is_refused(text: str) -> None:
    with pytest.raises(HeaderError):
        Header(text).function("f")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("struct s { int a; // a comment that goes on \\\n int b;\n int c; };", "a c"),
        ('struct s { int a; /* "; */ int b; };', "a b"),
        ("typedef struct t t; struct s { t * a; };", "a"),
        ("struct s { int a, /* none\n */ b[1]; } made;", "a b"),
    ],
)
def test_comments_and_names_of_opaque_structs_are_understood_as_in_c(text: str, fields: str) -> None:
    assert [field.name for field in Header(text).struct("s")] == fields.split()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "enum e { M OLD(a, b), N };",
        "enum e { M = 010, N };",
        "#define N 1\n#define N 2",
        "#define N (1 + 2)",
        "#define N M\n#define M N",
    ],
)
def test_a_constant_that_is_not_one_number_is_refused(text: str) -> None:
    with pytest.raises(HeaderError, match="does not define N as one number"):
        Header(text).constant("N")


def test_a_struct_that_contains_itself_is_refused() -> None:
    fields = {name: Header("struct a { struct b x; }; struct b { struct a x; };").struct(name) for name in "ab"}
    with pytest.raises(HeaderError, match="whose size is not known"):
        CTypes(fields).type("a")


def test_a_chain_of_structs_or_aliases_without_end_in_sight_is_refused() -> None:
    chain = "".join(f"struct s{n} {{ struct s{n + 1} x; }}; " for n in range(2000)) + "struct s2000 { int x; };"
    header = Header(chain)
    with pytest.raises(HeaderError, match="whose size is not known"):
        CTypes({f"s{n}": header.struct(f"s{n}") for n in range(2001)}).type("s0")
    aliases = "typedef int a0; " + "".join(f"typedef a{n} * a{n + 1}; " for n in range(2000))
    with pytest.raises(HeaderError, match="which is not understood"):
        Header(f"{aliases} struct s {{ a2000 x; }};").struct("s")


def test_types_are_those_of_the_declarations() -> None:
    header = Header(SAMPLE)
    types = CTypes({name: header.struct(name) for name in ("sample_params", "sample_pair")})
    params = types.type("sample_params")
    assert ctypes.sizeof(params) == 4 * 2 + 8 + 8 * 4 + 8 * 3 + 16 + 8 + 8 + 8
    assert (params.kind.offset, params.model.offset, params.pairs.offset, params.is_on.offset) == (8, 16, 48, 104)
    assert types.type("sample_model*") is types.type("sample_model*") is not types.type("sample_memory*")
    assert types.type("void") is None


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_structs_made_at_random_have_the_compilers_layouts(tmp_path: Path) -> None:
    draw = random.Random(0)
    bases = [*PRIMITIVES, "token", "callback", "enum kind", "struct opaque *", "opaque_t"]
    lines = ["#include <stdint.h>", "#include <stdbool.h>", "#include <stddef.h>", "#define COUNT 5"]
    lines += ["typedef int16_t token; typedef struct opaque * opaque_t; enum kind { A = -1, B = (1 << 3), C };"]
    lines += ["typedef bool (*callback)(const void * data, enum kind kind);"]
    for number in range(150):
        members = []
        for place in range(draw.randint(1, 9)):
            stars, elements = draw.choice(("", "", "", "*", "**")), draw.choice(("", "", "", "[3]", "[COUNT]"))
            members.append(f"{draw.choice(('', 'const '))}{draw.choice(bases)} {stars}m{place}{elements};")
        lines.append(f"struct s{number} {{ {' '.join(members)} }};")
        bases.append(f"struct s{number}")
    (tmp_path / "llama.h").write_text("\n".join(lines), "utf-8")
    for name in HEADERS[1:]:
        (tmp_path / name).touch()
    layouts, unread = read(Header("\n".join(lines)))
    assert (len(layouts), unread) == (150, [])
    assert layouts == compiled(layouts, [tmp_path])


def ask_everything(header: Header) -> None:
    """Query everything that the header declares, and some names that it may lack."""
    structs = {}
    for name in (*header.names("struct"), "s"):
        try:
            structs[name] = header.struct(name)
        except HeaderError:
            continue
    types = CTypes(structs)
    questions = [(types.type, list(structs)), (header.function, [*header.names("function"), "f"])]
    questions += [(header.callback, [*header.names("callback"), "f"]), (header.constant, ["A", "B", "SAMPLE_LAST"])]
    for question, names in questions:
        for name in names:
            try:
                question(name)
            except HeaderError as error:
                assert str(error)


PIECES = (
    *("struct s {", "enum e {", "typedef", "{", "}", ";", ",", "(", ")", "*", "[", "]", "[4]", "=", "<<", ":", "..."),
    *(
        "int",
        "unsigned",
        "long",
        "float",
        "void",
        "const",
        "struct",
        "enum",
        "s",
        "t",
        "f",
        "a",
        "A",
        "B",
        "e",
        "1",
        "-1",
    ),
    *("#define A B\n", "#define B A\n", "\n#if X\n", "\n#endif\n", "\\\n", '"', "'", "//", "/*", "*/", "\n", " "),
    *('extern "C" {', "DEPRECATED(", "X_API", "99999999999999999999", "é", "\0"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join) | st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        ask_everything(Header(text))
    except HeaderError as error:
        assert str(error)


@given(st.integers(0, len(SAMPLE)), st.integers(0, 80), st.sampled_from(("", *PIECES)))
def test_a_damaged_header_is_read_or_refused(start: int, count: int, piece: str) -> None:
    try:
        ask_everything(Header(SAMPLE[:start] + piece + SAMPLE[start + count :]))
    except HeaderError as error:
        assert str(error)


@pytest.mark.parametrize("piece", ["/*", '"\\', "{", "{};", "a", "a(", "\n#if"])
def test_a_long_text_is_read_in_time(piece: str) -> None:
    ask_everything(Header(piece * 30_000 + "("))
