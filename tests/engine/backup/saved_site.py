"""A site with something of everything that a store holds, and what is compared of two stores."""

from __future__ import annotations

import hashlib
from pathlib import Path

from engine.access.sign_in.people import Person
from engine.access.sign_in.sign_ins import SignIns
from engine.administration.administrator import operator
from engine.administration.keys import issue_key
from engine.administration.versions import roll_back
from engine.administration.webhooks import add_webhook
from engine.backup.layout import NamedBackup
from engine.backup.making import Made, make_backup
from engine.backup.restoring import restore, verified
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import Objects
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.engine.views.gathering.machines import Local, random_views
from tests.sites.served_site import Site
from tests.sites.viewed_site import site_with_domains

PDF = b"%PDF-1.4\n% a file that content names\n"


def full_site(directory: Path) -> Site:
    """A site with two versions and an asset, that was rolled back, with keys, a webhook, a session, and views that are
    counted, filed and on their way."""
    site = site_with_domains(directory)
    posts = site.source / "apis" / "posts.yaml"
    posts.write_text(posts.read_text() + "  - {id: text, name: Text, type: richtext}\n")
    (site.source / "content" / "posts" / "filed.md").write_text(
        "---\ntitle: filed\ncreatedAt: 2026-01-01\n---\nSee [the file](paper.pdf).\n"
    )
    (site.source / "content" / "posts" / "paper.pdf").write_bytes(PDF)
    site.publish("two")
    site.publish("three")
    by = operator(site.place, now_ms())
    roll_back(by)
    issue_key(by, site.place.manifest(site.place.versions()[0]).workspace, name="Web", scope=None)
    add_webhook(
        by,
        "https://hooks.example/told",
        form="standard",
        token=None,
        apis=None,
        langs=None,
        reasons=None,
        allow_loopback=False,
    )
    sign_ins = SignIns(site.store.objects)
    sign_ins.use(sign_ins.new_link(Person("mika@example.com"), now_ms()), None, now_ms())
    views = Local(site.store.root, site.store.objects)
    views.collect(random_views(50, 1, now=now_ms()), now_ms())
    views.round(now_ms(), flush=True)
    views.collect(random_views(30, 2, now=now_ms()), now_ms())
    views.round(now_ms())
    views.collect(random_views(20, 3, now=now_ms()), now_ms())
    return site


def save(store: Store, place: Path | Objects, newest: int | None = None) -> Made:
    return make_backup(
        store, DirectoryObjects(place) if isinstance(place, Path) else place, now=now_ms(), newest=newest
    )


def bring_back(place: Path | Objects, root: Path | Store, prefix: str | None = None, *, force: bool = False) -> Store:
    """Restore a backup, without a name the newest, and return the store."""
    objects = DirectoryObjects(place) if isinstance(place, Path) else place
    store = open_store(root) if isinstance(root, Path) else root
    restore(objects, checked(objects, prefix), store, now=now_ms(), force=force)
    return store


def checked(objects: Objects, prefix: str | None = None) -> NamedBackup:
    return verified(objects, prefix)


def content(root: Path) -> dict[str, str]:
    """The files of a store by name, with their digests; but for locks, what can be made again, and who was here."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        is_hidden = any(part.startswith(".") for part in name.split("/"))
        is_work = name.startswith(("_readers", "_backups")) or name.endswith(("/lock", "writer.lock", "views.duckdb"))
        if path.is_file() and not is_hidden and not is_work:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
