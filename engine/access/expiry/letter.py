"""Write the e-mail that tells a person of a key that is about to expire, in plain text and HTML (contract 6)."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from email.message import EmailMessage
from email.policy import SMTP
from html import escape

from engine.access.keys.keys import Key
from engine.mail.letters import button, facts_html, facts_text, header_address, one_line, sender_domain, set_letter
from snapshots.model import Member, Workspace

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def edit_url(workspace: Workspace, key: Key) -> str | None:
    """The address of a key's edit screen (contract 6.2), ``None`` where the workspace names no dashboard."""
    if workspace.dashboard_url is None:
        return None
    return f"{workspace.dashboard_url}/{workspace.id}/settings/api-keys/{key.id}/validity"


def expiry_letter(
    workspace: Workspace, key: Key, until: date, member: Member, today: date, sender: str, now: int
) -> EmailMessage:
    """The mail that tells one member of a key's last day ``until`` (contract 6).

    ``today`` is a day of the workspace's time zone; a mail that comes too late says so. ``now`` is UTC milliseconds.
    The same mail always has the same Message-ID. Raises ``ValueError`` for an address that no header can hold.
    """
    days = (until - today).days
    name, key_name = one_line(workspace.name), one_line(key.name)
    message = EmailMessage(policy=SMTP)
    message["From"] = header_address(f"{name} API keys", sender)
    message["To"] = header_address(one_line(member.name), member.email)
    message["Subject"] = f"{name}: the API key “{key_name}” {_when(days)}"
    message["Date"] = datetime.fromtimestamp(now // 1000, UTC)
    message["Message-ID"] = _message_id(workspace, key, until, member, sender)
    message["Auto-Submitted"] = "auto-generated"
    greeting = f"Hello {one_line(member.name)},"
    news = f"The API key “{key_name}” of {name} {_when(days)}."
    last = f"{_WEEKDAYS[until.weekday()]}, {until.day} {_MONTHS[until.month - 1]} {until.year}"
    if days >= 0:
        effect = (
            f"It works through the end of {last} ({workspace.timezone}). After that, applications using it get an "
            "authentication error."
        )
    else:
        effect = (
            f"Its last day was {last} ({workspace.timezone}). Applications using it get an authentication error now. "
            "Sorry that we could not reach you earlier."
        )
    facts = [
        ("Workspace", name),
        ("Key", key_name),
        ("Begins with", key.prefix),
        ("Expiry date", until.isoformat()),
    ]
    advice = (
        "Still needed? Choose a new validity period. The key itself stays the same, so there is nothing to change in "
        "your applications."
    )
    otherwise = "No longer needed? Then there is nothing to do."
    reason = f"You are receiving this e-mail because you are {_article(member.role)} {member.role} of {name}."
    url = edit_url(workspace, key)
    command = f"cms key edit {key.prefix} --validity 90d -w {workspace.id}"
    actions = (
        [f"    {command}"] if url is None else [f"    {url}", f"Or, on the machine with the store:\n\n    {command}"]
    )
    code = f"<code>{escape(command)}</code>"
    set_letter(
        message,
        [greeting, news, effect, facts_text(facts), advice, *actions, otherwise],
        [
            f"<p>{escape(greeting)}</p>",
            f"<p><strong>{escape(news)}</strong><br>{escape(effect)}</p>",
            facts_html(facts),
            f"<p>{escape(advice)}</p>",
            f'<p style="margin:24px 0">{code}</p>'
            if url is None
            else f"{button(url, 'Choose a new period')}\n<p>Or, on the machine with the store: {code}</p>",
            f"<p>{escape(otherwise)}</p>",
        ],
        reason,
    )
    return message


def _when(days: int) -> str:
    if days < 0:
        return "has expired"
    if days < 2:
        return "expires tomorrow" if days else "expires today"
    return f"expires in {days} days"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _message_id(workspace: Workspace, key: Key, until: date, member: Member, sender: str) -> str:
    # Mail programs show two mails with one Message-ID once.
    said = "\n".join((workspace.id, key.id, until.isoformat(), member.email.lower()))
    return f"<key-expiry.{hashlib.sha256(said.encode()).hexdigest()[:32]}@{sender_domain(sender)}>"
