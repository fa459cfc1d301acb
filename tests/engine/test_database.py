"""Databases print nothing by themselves, whatever program opens them."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from engine.database import open_database
with open_database(config={}) as connection:
    print(connection.execute("SELECT current_setting('enable_progress_bar')").fetchone())
"""


def test_a_program_without_a_file_of_its_own_is_not_taken_for_a_person() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "(False,)"
