"""``cms key notify``: send the expiry e-mails that are due, and print a line about each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import ChosenWorkspace, choose_workspace, nearest_workspace, store_at
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.access.expiry.notices import DueMail, Round
    from engine.mail.mail_server import MailServer
    from snapshots.model import Workspace
    from snapshots.store.store import WorkspaceStore


@dataclass(frozen=True, slots=True)
class Notice:
    """One e-mail and its outcome: ``due``, ``sent`` or ``refused``."""

    workspace: Workspace
    mail: DueMail
    status: str
    reason: str | None = None

    def document(self) -> dict[str, object]:
        """Return the notice as ``--json`` prints it."""
        from engine.access.expiry.letter import edit_url

        key = self.mail.key
        return {
            "workspace": self.workspace.id,
            "prefix": key.prefix,
            "name": key.name,
            "until": self.mail.until.isoformat(),
            "to": self.mail.member.email,
            "url": edit_url(self.workspace, key),
            "status": self.status,
            "message": self.reason,
        }


def notify(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the e-mails that are due.")] = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Send the expiry e-mails that are due.

    Every owner and maintainer gets one seven days before a key expires. A running server does this once an hour; with
    cron, once a day is enough. CMS_SMTP_URL names the mail server. Without -w and outside a workspace, the command
    covers all workspaces of the store.
    """
    server = None if dry_run else _mail_server()
    notices: list[Notice] = []
    failed = False
    for chosen in _chosen_workspaces(store, workspace_id):
        try:
            notices += _due(chosen) if server is None else _sent(chosen, server)
        except ParquetryError as error:  # the other workspaces have their turn all the same
            lines.failure(f"{chosen.workspace_store.id}: {error}")
            failed = True
    if json:
        documents.write_json([notice.document() for notice in notices])
    elif notices:
        rows = [
            (one.mail.key.prefix, one.workspace.id, str(one.mail.until), one.mail.member.email, one.status)
            for one in notices
        ]
        tables.table(("KEY", "WORKSPACE", "EXPIRES", "TO", "STATUS"), rows, whole=("KEY", "EXPIRES", "STATUS"))
    elif not failed:
        lines.message("No expiry e-mail is due.")
    for reason in dict.fromkeys(notice.reason for notice in notices if notice.reason):
        lines.failure(reason)
    if failed or any(notice.status == "refused" for notice in notices):
        raise typer.Exit(1)


def _chosen_workspaces(location: str | None, workspace_id: str | None) -> list[ChosenWorkspace]:
    if workspace_id is None and nearest_workspace() is None:
        store = store_at(location, None)
        return [
            ChosenWorkspace(store, workspace_store, None)
            for workspace_store in map(store.workspace, store.workspaces())
            if _is_in_use(workspace_store)
        ] or [choose_workspace(location, None)]
    return [choose_workspace(location, workspace_id)]


def _is_in_use(workspace_store: WorkspaceStore) -> bool:
    """Whether a version is current, or that cannot be told, which is a failure of this workspace alone."""
    from snapshots.store.document import DamagedDocument

    try:
        return workspace_store.current() is not None
    except DamagedDocument:
        return True


def _due(chosen: ChosenWorkspace) -> Iterator[Notice]:
    from engine.access.expiry.ledger import LedgerFile
    from engine.access.expiry.notices import due_mails
    from engine.access.keys.access import AccessFile

    workspace = chosen.workspace()
    access = AccessFile(chosen.workspace_store).read()
    ledger = LedgerFile(chosen.workspace_store).read()
    for mail in due_mails(workspace, access.keys if access else (), ledger, now_ms()):
        yield Notice(workspace, mail, "due")


def _mail_server() -> MailServer:
    from engine.mail.mail_server import parse_mail_server
    from engine.mail.mailer import MailServerError

    url = os.environ.get("CMS_SMTP_URL")
    if not url:
        raise MailServerError(
            "No mail server is known. Set CMS_SMTP_URL, for example to smtp://user:password@mail.example:587."
        )
    return parse_mail_server(url)


def _sent(chosen: ChosenWorkspace, server: MailServer) -> Iterator[Notice]:
    from engine.access.expiry.ledger import LedgerFile
    from engine.access.expiry.notices import send_due_mails
    from engine.mail.mailer import Mailer

    workspace = chosen.workspace()
    with Mailer(server) as mailer:
        done = send_due_mails(workspace, LedgerFile(chosen.workspace_store), mailer, now_ms(), now_ms)
    _warn(workspace, done)
    for mail in done.sent:
        yield Notice(workspace, mail, "sent")
    for mail, reason in done.refused:
        yield Notice(workspace, mail, "refused", f"{workspace.id}, to {mail.member.email}: {reason}")


def _warn(workspace: Workspace, done: Round) -> None:
    for lost, record in done.given_up:
        lines.warning(
            f"{workspace.id}: gave up telling {lost.address} that key {lost.key} expired on {lost.until}: "
            f"{record.refusal or 'the process ended each time'}"
        )
    for key in done.unheard:
        lines.warning(
            f"{workspace.id}: key {key.prefix} expires soon, and nobody gets an e-mail: workspace.yaml names no owner "
            "or maintainer under `members`."
        )
