"""The characters of people's texts that a terminal would obey."""

from __future__ import annotations

import re
from typing import Final

CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""One such character: a control character, or one that turns the direction of writing. All others are shown as they
are."""
