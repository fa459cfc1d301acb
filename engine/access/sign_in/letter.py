"""Write the e-mail with the link by which a member signs in to the console."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import make_msgid
from html import escape

from engine.mail.letters import button, header_address, one_line, sender_domain, set_letter


def sign_in_letter(workspace: str, name: str, address: str, url: str, sender: str, now: int) -> EmailMessage:
    """The mail with a one-time link, to the member called ``name`` of the workspace called ``workspace``.

    ``now`` is UTC milliseconds. Raises ``ValueError`` for an address that no header can hold.
    """
    title, person = one_line(workspace), one_line(name)
    message = EmailMessage(policy=SMTP)
    message["From"] = header_address(f"{title} console", sender)
    message["To"] = header_address(person, address)
    message["Subject"] = f"Sign in to the console of {title}"
    message["Date"] = datetime.fromtimestamp(now // 1000, UTC)
    message["Message-ID"] = make_msgid("sign-in", sender_domain(sender))
    message["Auto-Submitted"] = "auto-generated"
    greeting = f"Hello {person},"
    news = "open this link in the browser that you requested it from, and press the button there:"
    bounds = "It works once, within 15 minutes, and only in that browser."
    otherwise = "You did not request it? Then there is nothing to do: nobody else can use the link."
    reason = (
        "You are receiving this e-mail because somebody entered your address on the sign-in page, and you are a member "
        f"of {title}."
    )
    set_letter(
        message,
        [greeting, news, f"    {url}", bounds, otherwise],
        [
            f"<p>{escape(greeting)}</p>",
            f"<p>{escape(news)}</p>",
            button(url, "Sign in"),
            f"<p>{escape(bounds)}</p>",
            f"<p>{escape(otherwise)}</p>",
        ],
        reason,
    )
    return message
