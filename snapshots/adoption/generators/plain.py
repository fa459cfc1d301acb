"""Plain files: a folder that is no site of a known generator."""

from __future__ import annotations

from snapshots.adoption.generator import Generator

PLAIN = Generator(name="plain", known_by=("*", ".*"))
