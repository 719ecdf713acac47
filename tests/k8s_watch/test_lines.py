"""However a stream is cut into pieces, the same lines come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8s_watch.lines import Lines, TooLongError

BYTES = st.binary(max_size=60).map(lambda text: text.replace(b"\x00", b"\n"))


@given(chunks=st.lists(BYTES, max_size=8))
def test_lines_do_not_depend_on_how_they_arrive(chunks: list[bytes]) -> None:
    lines = Lines(1000)
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    *whole, _ = b"".join(chunks).split(b"\n")
    assert found == [line for line in whole if line]


def test_a_line_as_long_as_allowed_is_taken() -> None:
    lines = Lines(4)
    assert lines.feed(b"ab") == []
    assert lines.feed(b"cd\nwxyz\n") == [b"abcd", b"wxyz"]


@pytest.mark.parametrize(
    "chunks", [[b"abcde"], [b"abc", b"de"], [b"a\nbcdef\n"], [b"a\nbcdef"], [b"ab", b"cde\n"]]
)
def test_a_line_that_is_too_long_is_refused_even_before_it_ends(chunks: list[bytes]) -> None:
    lines = Lines(4)
    *before, last = chunks
    for chunk in before:
        lines.feed(chunk)
    with pytest.raises(TooLongError):
        lines.feed(last)
