"""PTX text as tokens: names with their modifiers are one, comments none; errors name the line and what is there."""

import pytest

from dsl.emulator.ptx.syntax import PtxError
from dsl.emulator.ptx.tokens import Tokens


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("ld.shared::cluster.v4.b32 {%r1, %r2}, [%rd1+8];", "ld.shared::cluster.v4.b32 { %r1 , %r2 } , [ %rd1 + 8 ] ;"),
        ("mov.f32 %f1, 0f3F800000; // one\n", "mov.f32 %f1 , 0f3F800000 ;"),
        (".reg .b32 %r<9>; /* a\nb */ $L_1:", ".reg .b32 %r < 9 > ; $L_1 :"),
        ("add.s32 %r1, -0x1F, 7U;", "add.s32 %r1 , - 0x1F , 7U ;"),
        ("1.5e-3 0b101 0d3FF0000000000000", "1.5e-3 0b101 0d3FF0000000000000"),
    ],
)
def test_tokens(text, tokens):
    assert Tokens(text).tokens == [*tokens.split(), ""]


def test_a_text_in_quotes_is_one_token():
    assert Tokens('.file 1 "a b\\"c;.cu"').tokens == [".file", "1", '"a b\\"c;.cu"', ""]


def test_reading_goes_from_left_to_right():
    tokens = Tokens("a;\nb 12, -3;")
    assert (tokens.take(), tokens.accept(","), tokens.accept(";"), tokens.line(), tokens.take("b")) == (
        "a",
        False,
        True,
        2,
        "b",
    )
    assert tokens.integer_list() == [12, -3] and tokens.take() == ";" and tokens.line(0) == 1


@pytest.mark.parametrize(
    "read, message",
    [
        (lambda tokens: tokens.take("x"), "PTX line 2: expected `x`, found `a`"),
        (lambda tokens: tokens.integer(), "PTX line 2: expected an integer, found `a`"),
        (lambda tokens: (tokens.take(), tokens.take()), "PTX line 2: expected `a token`, found `end of text`"),
        (lambda tokens: tokens.skip_to_semicolon(), "PTX line 2: expected `a token`, found `end of text`"),
    ],
)
def test_errors_name_the_line_and_what_is_there(read, message):
    with pytest.raises(PtxError) as error:
        read(Tokens("\na"))
    assert str(error.value) == message


def test_inline_assembly_is_at_the_place_of_its_call():
    """LLVM counts its lines on from there: the load is at line 22, not 23."""
    text = """.loc 1 21 9
// begin inline asm
.loc 1 22 11
mov.u32 %r2, 0;
.loc 1 23 11
ld.global.b32 %r2, [%rd3];
// end inline asm
.loc 1 24 5
"""
    tokens = Tokens(text)
    places = [tokens.tokens[at + 2] for at, each in enumerate(tokens.tokens) if each == ".loc"]
    assert places == ["21", "22", "24"]
    assert len(tokens.text) == len(text) and tokens.line(tokens.tokens.index("ld.global.b32")) == 6
