"""The page that says what shows each sentence of the specification is made anew whenever a case is."""

import pytest

from docs.spec_coverage import PAGE, page

pytestmark = pytest.mark.tree


def test_every_sentence_has_a_proof_and_the_page_says_which() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"
