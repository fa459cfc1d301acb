"""Settings of the server: flags before the environment before defaults, and no secret in the log."""

from __future__ import annotations

from dataclasses import fields

import pytest

from server.settings import TABLE, InvalidSetting, Settings, describe, masked, read_settings
from tests.project.test_docs import tables


def test_precedence() -> None:
    environment = {"CMS_STORE": "/env", "CMS_PORT": "1234", "CMS_WORKERS": "", "CMS_LOG_FORMAT": "json"}
    found = read_settings({"store": "/flag", "port": None}, environment)
    assert (found.store, found.port, found.workers, found.log_format) == ("/flag", 1234, 1, "json")
    assert read_settings({"port": 0}, environment).port == 0
    assert read_settings({"store": "s"}, {}) == Settings("s")


def test_every_setting_has_its_row() -> None:
    assert [setting.name for setting in TABLE] == [field.name for field in fields(Settings)]
    assert len({setting.variable for setting in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({}, {}, "No store is given"),
        ({"port": "http"}, {}, '--port: "http" cannot be used: give a whole number from 0 to 65535'),
        ({"port": "65536"}, {}, "--port"),
        ({"port": "-1"}, {}, "--port"),
        ({"port": "１"}, {}, "--port"),
        ({"workers": 0}, {}, "--workers"),
        ({}, {"CMS_PORT": "99999999999"}, "CMS_PORT"),
        ({}, {"CMS_LOG_FORMAT": "xml"}, 'CMS_LOG_FORMAT: "xml" cannot be used: give text or json'),
        ({}, {"CMS_REQUEST_SECONDS": "nan"}, "CMS_REQUEST_SECONDS"),
        ({}, {"CMS_REQUEST_SECONDS": "0"}, "CMS_REQUEST_SECONDS"),
        ({}, {"CMS_MEMORY": "lots"}, 'CMS_MEMORY: "lots" cannot be used: give megabytes or gigabytes'),
        ({"host": ""}, {}, "--host"),
        (
            {},
            {"CMS_SMTP_URL": "smtp:cms:geheim@mail"},
            'CMS_SMTP_URL: "***" cannot be used: write smtp://user:password@',
        ),
        ({}, {"CMS_SMTP_URL": "smtp://cms:ge/heim@mail"}, 'CMS_SMTP_URL: "smtp://***" cannot be used: it is no URL'),
        (
            {},
            {"CMS_SMTP_URL": "smtp://cms:geheim@mail?ssl=no"},
            'CMS_SMTP_URL: "smtp://cms:***@mail?***" cannot be used',
        ),
        ({}, {"CMS_RATE_LIMIT_URL": "http://host"}, 'CMS_RATE_LIMIT_URL: "http://host" cannot be used: give a URL'),
        ({}, {"CMS_RATE_LIMIT_URL": "redis://"}, "CMS_RATE_LIMIT_URL"),
        ({}, {"CMS_RATE_LIMIT_URL": "redis://host:geheim"}, "CMS_RATE_LIMIT_URL"),
        ({}, {"CMS_RATE_LIMIT_URL": "unix://"}, "CMS_RATE_LIMIT_URL"),
        ({}, {"CMS_RATE_LIMIT_URL": "valkey://[geheim"}, "valkey://***"),
    ],
)
def test_refused(flags: dict[str, object], environment: dict[str, str], message: str) -> None:
    store = {} if message.startswith("No store") else {"store": "s"}
    with pytest.raises(InvalidSetting) as raised:
        read_settings({**store, **flags}, environment)
    assert message in str(raised.value)
    assert "heim" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/var/lib/cms", "/var/lib/cms"),
        ("s3://bucket/path", "s3://bucket/path"),
        ("s3://id:geheim@host:9000/bucket?token=geheim#geheim", "s3://id:***@host:9000/bucket?***"),
        ("redis://:geheim@host/0", "redis://:***@host/0"),
        ("redis://a:geheim@b:geheim@host/0", "redis://a:***@host/0"),
        ("s3://[geheim", "s3://***"),
        ("smtp://a:geheim/b@host", "smtp://***"),
        ("smtp://a:1?geheim@host", "smtp://***"),
        ("smtp://a:#geheim@host", "smtp://***"),
        ("a:geheim@host", "***"),
    ],
)
def test_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert "geheim" not in str(describe(Settings(text)))


def test_the_operators_page_lists_every_setting() -> None:
    rows = list(tables("operators.md", "variable", "flag", "default", "meaning"))
    assert [(variable, flag, meaning) for variable, flag, _, meaning in rows] == [
        (setting.variable, setting.flag or "", setting.meaning) for setting in TABLE
    ]
