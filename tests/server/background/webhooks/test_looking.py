"""The sender looks at webhooks.json while it tells: what it reads of an endpoint may be out of date by then."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from engine.webhooks.dispatcher import Dispatcher
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from server.background.served import KeptWorkspaces
from server.background.webhooks.sender import WebhookSending
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.mail_watch import MailWatch
from server.states.states import States
from snapshots.times import now_ms
from tests.server.background.webhooks.test_sender import add, endpoint_of
from tests.servers.webhook_receiver import Reply, receiver
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually


@contextmanager
def sending(site: Site) -> Iterator[None]:
    """Send the site's webhooks in this process, as its keeper does."""
    sender = WebhookSending(
        site.store,
        site.store,
        KeptWorkspaces(site.store, None, now_ms),
        holds=lambda: True,
        readers=1,
        allow_loopback=True,
        smtp_url=None,
        states=(states := States("keeper", steady_ms)),
        watch=MailWatch(None, states),
        metrics=None,
        clock=now_ms,
    )
    sender.start()
    yield
    sender.stop()


@pytest.mark.slow
def test_an_outcome_that_comes_while_the_file_is_read_is_not_overlooked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path)
    site.publish("first")
    telling: list[str] = []
    deliver, read = Dispatcher.deliver, WebhooksFile.read
    overtaken = threading.Event()

    def noted(dispatcher: Dispatcher, *arguments: Any) -> Any:
        telling.append("one")
        try:
            return deliver(dispatcher, *arguments)
        finally:
            telling.pop()

    def overtaken_read(file: WebhooksFile) -> Endpoints:
        content = read(file)
        if threading.current_thread().name == "webhooks" and telling:
            deadline = time.monotonic() + 60
            while telling and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.1)  # until the thread that told has ended, too
            overtaken.set()
        return content

    monkeypatch.setattr(Dispatcher, "deliver", noted)
    monkeypatch.setattr(WebhooksFile, "read", overtaken_read)
    with receiver(tmp_path) as hooked:
        monkeypatch.setenv("SSL_CERT_FILE", str(hooked.ca))
        hooked.reply = lambda _: Reply(wait=1.5)  # longer than the pause between two looks
        add(site, hooked.url())
        with TestClient(quiet_app(Settings(store=str(site.store.root)))), sending(site):
            site.publish("second")
            assert overtaken.wait(60)
            site.publish("third")
            eventually(lambda: len({one.headers["webhook-id"] for one in hooked.received}) == 2)
            eventually(lambda: endpoint_of(site).pending is None)
        assert len(hooked.received) == 2, "each event was accepted once"
