"""What any text is made of, for tests that try any text at all."""

from __future__ import annotations

from hypothesis import strategies as st

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""All that can be written in UTF-8. It is what ``st.text()`` takes by itself, after seconds of finding that out."""
