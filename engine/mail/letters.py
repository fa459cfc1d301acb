"""The pieces of letters to people: addresses in headers, and paragraphs as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from html import escape


def one_line(text: str) -> str:
    """A name as a header may hold it, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def header_address(name: str, address: str) -> Address:
    """A name and an address for a header. Raises ``ValueError`` for an address that no header can hold."""
    try:
        return Address(name, addr_spec=address)
    except (MessageError, ValueError, IndexError):
        raise ValueError(f"{address!r} is not an address that mail can be sent to or from") from None


def sender_domain(sender: str) -> str:
    """The domain of a sender's address in ASCII, for a Message-ID."""
    domain = sender.rpartition("@")[2]
    return domain if domain.isascii() else domain.encode("idna").decode("ascii")


def facts_text(facts: Sequence[tuple[str, str]]) -> str:
    """Labels and their values as a paragraph of plain text."""
    return "\n".join(f"    {label + ':':13}{value}" for label, value in facts)


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Labels and their values as a table in HTML."""
    rows = "".join(
        f'<tr><td style="padding:2px 20px 2px 0;color:#777">{label}</td><td>{escape(value)}</td></tr>'
        for label, value in facts
    )
    return f'<table style="border-collapse:collapse;margin:20px 0">{rows}</table>'


def button(url: str, label: str) -> str:
    """A link as HTML that looks like a button."""
    return (
        f'<p style="margin:24px 0"><a href="{escape(url)}" style="display:inline-block;padding:10px 18px;'
        f'border-radius:6px;background:#1f5fd6;color:#fff;text-decoration:none">{escape(label)}</a></p>'
    )


def set_letter(message: EmailMessage, text: Sequence[str], html: Sequence[str], reason: str) -> None:
    """Give a mail its content: the paragraphs of its plain ``text`` and the same as ``html``, and the ``reason`` why
    somebody gets it at the end of both."""
    message.set_content("\n\n".join([*text, f"-- \n{reason}"]) + "\n", cte="quoted-printable")
    page = _HTML.format(title=escape(str(message["Subject"])), body="\n".join(html), reason=escape(reason))
    message.add_alternative(page, subtype="html", cte="quoted-printable")


_HTML = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div style="max-width:34em">
{body}
<p style="margin-top:32px;font-size:13px;color:#777">{reason}</p>
</div>
</body>
</html>
"""
