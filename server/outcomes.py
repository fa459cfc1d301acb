"""How requests ended: the one place that every answered request passes, whichever way it was answered."""

from __future__ import annotations

from server.access_log import AccessLog


class Outcomes:
    """Tells the access log of every request. Page views are none of these: they are told by their counts."""

    def __init__(self, access_log: AccessLog) -> None:
        self._access_log = access_log

    def record(
        self,
        method: str,
        target: str,
        status: int,
        seconds: float,
        size: int,
        workspace: str | None,
        key_prefix: str | None,
    ) -> None:
        """Note one request: its path and query from ``logged_target``, the ``seconds`` it took, and the body's bytes.

        To be called on the event loop.
        """
        self._access_log.record(method, target, status, seconds * 1000, size, workspace, key_prefix)
