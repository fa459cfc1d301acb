"""Post a comment to the pull request of a job on GitHub or GitLab, once: a later run updates it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import msgspec

from cli.output import lines
from snapshots.problems import ParquetryError

SECONDS = 20
"""For an answer of the service."""
_A_PAGE = 100
_MOST_PAGES = 50

_REFUSED = {401, 403, 404}


class _Comment(msgspec.Struct):
    """The members that are read of a comment."""

    id: int
    body: str | None = None


_decode = msgspec.json.Decoder(list[_Comment]).decode


class CannotComment(ParquetryError):
    """The job's environment does not say where to comment, or the service cannot be reached."""


@dataclass(frozen=True, slots=True)
class Discussion:
    """The comments of one pull request, as a service's HTTP API has them."""

    comments: str
    """The URL of the list of comments; a new one is posted there."""
    change: Callable[[_Comment], tuple[str, str]]
    """Returns the method and the URL that change a comment of the list."""
    headers: Mapping[str, str]
    page: str
    """The pull request's own address, for people; empty where the job does not say."""


def github() -> Discussion:
    """Return the pull request of a GitHub Actions job. Raises ``CannotComment``."""
    token, repository = _given("GITHUB_TOKEN"), _given("GITHUB_REPOSITORY")
    event = msgspec.json.decode(Path(_given("GITHUB_EVENT_PATH")).read_bytes())
    number = event.get("pull_request", {}).get("number") if isinstance(event, dict) else None
    if not isinstance(number, int):
        raise CannotComment("This job was not started by a pull request, so there is nothing to comment on.")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    return Discussion(
        f"{api}/repos/{repository}/issues/{number}/comments",
        lambda comment: ("PATCH", f"{api}/repos/{repository}/issues/comments/{comment.id}"),
        {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"},
        f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}/pull/{number}",
    )


def gitlab() -> Discussion:
    """Return the merge request of a GitLab CI job. Raises ``CannotComment``."""
    token, project, number = _given("GITLAB_TOKEN"), _given("CI_PROJECT_ID"), _given("CI_MERGE_REQUEST_IID")
    notes = f"{_given('CI_API_V4_URL')}/projects/{project}/merge_requests/{number}/notes"
    page = os.environ.get("CI_MERGE_REQUEST_PROJECT_URL")
    return Discussion(
        notes,
        lambda note: ("PUT", f"{notes}/{note.id}"),
        {"PRIVATE-TOKEN": token},
        "" if page is None else f"{page}/-/merge_requests/{number}",
    )


SERVICES: Mapping[str, Callable[[], Discussion]] = {"github": github, "gitlab": gitlab}
"""The values of ``--post``."""


def post(service: Callable[[], Discussion], text: str) -> str | None:
    """Write ``text`` into the comment that begins with its first line, or into a new one; return the page's address.

    Where the token may not comment, as in pull requests from forks, that is a warning, and ``None`` is returned.
    Raises ``CannotComment``.
    """
    discussion = service()
    mark = text.partition("\n")[0]
    try:
        before = next((one for one in _comments(discussion) if (one.body or "").startswith(mark)), None)
        method, url = ("POST", discussion.comments) if before is None else discussion.change(before)
        _asked(discussion, method, url, msgspec.json.encode({"body": text}))
    except httpx2.HTTPStatusError as error:
        status = error.response.status_code
        if status in _REFUSED:
            lines.warning(f"This job's token may not comment ({status}): give it the permission.")
            return None
        raise CannotComment(f"The service answered {status} to a comment. Run the job again later.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise CannotComment(f"The service cannot be reached to comment: {error or type(error).__name__}.") from None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise CannotComment(f"What the service answers is no list of comments: {error}.") from None
    return discussion.page


def _comments(discussion: Discussion) -> Iterator[_Comment]:
    for page in range(1, _MOST_PAGES + 1):
        answer = _asked(discussion, "GET", f"{discussion.comments}?per_page={_A_PAGE}&page={page}")
        found = _decode(answer)
        yield from found
        if len(found) < _A_PAGE:
            return


def _asked(discussion: Discussion, method: str, url: str, body: bytes | None = None) -> bytes:
    headers = {**discussion.headers, "Content-Type": "application/json", "User-Agent": "parquetry"}
    origin = _origin(httpx2.URL(url))

    def stay(request: httpx2.Request) -> None:
        if _origin(request.url) != origin:  # a token in a header of its own would go along
            raise CannotComment(
                f"The service redirects to {request.url.host}, where the token is not sent. "
                "Set the address of the API that answers itself."
            )

    with httpx2.Client(
        event_hooks={"request": [stay]}, follow_redirects=True, timeout=SECONDS, verify=ssl.create_default_context()
    ) as client:
        return client.request(method, url, content=body, headers=headers).raise_for_status().content


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _given(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise CannotComment(f"{variable} is not set. Run this in the CI job of a pull request, and set it there.")
    return value
