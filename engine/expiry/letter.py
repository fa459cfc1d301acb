"""A key that is about to expire and a person → the e-mail to that person, in plain text and in HTML (contract 6)."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from html import escape

from engine.keys.keys import Key
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
    name, key_name = _one_line(workspace.name), _one_line(key.name)
    message = EmailMessage(policy=SMTP)
    message["From"] = _address(f"{name} API keys", sender)
    message["To"] = _address(_one_line(member.name), member.email)
    message["Subject"] = f"{name}: the API key “{key_name}” {_when(days)}"
    message["Date"] = datetime.fromtimestamp(now // 1000, UTC)
    message["Message-ID"] = _message_id(workspace, key, until, member, sender)
    message["Auto-Submitted"] = "auto-generated"
    greeting = f"Hello {_one_line(member.name)},"
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
            "We could not reach you earlier, sorry."
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
    otherwise = "Not needed any more? Then there is nothing to do."
    reason = f"You get this mail because you are {_article(member.role)} {member.role} of {name}."
    url = edit_url(workspace, key)
    command = f"cms key edit {key.prefix} --validity 90d -w {workspace.id}"
    message.set_content(
        "\n\n".join(
            [
                greeting,
                news,
                effect,
                "\n".join(f"    {label + ':':13}{value}" for label, value in facts),
                advice,
                f"    {url or command}",
                otherwise,
                f"-- \n{reason}",
            ]
        )
        + "\n",
        cte="quoted-printable",
    )
    message.add_alternative(
        _HTML.format(
            title=escape(str(message["Subject"])),
            greeting=escape(greeting),
            news=escape(news),
            effect=escape(effect),
            facts="".join(
                f'<tr><td style="padding:2px 20px 2px 0;color:#777">{label}</td><td>{escape(value)}</td></tr>'
                for label, value in facts
            ),
            advice=escape(advice),
            action=_button(url) if url else f'<p style="margin:24px 0"><code>{escape(command)}</code></p>',
            otherwise=escape(otherwise),
            reason=escape(reason),
        ),
        subtype="html",
        cte="quoted-printable",
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


def _one_line(text: str) -> str:
    """A name as a header may hold it, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _address(name: str, address: str) -> Address:
    try:
        return Address(name, addr_spec=address)
    except (MessageError, ValueError, IndexError):
        raise ValueError(f"{address!r} is no address that mail can be sent to or from") from None


def _message_id(workspace: Workspace, key: Key, until: date, member: Member, sender: str) -> str:
    # Mail programs show two mails with one Message-ID once.
    said = "\n".join((workspace.id, key.id, until.isoformat(), member.email.lower()))
    domain = sender.rpartition("@")[2]
    if not domain.isascii():
        domain = domain.encode("idna").decode("ascii")
    return f"<key-expiry.{hashlib.sha256(said.encode()).hexdigest()[:32]}@{domain}>"


def _button(url: str) -> str:
    return (
        f'<p style="margin:24px 0"><a href="{escape(url)}" style="display:inline-block;padding:10px 18px;'
        'border-radius:6px;background:#1f5fd6;color:#fff;text-decoration:none">Choose a new period</a></p>'
    )


_HTML = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div style="max-width:34em">
<p>{greeting}</p>
<p><strong>{news}</strong><br>{effect}</p>
<table style="border-collapse:collapse;margin:20px 0">{facts}</table>
<p>{advice}</p>
{action}
<p>{otherwise}</p>
<p style="margin-top:32px;font-size:13px;color:#777">{reason}</p>
</div>
</body>
</html>
"""
