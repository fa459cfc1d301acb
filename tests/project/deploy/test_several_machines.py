"""The guide for several machines, and the files in ``deploy/`` that it leads to: their parts exist and fit together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from cli.main import main
from engine.access.keys.last_use import LAST_USE
from engine.administration.heartbeats import EVERY_MS, reader_key
from engine.read.materialise.part_lists import LISTS, SHARED
from engine.views.collecting.spool import VIEWS
from engine.views.gathering.gathering import FILE_MS
from engine.views.gathering.layout import LEASE, segment_key
from engine.views.gathering.pulling import LOOK_SECONDS
from engine.views.gathering.sending import SEND_SECONDS
from server.background.election import RENEW_MS
from server.background.views.gathering_process import PULL_SECONDS, WRITE_MS
from server.background.webhooks.sender import TURN_MS
from server.mirror.mirror import LOOKED_AT_A_ROUND, POLL_SECONDS, ROUND_MS, SHARE_MS
from server.settings import TABLE, Settings, read_settings
from snapshots.store.buckets.bucket_url import parse_bucket
from snapshots.store.buckets.costs import (
    HEARTBEATS_AN_HOUR,
    LISTS_A_MINUTE,
    LOOKS_A_MINUTE,
    READS_A_MINUTE,
    SENDERS_A_MINUTE,
    WEBHOOKS_AN_HOUR,
    WRITERS_A_MINUTE,
    WRITES_A_MINUTE,
)
from tests.project.test_docs import DOCS, check_links, page, tables
from tests.servers.ports import free_port
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually, serving

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
GUIDE = "several-machines.md"
VARIABLES = {setting.variable for setting in TABLE}
OTHERS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "HOME"}
RECIPE = dict(re.findall(r"\b(CMS_[A-Z_]+)=(\S+)", (DEPLOY / "Containerfile").read_text()))
READERS = ("reader-1", "reader-2", "reader-3")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def resources(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text()))


def everywhere(document: Any, name: str) -> Iterator[Any]:
    """The values of all members of a name, however deep."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == name:
                yield value
            yield from everywhere(value, name)
    elif isinstance(document, list):
        for one in document:
            yield from everywhere(one, name)


