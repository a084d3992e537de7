"""Names and prompts that no file can hold, or that would command a terminal."""

import pytest

from gambol.text import encodable, printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("żółw 🐢\n", "żółw 🐢\n"),
        ("\ud800", "\ufffd"),
        ("a\udc80b", "a\ufffdb"),
        ("\ud800x", "\ufffdx"),
        ("\ud83d\ude00", "😀"),  # two halves that belong together
    ],
)
def test_encodable(text, expected):
    assert encodable(text) == expected
    encodable(text).encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("żółw 🐢, 左足 \u00a0", "żółw 🐢, 左足 \u00a0"),
        ("two\r\nlines\tand \u2028", "two  lines and  "),
        ("\x1b]0;title\x07 \x9b31m \x7f\0", "\ufffd]0;title\ufffd \ufffd31m \ufffd\ufffd"),
        ("\ud800", "\ufffd"),
    ],
)
def test_printable(text, expected):
    assert printable(text) == expected
