"""Which addresses are the same person's, and in which role."""

from __future__ import annotations

import pytest

from engine.access.sign_in.people import Person, Role, member, name_in, role_in
from snapshots.model import Member, Workspace

ACME = Workspace(
    "acme",
    "Acme",
    ("en",),
    members=(
        Member("Mika", "Mika@Acme.example ", "editor"),
        Member("Mika M", "mika@acme.example", "maintainer"),
        Member("Jörg", "JÖRG@acme.example", "owner"),
    ),
)


@pytest.mark.parametrize("address", ["mika@acme.example", " MIKA@ACME.EXAMPLE", "Mika@acme.example"])
def test_of_several_roles_the_one_that_may_do_most(address: str) -> None:
    assert role_in(ACME, member(address)) is Role.MAINTAINER
    assert name_in(ACME, member(address)) == "Mika"


@pytest.mark.parametrize(
    "address",
    [
        "mi\u212aa@acme.example",  # the Kelvin sign, whose lower case is k
        "m\u0130ka@acme.example",
        "m\u0131ka@acme.example",
        "mika@acme.example.evil.example",
        "mika@acme\u3002example",
        "",
    ],
)
def test_an_address_that_looks_the_same_is_another(address: str) -> None:
    assert role_in(ACME, member(address)) is None


def test_other_letters_are_as_they_are_written() -> None:
    assert role_in(ACME, member("jÖrg@ACME.example")) is Role.OWNER
    assert role_in(ACME, member("jörg@acme.example")) is None


def test_an_operator_is_an_owner_everywhere() -> None:
    operator = Person("root@server", is_operator=True)
    assert (role_in(ACME, operator), name_in(ACME, operator)) == (Role.OWNER, "root@server")
    assert role_in(ACME, Person("root@server")) is None