def test_compose_has_readers_with_settings_that_the_server_takes(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {*READERS, "builder", "proxy", "valkey", "objects", "bucket"}
    for name in READERS:
        environment = services[name]["environment"]
        assert environment.keys() <= VARIABLES | OTHERS
        settings = read_settings({}, {**RECIPE, **{k: v for k, v in environment.items() if k in VARIABLES}})
        bucket = parse_bucket(settings.store, {})
        assert (bucket.kind, bucket.name, bucket.prefix) == ("s3", "content", "store")
        assert (urlparts(settings.store), urlparts(str(settings.rate_limit_url))) == ("objects:8333", "valkey:6379")
        assert services[name]["volumes"] == [f"cache-{name[-1]}:{settings.cache}"], "each has a mirror of its own"
        [subnet] = everywhere(compose["networks"], "subnet")
        assert settings.trusted_proxies == (subnet,)
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > settings.shutdown_seconds + 8


def urlparts(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def test_what_compose_names_is_there(compose: dict[str, Any]) -> None:
    services, volumes = compose["services"], compose["volumes"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in volumes or source == "../content" or (DEPLOY / source).is_file(), volume
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    for name, wanted in (("valkey", "service_healthy"), ("bucket", "service_completed_successfully")):
        assert services["reader-1"]["depends_on"][name]["condition"] == wanted
    assert "healthcheck" in services["valkey"]
    assert "healthcheck" in services["objects"]
    assert "content" in services["bucket"]["command"][0], "the bucket that the store's URL names"
    assert services["builder"]["profiles"] == ["build"]


@pytest.mark.parametrize("file", ["compose.yaml", "build.yaml"])
def test_the_commands_that_are_run_exist(
    compose: dict[str, Any], file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if file == "compose.yaml":
        command = compose["services"]["builder"]["command"]
    else:
        [job] = resources(file)
        command = job["spec"]["template"]["spec"]["containers"][0]["args"]
    monkeypatch.setattr("sys.argv", ["cms", *command, "--help"])
    main()
    assert "WORKSPACE" in capsys.readouterr().out


def test_docker_accepts_the_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    compose = ["docker", "compose"]
    if (
        shutil.which("docker") is None
        or subprocess.run([*compose, "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs docker with its compose on this machine")
    monkeypatch.setenv("OBJECTS_KEY", "a")
    monkeypatch.setenv("OBJECTS_SECRET", "b")
    subprocess.run([*compose, "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"], check=True, timeout=60)


def test_nginx_asks_the_readers_of_the_composition() -> None:
    text = (DEPLOY / "nginx-readers.conf").read_text()
    settings = read_settings({}, RECIPE)
    assert re.findall(r"^    server (\S+?)[ ;]", text, re.MULTILINE) == [
        *(f"{name}:{settings.port}" for name in READERS),
        *(f"{name}:{settings.port}" for name in READERS),  # for page views
    ]
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
    assert settings.request_seconds + settings.queue_seconds < 30
    assert "proxy_read_timeout 30s" in text


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx on this machine")
def test_nginx_answers_while_readers_are_gone(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    _, key = site.key()
    with serving(site.store, tmp_path / "log", key=key, CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        eventually(lambda: "serving snapshot version" in server.log())
        ports = [free_port() for _ in range(3)]
        text = (DEPLOY / "nginx-readers.conf").read_text()
        hosts = (f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", server.host)
        for reader, host in zip(READERS, hosts, strict=True):
            text = text.replace(f"{reader}:8787", host)
        text = text.replace("listen 8080", f"listen 127.0.0.1:{ports[2]}")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        (tmp_path / "nginx.conf").write_text(
            f"error_log stderr;\npid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n"
            + "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in kinds)
            + f"{text}}}\n"
        )
        nginx = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)]
        subprocess.run([*nginx, "-t"], capture_output=True, check=True, timeout=60)
        with subprocess.Popen([*nginx, "-g", "daemon off;"], stderr=subprocess.DEVNULL) as proxy:
            try:
                eventually(lambda: status(ports[2], "/healthz") == 200)
                assert {status(ports[2], "/v1/acme/posts", key) for _ in range(9)} == {200}
            finally:
                proxy.terminate()


def status(port: int, path: str, key: str = "") -> int | None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"X-API-KEY": key})
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def test_the_manifests_for_kubernetes_fit_together() -> None:
    kustomization = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())
    found = [one for name in kustomization["resources"] for one in resources(name)]
    assert {(one["kind"], one["apiVersion"]) for one in found} == {
        ("StatefulSet", "apps/v1"),
        ("Deployment", "apps/v1"),
        ("Service", "v1"),
        ("PodDisruptionBudget", "policy/v1"),
    }
    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(set(names)) == len(names)
    pods = [one["spec"]["template"] for one in found if "template" in one["spec"]]
    for one in found:
        spec = one["spec"]
        if "template" in spec:
            check_pod(spec["template"]["spec"], spec.get("volumeClaimTemplates", []))
        selector = spec["selector"].get("matchLabels", spec["selector"])
        [template] = [pod for pod in pods if selector.items() <= pod["metadata"]["labels"].items()]
        ports = {port["name"] for port in everywhere(template["spec"]["containers"], "ports") for port in port}
        if one["kind"] == "Service":
            assert {port["targetPort"] for port in spec["ports"]} <= ports
    reader = next(one for one in found if one["kind"] == "StatefulSet")
    assert ("Service", reader["spec"]["serviceName"]) in names
    budget = next(one for one in found if one["kind"] == "PodDisruptionBudget")
    assert budget["spec"]["minAvailable"] < reader["spec"]["replicas"]
    [config] = kustomization["configMapGenerator"]
    [container] = reader["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == config["name"]
    assert [image["name"] for image in kustomization["images"]] == [container["image"]]
    literals = dict(literal.split("=", 1) for literal in config["literals"])
    own = {one["name"]: one["value"] for one in container["env"]}
    assert (literals | own).keys() <= VARIABLES | OTHERS
    settings = read_settings({}, {k: v for k, v in (literals | own).items() if k in VARIABLES})
    assert ("Service", urlparts(str(settings.rate_limit_url)).partition(":")[0]) in names
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": settings.port, "metrics": int(str(settings.metrics).rpartition(":")[2])}
    grace = reader["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > settings.shutdown_seconds + 8 + 8


def test_the_build_in_kubernetes_fits_together() -> None:
    [job] = resources("build.yaml")
    assert (job["kind"], job["apiVersion"]) == ("Job", "batch/v1")
    spec = job["spec"]["template"]["spec"]
    assert spec["restartPolicy"] == "Never"
    check_pod(spec, [])
    [container] = spec["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert environment.keys() <= VARIABLES | OTHERS
    [checkout] = spec["initContainers"]
    assert container["workingDir"] == checkout["command"][-1]


@pytest.mark.parametrize("name", ["readers.yaml", "valkey.yaml", "build.yaml"])
def test_kubernetes_accepts_the_manifests(name: str) -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="needs the schemas: pip install kubernetes-validate")
    for resource in resources(name):
        metadata = resource["metadata"]
        named = metadata | {"name": metadata.get("name", metadata.get("generateName", "") + "x")}
        schemas.validate(resource | {"metadata": named}, schemas.latest_version(), strict=True)


def check_pod(spec: dict[str, Any], claims: list[dict[str, Any]]) -> None:
    """What its containers mount is there, and probes ask for paths that the server has."""
    volumes = {volume["name"] for volume in spec.get("volumes", [])} | {claim["metadata"]["name"] for claim in claims}
    assert spec["securityContext"]["runAsNonRoot"]
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
        assert mounted <= volumes
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            for action in ("httpGet", "tcpSocket"):
                if action in container.get(probe, {}):
                    assert container[probe][action]["port"] in ports


def test_probes_ask_what_the_server_answers(tmp_path: Path) -> None:
    [reader, *_] = resources("readers.yaml")
    [container] = reader["spec"]["template"]["spec"]["containers"]
    paths = {probe: container[probe]["httpGet"]["path"] for probe in container if probe.endswith("Probe")}
    assert paths == {"readinessProbe": "/readyz", "livenessProbe": "/healthz", "startupProbe": "/healthz"}
    site = Site(tmp_path)
    site.publish("one")
    with TestClient(quiet_app(Settings(store=str(site.store.root)))) as client:
        for path in set(paths.values()):
            assert client.get(path).status_code == 200


def test_the_guide_s_links_and_settings_exist() -> None:
    check_links(GUIDE)
    named = set(re.findall(r"\bCMS_[A-Z_]+", page(GUIDE)))
    assert named <= VARIABLES
    assert {"CMS_STORE", "CMS_CACHE", "CMS_RATE_LIMIT_URL", "CMS_TRUSTED_PROXIES", "CMS_MAX_STALE"} <= named
    for name, command in re.findall(r"(?:`|^)cms ([a-z]+)(?: ([a-z]+))?", page(GUIDE), re.MULTILINE):
        assert (name, command) in COMMANDS, (name, command)


COMMANDS = {
    ("snapshot", "activate"),
    ("snapshot", "build"),
    ("snapshot", "push"),
    ("snapshot", "pull"),
    ("snapshot", "prune"),
    ("snapshot", "verify"),
    ("store", "check"),
    ("key", ""),
    ("key", "list"),
    ("serve", ""),
    ("backup", ""),
    ("restore", ""),
}


def test_the_guide_s_policy_allows_what_a_reader_writes() -> None:
    [policy] = [
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", page(GUIDE), re.DOTALL) if "Statement" in block
    ]
    written = [f"store/acme/{LAST_USE}/x.json", f"store/acme/{VIEWS}/x"]
    written += ["store/acme/expiry_mails.json", "store/_probe/x"]
    written += [f"store/{segment_key('acme', 'a', 1)}", f"store/{LEASE}", f"store/{reader_key('x')}"]
    kept = [
        "store/acme/access.json",
        "store/acme/current",
        "store/acme/snapshots/x/manifest.json",
        "store/changes.json",
        f"store/acme/{SHARED}/layout-9/x/0123456789abcdef.bodies",
        f"store/acme/{LISTS}/layout-9/x.json",
    ]
    [*_, writing] = policy["Statement"]
    patterns = [resource.partition(":::")[2].partition("/")[2] for resource in writing["Resource"]]
    assert all(any(fnmatch(key, pattern) for pattern in patterns) for key in written)
    assert not any(fnmatch(key, pattern) for key in kept for pattern in patterns)


MINUTES = 30 * 24 * 60
PRICES = {"GET": 0.40, "LIST": 5.0, "PUT": 5.0}


def costs(row: list[str]) -> tuple[str, float, float]:
    """A row of what is asked: the kind of request, how many a minute, and the dollars of a month, which add up."""
    _, a_minute, a_month, dollars = row
    number, kind = a_minute.split()
    requests = int(a_month.replace(",", ""))
    assert requests == float(number) * MINUTES
    cost = requests / 1e6 * PRICES[kind]
    assert float(dollars.rpartition("= ")[2]) == round(cost, 2)
    return kind, float(number), cost


def asked(first: str) -> list[tuple[str, float, float]]:
    """The rows of the table whose first column is called so, without that of the sums."""
    rows = list(tables(GUIDE, first, "requests a minute", "a month", "$"))
    return [costs(row) for row in rows if not row[0].startswith("**")]


def test_the_guide_s_cost_of_readers_is_computed_from_what_they_ask() -> None:
    polls, lists, looks, webhooks, counts, heartbeats = (number for _, number, _ in asked("what"))
    assert polls == round(60 / POLL_SECONDS)
    assert (lists, looks) == (60_000 / ROUND_MS, 2 * LOOKED_AT_A_ROUND + 60 / LOOK_SECONDS)
    assert webhooks == 60_000 / TURN_MS
    assert heartbeats == 60_000 / EVERY_MS
    assert counts - 1 < 60 / PULL_SECONDS <= counts
    (_, lookers, looking), *writer = asked("counts of page views")
    lease, spool = (number for _, number, _ in writer)
    assert lookers == lease == WRITERS_A_MINUTE, "as `cms store check` has it"
    assert lease - 1 < 60_000 / RENEW_MS <= lease
    assert spool - 1 < 60_000 / WRITE_MS <= spool
    a_reader = sum(number for _, number, _ in asked("what"))
    (_, sender, _) = asked("webhooks")[-1]
    assert a_reader + lease + spool + sender <= 70
    [*_, (_, a_minute, a_month, dollars)] = list(tables(GUIDE, "what", "requests a minute", "a month", "$"))
    reader, written = (round(sum(cost for _, _, cost in rows), 2) for rows in (asked("what"), writer))
    assert float(a_minute.strip("*")) == a_reader
    assert int(a_month.strip("*").replace(",", "")) == a_reader * MINUTES
    assert float(dollars.strip("*")) == reader
    month = re.search(r"3 × ([0-9.]+) \+ 2 × ([0-9.]+) \+ ([0-9.]+) = ([0-9.]+) \$ a month", page(GUIDE))
    assert month
    looked = round(looking, 2)
    together = round(3 * reader + 2 * looked + written, 2)
    assert [float(number) for number in month.groups()] == [reader, looked, written, together]
    in_turn = LOOKS_A_MINUTE + WEBHOOKS_AN_HOUR / 60
    assert a_reader == READS_A_MINUTE + in_turn + LISTS_A_MINUTE + HEARTBEATS_AN_HOUR / 60, (
        "as `cms store check` has it"
    )
    assert lease + spool == WRITES_A_MINUTE


def test_the_guide_s_cost_of_webhooks_is_computed_from_what_readers_ask() -> None:
    (_, lookers, looking), (_, sender, sending) = asked("webhooks")
    assert lookers == sender == SENDERS_A_MINUTE, "as `cms store check` has it"
    month = re.search(r"Webhooks add ([0-9.]+) \$", page(GUIDE))
    assert month
    assert float(month[1]) == round(2 * looking + sending, 2)


def test_the_guide_s_cost_of_a_workspace_in_use_is_computed_from_what_machines_ask() -> None:
    found = asked("in use")
    last_use, sending, new_counts, views, written = (number for _, number, _ in found)
    rounds, sent = 60_000 / WRITE_MS, 60 / SEND_SECONDS
    assert last_use == 60_000 / SHARE_MS
    assert sending - 1 < sent <= sending
    assert new_counts - 1 < rounds <= new_counts
    assert views - 1 < 2 * 3 * sent + 2 * rounds <= views, "once for the counts, once for the rows; counts and hint"
    assert written - 1 < 2 * rounds + 60_000 / FILE_MS * 2 <= written
    month = re.search(r"around the clock, adds ([0-9.]+) \$", page(GUIDE))
    assert month
    assert float(month[1]) == round(sum(cost * (3 if n < 3 else 1) for n, (_, _, cost) in enumerate(found)), 2)


def test_every_file_for_several_machines_is_named_in_the_guide() -> None:
    for file in ("compose.yaml", "nginx-readers.conf", "kubernetes", "parquetry.service", "alerts.yml"):
        assert f"(../deploy/{file})" in page(GUIDE)
        assert (DOCS / f"../deploy/{file}").exists()
