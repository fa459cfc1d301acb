"""Find the role that a person has in a workspace now, among its members."""

from __future__ import annotations

from enum import StrEnum
from string import ascii_lowercase, ascii_uppercase
from typing import Final

import msgspec

from snapshots.model import Workspace

# Other letters stay as they are: the lower case of some, such as the Kelvin sign, is a letter of another address.
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


class Role(StrEnum):
    """The roles that workspace.yaml gives its members."""

    OWNER = "owner"
    MAINTAINER = "maintainer"
    EDITOR = "editor"

    @property
    def manages(self) -> bool:
        """Whether the role sees and changes API keys, and activates versions (contract 1)."""
        return self is not Role.EDITOR


class Person(msgspec.Struct, frozen=True):
    """A person who is signed in or is signing in."""

    address: str
    """The e-mail address of a member, in lower case; of an operator, ``user@host`` as the command line records it."""
    is_operator: bool = False
    """Whether the person may run commands on the store: an operator is owner of every workspace in it."""


def member(address: str) -> Person:
    """Return the person with an e-mail address, whatever the case of its letters from A to Z."""
    return Person(_plain(address))


def role_in(workspace: Workspace, person: Person) -> Role | None:
    """Return a person's role in a workspace, ``None`` for no member. Of several roles, the one that may do most."""
    if person.is_operator:
        return Role.OWNER
    found = {one.role for one in workspace.members if _plain(one.email) == person.address}
    return next((role for role in Role if role in found), None)


def name_in(workspace: Workspace, person: Person) -> str:
    """Return the name that workspace.yaml gives a person, else the address."""
    if person.is_operator:
        return person.address
    return next((one.name for one in workspace.members if _plain(one.email) == person.address), person.address)


def _plain(address: str) -> str:
    return address.strip().translate(_LOWER)
