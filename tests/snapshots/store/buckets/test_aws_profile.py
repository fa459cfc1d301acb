"""Credentials for S3 from the files of the AWS tools: which are used, and what is said of those that cannot be."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
pytest.importorskip("botocore", reason="botocore is not installed: pip install 'parquetry[objects]'")

from snapshots.store.buckets.aws_profile import profile
from snapshots.store.durable import StoreError
from snapshots.store.locations import open_objects
from snapshots.store.objects import ABSENT
from snapshots.times import format_datetime, now_ms
from tests.stores.object_stores import BUCKET, ObjectStore, object_store

AWS = ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without any files of AWS, and no settings of this machine's."""
    for name in (*AWS, "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    return tmp_path


def credentials(home: Path, text: str) -> Path:
    path = home / ".aws" / "credentials"
    path.write_text(text)
    return path


def settings(home: Path, text: str) -> Path:
    path = home / ".aws" / "config"
    path.write_text(text)
    return path


def given() -> tuple[str, str, str | None, dict[str, str]]:
    """The key, secret and token in force, and the settings."""
    found = profile()
    assert found is not None
    told = found.credentials()
    return told["access_key_id"], told["secret_access_key"], told["token"], found.config


KEYS = "aws_access_key_id = {0}-id\naws_secret_access_key = {0}-secret\n"


def test_without_files_there_is_no_profile(home: Path) -> None:
    assert profile() is None


def test_the_default_profile_is_used(home: Path) -> None:
    credentials(home, "[default]\n" + KEYS.format("mine"))
    settings(home, "[default]\nregion = eu-central-1\n")
    assert given() == ("mine-id", "mine-secret", None, {"region": "eu-central-1"})


def test_the_profile_that_the_environment_names_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(
        home, "[default]\n" + KEYS.format("mine") + "[work]\n" + KEYS.format("work") + "aws_session_token = t\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert given() == ("work-id", "work-secret", "t", {})


def test_files_may_lie_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(home, "[default]\n" + KEYS.format("other")).rename(home / "mine")
    settings(home, "[default]\nregion = us-west-2\n").rename(home / "config")
    assert profile() is None
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(home / "mine"))
    monkeypatch.setenv("AWS_CONFIG_FILE", "~/config")
    assert given() == ("other-id", "other-secret", None, {"region": "us-west-2"})


def test_a_program_gives_credentials_and_is_asked_again_before_they_end(home: Path) -> None:
    program = home / "give"
    end = format_datetime(now_ms() + 300_000)
    answer = f'{{"Version": 1, "AccessKeyId": "$(wc -l <asked)", "SecretAccessKey": "s", "Expiration": "{end}"}}'
    program.write_text(f'#!/bin/sh\ncd {home}\necho >>asked\necho "{answer.replace(chr(34), chr(92) + chr(34))}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    settings(home, f"[default]\nregion = us-east-1\ncredential_process = {program}\n")
    found = profile()
    assert found is not None
    first, second = (int(found.credentials()["access_key_id"]) for _ in range(2))
    assert second > first
    objects = open_objects("s3+http://127.0.0.1:1/bucket/prefix")
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(StoreError, match=r"custom-process.*Check which credentials are in force"):
        objects.read("acme/current")


@pytest.mark.parametrize(
    ("text", "chosen", "said"),
    [
        ("[default]\naws_access_key_id = only\n", None, "aws_secret_access_key|partial credentials"),
        ("[default\naws_access_key_id = a\n", None, "(?i)parse"),
        ("[default]\n" + KEYS.format("mine"), "nobody", r"\(nobody\) could not be found"),
        ("", "nobody", r"\(nobody\) could not be found"),
    ],
    ids=["half a key", "no file of this kind", "a profile that is not there", "an empty file"],
)
def test_a_profile_that_cannot_be_used_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, text: str, chosen: str | None, said: str
) -> None:
    credentials(home, text)
    if chosen is not None:
        monkeypatch.setenv("AWS_PROFILE", chosen)
    with pytest.raises(StoreError, match=said) as raised:
        profile()
    assert "Check AWS_PROFILE and ~/.aws/config." in str(raised.value)
    assert "mine-secret" not in str(raised.value)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with pytest.raises(StoreError, match=said):
        open_objects(f"s3://{BUCKET}/prefix")


def test_a_file_without_credentials_is_none_of_a_profile(home: Path) -> None:
    settings(home, "[default]\nregion = eu-central-1\n")
    assert profile() is None


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store("any") as running:
        yield running


def test_a_bucket_is_read_and_written_with_a_profile_and_the_environment_goes_first(
    home: Path, server: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials(home, "[work]\n" + KEYS.format("work"))
    settings(home, "[profile work]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    objects = open_objects(server.place())
    objects.replace("acme/current", b"one", ABSENT)
    found = objects.read("acme/current")
    assert found is not None
    assert found.data == b"one"
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    open_objects(server.place()).replace("acme/current", b"two", ABSENT)
