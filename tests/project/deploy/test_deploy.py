"""``deploy/``: every file is one that its own tool accepts, with settings, metrics and addresses that there are."""

from __future__ import annotations

import re
import shlex
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from cli.commands import OF_COMMANDS
from server.settings import TABLE, read_settings
from server.states.rules import alert_rules, documented_rows
from tests.project.test_docs import tables
from tests.servers.ports import free_port
from tests.sites.served_site import Site, eventually, serving

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
VARIABLES = {setting.variable for setting in TABLE} | OF_COMMANDS


def assignments(text: str) -> dict[str, str]:
    """Return what the file of settings says to a shell and to systemd, also in lines that are commented out."""
    found = re.findall(r"^(?:# )?([A-Z_]+)=(.+)$", text, re.MULTILINE)
    return {name: "".join(shlex.split(value)) for name, value in found}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze on this machine")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("parquetry", "cms serve"),
        ("parquetry@", "cms serve --port %i"),
        ("parquetry-prune", "cms snapshot prune --all-workspaces"),
        ("parquetry-backup", "cms backup /mnt/backup/parquetry"),
    ],
)
def test_systemd_accepts_the_unit(tmp_path: Path, name: str, command: str) -> None:
    unit = tmp_path / f"{name}.service"
    text = (DEPLOY / unit.name).read_text()
    assert text.count(f"/opt/parquetry/bin/{command}\n") == 1
    unit.write_text(text.replace("/opt/parquetry/bin/cms", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    about_it = [line for line in done.stderr.splitlines() if "parquetry" in line]
    assert (done.returncode, about_it) == (0, [])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze on this machine")
@pytest.mark.parametrize("timer", ["parquetry-prune", "parquetry-backup"])
def test_systemd_accepts_the_timer(tmp_path: Path, timer: str) -> None:
    for name in (f"{timer}.service", f"{timer}.timer"):
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/parquetry/bin/cms", sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / f"{timer}.timer")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "parquetry" in line]) == (0, [])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze on this machine")
def test_systemd_accepts_the_socket_of_the_server(tmp_path: Path) -> None:
    for name in ("parquetry.service", "parquetry.socket"):
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/parquetry/bin/cms", sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "parquetry.socket")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "parquetry" in line]) == (0, [])
    settings = read_settings({}, assignments((DEPLOY / "parquetry.env").read_text()))
    assert f"\nListenStream={settings.host}:{settings.port}\n" in (DEPLOY / "parquetry.socket").read_text()


def test_the_units_of_one_server_and_of_several_differ_in_the_port_alone() -> None:
    one, several = ((DEPLOY / f"parquetry{name}.service").read_text().partition("[Unit]")[2] for name in ("", "@"))
    added = [line for line in several.splitlines() if line not in one.splitlines() and not line.startswith("#")]
    assert [line.partition("=")[0] for line in added] == [
        "Description",
        "EnvironmentFile",
        "ExecStart",
        "ExecStartPost",
    ]
    assert all("%i" in line for line in added[:3])


def test_the_settings_of_the_unit_are_ones_the_server_takes() -> None:
    found = assignments((DEPLOY / "parquetry.env").read_text())
    assert found.keys() <= VARIABLES
    settings = read_settings({}, found)
    assert settings.log_format == "json"
    assert settings.metrics == found["CMS_METRICS"]


def test_the_recipe_sets_what_there_is_and_copies_what_it_needs() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    found = dict(re.findall(r"\b(CMS_[A-Z_]+)=(\S+)", text))
    assert found.keys() <= VARIABLES
    settings = read_settings({}, found)
    assert f"EXPOSE {settings.port}" in text
    assert settings.host == "0.0.0.0"
    assert f'VOLUME ["{settings.store}", "{settings.cache}"]' in text
    left_out = (ROOT / ".dockerignore").read_text().split()
    needed = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "cli", "engine", "server", "snapshots")
    assert not set(left_out) & set(needed)


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="needs systemd-sysusers on this machine")
def test_the_user_of_the_unit_is_made_by_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    subprocess.run(
        ["systemd-sysusers", f"--root={tmp_path}", str(DEPLOY / "parquetry.sysusers")],
        capture_output=True,
        check=True,
        timeout=60,
    )
    users = {line.split(":")[0]: line.split(":") for line in (tmp_path / "etc/passwd").read_text().splitlines()}
    unit = (DEPLOY / "parquetry.service").read_text()
    assert re.findall(r"^(?:User|Group)=(.+)$", unit, re.MULTILINE) == ["parquetry"] * 2
    assert f"/var/lib/{re.findall(r'^StateDirectory=(.+)$', unit, re.MULTILINE)[0]}" == users["parquetry"][5]
    assert re.search(r"^parquetry:", (tmp_path / "etc/group").read_text(), re.MULTILINE)
    assert "parquetry.sysusers /etc/sysusers.d/" in unit


