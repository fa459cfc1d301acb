"""Write the e-mail that tells a workspace's owners of a webhook that was given up."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from html import escape
from urllib.parse import urlsplit

from engine.mail.letters import facts_html, facts_text, header_address, one_line, sender_domain, set_letter
from engine.webhooks.endpoint import Endpoint
from snapshots.model import Member, Workspace
from snapshots.times import format_datetime

RECIPIENT = "owner"


def owners(workspace: Workspace) -> list[Member]:
    """Return the members who are told, each address once."""
    return list({one.email.lower(): one for one in workspace.members if one.role == RECIPIENT}.values())


def given_up_letter(workspace: Workspace, endpoint: Endpoint, member: Member, sender: str, now: int) -> EmailMessage:
    """Return the mail that tells an owner of an endpoint that could not be reached. ``now`` is UTC milliseconds.

    Of the URL only the host is told: the rest may be secret. Raises ``ValueError`` for an address that no header can
    hold.
    """
    name, host = one_line(workspace.name), urlsplit(endpoint.url).hostname or ""
    failed = endpoint.attempts[0] if endpoint.attempts else None
    message = EmailMessage(policy=SMTP)
    message["From"] = header_address(f"{name} webhooks", sender)
    message["To"] = header_address(one_line(member.name), member.email)
    message["Subject"] = f"{name}: the webhook to {host} has been disabled"
    message["Date"] = datetime.fromtimestamp(now // 1000, UTC)
    message["Message-ID"] = _message_id(workspace, endpoint, member, sender)
    message["Auto-Submitted"] = "auto-generated"
    greeting = f"Hello {one_line(member.name)},"
    news = f"The webhook of {name} to {host} could not be delivered, and has been disabled."
    effect = (
        "It was tried ten times over more than three days. The receiver gets no further events: pages that "
        "depend on it are not updated."
    )
    facts = [
        ("Workspace", name),
        ("Webhook", endpoint.id),
        ("Host", host),
        ("Last attempt", "-" if failed is None else format_datetime(failed.at)),
        ("Problem", "-" if failed is None else failed.refusal or "-"),
    ]
    advice = (
        "Once the receiver works again, enable the webhook. It is then told at once of everything that changed "
        "in the meantime: nothing is lost."
    )
    command = f"cms webhook enable {endpoint.id} -w {workspace.id}"
    removal = f"cms webhook delete {endpoint.id} -w {workspace.id}"
    reason = f"You are receiving this e-mail because you are an owner of {name}."
    set_letter(
        message,
        [greeting, news, effect, facts_text(facts), advice, f"    {command}", "No longer needed?", f"    {removal}"],
        [
            f"<p>{escape(greeting)}</p>",
            f"<p><strong>{escape(news)}</strong><br>{escape(effect)}</p>",
            facts_html(facts),
            f"<p>{escape(advice)}</p>",
            f'<p style="margin:24px 0"><code>{escape(command)}</code></p>',
            f"<p>No longer needed? <code>{escape(removal)}</code></p>",
        ],
        reason,
    )
    return message


def _message_id(workspace: Workspace, endpoint: Endpoint, member: Member, sender: str) -> str:
    # Mail programs show two mails with one Message-ID once.
    stopped_at = endpoint.stopped.at if endpoint.stopped is not None else 0
    said = "\n".join((workspace.id, endpoint.id, str(stopped_at), member.email.lower()))
    return f"<webhook-given-up.{hashlib.sha256(said.encode()).hexdigest()[:32]}@{sender_domain(sender)}>"
