"""Settings of the server: flags before the environment before defaults, and no secret in the log."""

from __future__ import annotations

import sys
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
        ({}, {"CMS_SMTP_URL": "smtp://cms:ge/heim@mail"}, 'CMS_SMTP_URL: "smtp://***" cannot be used: it is not a URL'),
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


def test_a_shared_limit_names_the_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(InvalidSetting, match=r"pip install 'parquetry\[redis\]'"):
        read_settings({"store": "s"}, {"CMS_RATE_LIMIT_URL": "redis://host"})


PROVIDER = {
    "CMS_OIDC_ISSUER": "https://accounts.example",
    "CMS_OIDC_CLIENT_ID": "console",
    "CMS_OIDC_CLIENT_SECRET": "geheim",
}
CONSOLE = {"CMS_CONSOLE": "1", "CMS_PUBLIC_URL": "https://acme.example"}


def test_a_provider_of_openid_connect() -> None:
    found = read_settings({"store": "s"}, {**CONSOLE, **PROVIDER})
    assert found.oidc is not None
    assert (found.oidc.name, found.oidc.verified_claim) == ("accounts.example", "email_verified")
    assert describe(found)["oidc_client_secret"] == "***"
    assert "geheim" not in str(describe(found))
    more = {"CMS_OIDC_NAME": "Acme", "CMS_OIDC_VERIFIED_CLAIM": "xms_edov"}
    found = read_settings({"store": "s"}, {**CONSOLE, **PROVIDER, **more})
    assert found.oidc is not None
    assert (found.oidc.name, found.oidc.verified_claim) == ("Acme", "xms_edov")
    for issuer in ("http://127.0.0.1:8080/x", "http://[::1]:80", "http://localhost", "https://acme.example/realms/x/"):
        assert read_settings({"store": "s"}, {"CMS_OIDC_ISSUER": issuer}).oidc_issuer == issuer
    assert read_settings({"store": "s"}, CONSOLE).oidc is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"CMS_OIDC_CLIENT_SECRET": ""}, "CMS_OIDC_ISSUER and CMS_OIDC_CLIENT_ID: there is no CMS_OIDC_CLIENT_SECRET."),
        ({"CMS_OIDC_ISSUER": ""}, "CMS_OIDC_CLIENT_ID and CMS_OIDC_CLIENT_SECRET: there is no CMS_OIDC_ISSUER."),
        ({"CMS_PUBLIC_URL": ""}, "CMS_OIDC_ISSUER: there is no CMS_PUBLIC_URL. Set it to the address that browsers"),
        ({"CMS_OIDC_ISSUER": "http://acme.example"}, "a provider has to be at an https address"),
        ({"CMS_OIDC_ISSUER": "http://localhost.acme.example"}, "a provider has to be at an https address"),
        ({"CMS_OIDC_ISSUER": "ftp://localhost"}, "a provider has to be at an https address"),
        ({"CMS_OIDC_ISSUER": "acme.example"}, "give the provider's issuer, for example https://accounts.google.com"),
        ({"CMS_OIDC_ISSUER": "https://a:geheim@b"}, '"https://a:***@b" cannot be used: give the provider\'s issuer'),
        ({"CMS_OIDC_ISSUER": "https://acme.example?x"}, "give the provider's issuer"),
        ({"CMS_OIDC_ISSUER": "https://[geheim"}, "give the provider's issuer"),
        ({"CMS_OIDC_CLIENT_ID": "a b"}, "without spaces"),
        ({"CMS_OIDC_CLIENT_SECRET": "gehe im"}, 'CMS_OIDC_CLIENT_SECRET: "***" cannot be used'),
        ({"CMS_OIDC_CLIENT_SECRET": "geheim\n"}, 'CMS_OIDC_CLIENT_SECRET: "***" cannot be used'),
        ({"CMS_OIDC_NAME": " "}, "give a name of 1 to 60 characters"),
        ({"CMS_OIDC_VERIFIED_CLAIM": "a b"}, "give the name of a claim"),
    ],
)
def test_a_provider_that_cannot_be_used(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        read_settings({"store": "s"}, {**CONSOLE, **PROVIDER, **given})
    assert message in str(raised.value)
    assert "heim" not in str(raised.value)
    assert "gehe" not in str(raised.value)


@pytest.mark.parametrize("package", ["authlib", "joserfc"])
def test_a_provider_names_the_packages_it_needs(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidSetting, match=r"pip install 'parquetry\[oidc\]'"):
        read_settings({"store": "s"}, {**CONSOLE, **PROVIDER})


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