@pytest.mark.parametrize("file", ["nginx.conf", "Caddyfile"])
def test_a_proxy_goes_where_the_unit_s_server_listens_and_is_trusted(file: str) -> None:
    settings = read_settings({}, assignments((DEPLOY / "parquetry.env").read_text()))
    text = re.sub(r"^\s*#.*$", "", (DEPLOY / file).read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"\b127\.0\.0\.1:[0-9]+", text)) == {f"{settings.host}:{settings.port}"}
    assert settings.trusted_proxies == ("127.0.0.1",)
    assert re.search(r"response_header_timeout 30s|proxy_read_timeout 30s", text)
    assert settings.request_seconds + settings.queue_seconds < 30


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx on this machine")
def test_nginx_passes_on_requests_and_the_visitor_s_address(tmp_path: Path) -> None:
    import httpx2
    import trustme

    authority = trustme.CA()
    authority.issue_cert("content.example", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
        tmp_path / "cert.pem"
    )
    site = Site(tmp_path)
    site.publish("one")
    _, key = site.key()
    with serving(site.store, tmp_path / "log", key=key, CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        eventually(lambda: "serving snapshot version" in server.log())
        port = free_port()
        sample = (DEPLOY / "nginx.conf").read_text()
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("127.0.0.1:8787", server.host),
            ("/etc/ssl/content.example/fullchain.pem", str(tmp_path / "cert.pem")),
            ("/etc/ssl/content.example/privkey.pem", str(tmp_path / "cert.pem")),
        ):
            assert old in sample
            sample = sample.replace(old, new)
        (tmp_path / "nginx.conf").write_text(
            f"error_log stderr;\npid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n"
            + "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi"))
            + "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("uwsgi", "scgi"))
            + f"{sample}}}\n"
        )
        nginx = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)]
        subprocess.run([*nginx, "-t"], capture_output=True, check=True, timeout=60)
        with subprocess.Popen([*nginx, "-g", "daemon off;"], stderr=subprocess.DEVNULL) as proxy:
            try:
                trusted = ssl.create_default_context()
                authority.configure_trust(trusted)
                with httpx2.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=60) as client:
                    eventually(lambda: reached(client))
                    long = f"/v1/acme/posts?filters=title[equals]{quote('長' * 980)}"
                    assert client.get(long, headers={"X-API-KEY": key}).json()["totalCount"] == 0
                    answer = client.get("/v1/acme/posts", headers={"X-API-KEY": key, "X-Forwarded-For": "203.0.113.9"})
                    assert answer.status_code == 200
                    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-ID"])
                    eventually(lambda: answer.headers["X-Request-ID"] in server.log())
                    assert client.post("/pv/acme", content=b"x" * (1 << 17)).status_code == 413
            finally:
                proxy.terminate()


def reached(client: Any) -> bool:
    import httpx2

    try:
        return bool(client.get("/readyz").status_code == 200)
    except httpx2.ConnectError:
        return False


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs caddy on this machine")
def test_caddy_accepts_the_sample() -> None:
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    subprocess.run(command, capture_output=True, check=True, timeout=60)


def test_every_alarm_of_the_operators_page_has_its_rule() -> None:
    assert (DEPLOY / "alerts.yml").read_text() == alert_rules(), "python -m server.states.rules >deploy/alerts.yml"
    page = (ROOT / "docs" / "operators.md").read_text()
    missing = [row for row in documented_rows() if f"{row}\n" not in page]
    assert missing == [], "python -m server.states.rules --table prints them"
    told = [alarm for alarm, *_ in tables("operators.md", "alarm", "name", "when", "after", "severity", "what to do")]
    assert len(told) == len(list(documented_rows())) + 1
    [group] = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    metrics = {name for name, *_ in tables("operators.md", "metric", "labels", "meaning")}
    for rule in group["rules"]:
        named = set(re.findall(r"parquetry_[a-z_]+", rule["expr"]))
        assert {re.sub("_bucket$", "", name) for name in named} <= metrics, rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool on this machine")
def test_prometheus_accepts_the_rules() -> None:
    subprocess.run(["promtool", "check", "rules", str(DEPLOY / "alerts.yml")], check=True, timeout=60)
