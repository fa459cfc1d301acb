"""Letters to owners about a webhook that was given up: each owner gets one, and none is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.mail.mailer import MailServerError
from engine.webhooks.endpoint import EndpointState, Stop
from engine.webhooks.webhooks_file import WebhooksFile
from server.background.webhooks.owners import AGAIN_MS, PATIENCE_MS, OwnersMail
from server.states.mail_watch import MailWatch
from server.states.states import States
from snapshots.model import Member
from tests.server.background.webhooks.test_sender import add, endpoint_of
from tests.servers.mail_server import MailServer, mail_server
from tests.sites.served_site import Site

NOW = 1_800_000_000_000


class Owners:
    """A workspace with two owners and a webhook that was given up, and whoever writes to them."""

    def __init__(self, root: Path, url: str) -> None:
        self.site = Site(root)
        self.site.publish("first")
        self.file = WebhooksFile(self.site.store.objects, self.site.place.id)
        add(self.site, "https://hooks.example/")
        stopped = Stop(EndpointState.GIVEN_UP, NOW, told=False)
        self.file.edit(lambda found: (tuple(replace(one, stopped=stopped) for one in found), None))
        manifest = self.site.place.manifest(self.site.place.versions()[-1])
        people = tuple(Member(name, f"{name}@acme.example", "owner") for name in ("anna", "ben"))
        self.workspace = replace(manifest.workspace, members=people)
        self.now = NOW
        self.states = States("keeper", lambda: self.now)
        self.watch = MailWatch(url, self.states)
        self.mail = OwnersMail(url, lambda: self.now, self.watch)

    def notify(self) -> bool:
        return self.mail.notify(self.workspace, self.file, endpoint_of(self.site))

    @property
    def is_noted(self) -> bool:
        stopped = endpoint_of(self.site).stopped
        return stopped is not None and stopped.told

    @property
    def is_wrong(self) -> bool:
        return bool(self.states.troubles())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("mail")) as running:
        yield running


@pytest.fixture
def smtp(server: MailServer) -> Iterator[MailServer]:
    yield server
    server.refuse()
    for mail in server.folder.glob("mail-*"):
        mail.unlink()


def test_a_letter_that_is_refused_is_tried_again_and_the_others_come_once(smtp: MailServer, tmp_path: Path) -> None:
    owners = Owners(tmp_path, smtp.url())
    smtp.refuse("anna@acme.example")
    assert not owners.notify()
    assert smtp.recipients() == ["ben@acme.example"]
    assert owners.is_wrong
    assert not owners.is_noted
    smtp.refuse()
    owners.now += AGAIN_MS
    assert owners.notify()
    assert smtp.recipients() == ["anna@acme.example", "ben@acme.example"]
    assert owners.is_noted
    owners.mail.wait_only_for(())
    assert not owners.is_wrong


def test_a_letter_that_is_never_taken_is_given_up_after_a_week(smtp: MailServer, tmp_path: Path) -> None:
    owners = Owners(tmp_path, smtp.url())
    smtp.refuse("anna@acme.example", "ben@acme.example")
    owners.now += PATIENCE_MS - 1
    assert not owners.notify()
    owners.now += 1
    assert owners.notify()
    assert owners.is_noted


def test_nobody_is_told_twice_by_a_server_that_goes_away_in_between(tmp_path: Path) -> None:
    with mail_server(tmp_path / "mail") as smtp:
        owners = Owners(tmp_path, smtp.url())
        smtp.refuse("ben@acme.example")
        assert not owners.notify()
        smtp.stop()
        with pytest.raises(MailServerError):
            owners.notify()
        assert owners.is_wrong
        assert smtp.recipients() == ["anna@acme.example"]


def test_an_endpoint_that_is_gone_leaves_nothing_wrong(smtp: MailServer, tmp_path: Path) -> None:
    owners = Owners(tmp_path, smtp.url())
    smtp.refuse("anna@acme.example")
    assert not owners.notify()
    owners.mail.wait_only_for({endpoint_of(owners.site).id})
    assert owners.is_wrong
    owners.mail.wait_only_for(())
    assert not owners.is_wrong
