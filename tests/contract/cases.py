"""A contract case: one request, the status and the exact JSON it must get.

Cases are named by the section of the contract (``4.6 …``) or the decision (``D11 …``) they come from. Targets are
written as they go over the wire, percent-encoding included, below ``/v1/acme/``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.contract.service import Answer, Service

DRAFT_MARK = "UNPUBLISHED"
"""In the text of every version that no request without its draft key may ever see."""


@dataclass(frozen=True)
class Case:
    name: str
    target: str
    status: int
    body: Any = None
    """The exact JSON of a 200."""
    key: str = "all"
    """Which of the service's API keys is sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    """What the message of a failure must contain."""

    def __str__(self) -> str:
        return self.name


def answers(name: str, target: str, body: Any, *, key: str = "all", headers: Mapping[str, str] | None = None) -> Case:
    """The request is answered 200 with exactly this body."""
    return Case(name, target, 200, body, key, headers or {})


def finds(name: str, target: str, ids: str, *, total: int | None = None, offset: int = 0, limit: int = 10) -> Case:
    """The list holds exactly these IDs in this order. ``fields=id`` is added, so that the whole body is known."""
    joint = "&" if "?" in target else "?"
    contents = [{"id": one} for one in ids.split()]
    body = {
        "contents": contents,
        "totalCount": len(contents) if total is None else total,
        "offset": offset,
        "limit": limit,
    }
    return Case(name, f"{target}{joint}fields=id", 200, body)


def refuses(
    name: str,
    target: str,
    *says: str,
    status: int = 400,
    key: str = "all",
    headers: Mapping[str, str] | None = None,
) -> Case:
    """The request gets this status and a ``{message}`` that says these words."""
    return Case(name, target, status, None, key, headers or {}, says)


def missing(name: str, target: str, *, key: str = "all", headers: Mapping[str, str] | None = None) -> Case:
    return refuses(name, target, status=404, key=key, headers=headers)


def page(*contents: Any, total: int, offset: int = 0, limit: int = 10) -> dict[str, Any]:
    """A list response (contract 2.2)."""
    return {"contents": list(contents), "totalCount": total, "offset": offset, "limit": limit}


def exact(value: Any) -> str:
    """JSON with sorted members: tells 5 from 5.0 and true from 1, as plain equality does not."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1)


def check(service: Service, case: Case) -> None:
    """Send the case's request and hold the whole answer against it; then again, when it may be a kept one."""
    answer, again = (service.get(f"/v1/acme/{case.target}", key=case.key, headers=case.headers) for _ in range(2))
    assert (again.status, again.body, lasting(again)) == (answer.status, answer.body, lasting(answer))
    assert answer.status == case.status, (case.target, answer.status, answer.body)
    assert answer.header("content-type") == "application/json"
    if case.status == 200:
        assert exact(answer.json()) == exact(case.body), answer.body
    else:
        check_message(answer, case.says)


def check_all(service: Service, cases: Iterable[Case]) -> None:
    """Check every case; the error has those of all that fail, each with its case's name."""
    hold_all(cases, partial(check, service))


def hold_all(cases: Iterable[Case], hold: Callable[[Case], None]) -> None:
    """Call ``hold`` with every case; the error has those of all that fail, each with its case's name."""
    failed = []
    for case in cases:
        try:
            hold(case)
        except Exception as error:
            error.add_note(f"in the case {case.name!r}: {case.target}")
            failed.append(error)
    if failed:
        raise ExceptionGroup("cases that do not hold", failed)


def lasting(answer: Answer) -> list[tuple[str, str]]:
    """An answer's headers that do not change from one request to the next."""
    changing = {"date", "ratelimit", "x-request-id"}
    return sorted((name.lower(), value) for name, value in answer.headers if name.lower() not in changing)


def check_message(answer: Answer, says: tuple[str, ...] = ()) -> None:
    """A failure's body is ``{message}`` alone (contract 2.6) and gives nothing unpublished away."""
    body = answer.json()
    assert list(body) == ["message"]
    assert isinstance(body["message"], str)
    assert body["message"]
    assert DRAFT_MARK not in body["message"]
    for words in says:
        assert words in body["message"], body["message"]
