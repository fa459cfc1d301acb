"""The recipe for receivers of webhooks in TypeScript: it takes what was signed with the secret, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from engine.webhooks.signatures import new_secret, standard_headers
from snapshots.times import now_ms
from tests.programs import node_packages
from tests.project.examples.projects import EXAMPLES
from tests.project.test_docs import blocks

BODY = json.dumps({"type": "content.changed", "data": {"tags": ["komugi:journal"], "title": "日本語 ✓"}})
VERIFY = """
import { verify } from "./verify.ts";
const { body, headers, secret } = JSON.parse(process.argv[2]!);
try {
  const event = await verify(new Request("http://x/", { method: "POST", body, headers }), secret);
  console.log(`accepted ${event.type}`);
} catch (error) {
  console.log(`refused ${(error as Error).constructor.name}`);
}
"""


def rebuild_packages() -> Path:
    return node_packages.node_modules(EXAMPLES / "rebuild" / "package.json").parent


@pytest.mark.slow
def test_typescript_checks_signatures_as_the_page_says(tmp_path: Path) -> None:
    (block,) = (one for one in blocks("webhooks.md") if one.settings.get("title") == "verify.ts")
    packages, tools = rebuild_packages(), node_packages.node_modules().parent
    (tmp_path / "verify.ts").write_text(block.text)
    (tmp_path / "try.ts").write_text(VERIFY)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    (tmp_path / "process.d.ts").write_text("declare const process: { argv: string[] };\n")
    options = {
        "strict": True,
        "target": "es2022",
        "module": "esnext",
        "moduleResolution": "bundler",
        "lib": ["es2022", "dom", "dom.iterable"],
        "types": [],
        "skipLibCheck": True,
        "rewriteRelativeImportExtensions": True,
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    tsc = str(tools / "node_modules/.bin/tsc")
    compiled = subprocess.run([tsc], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    secret = new_secret()
    headers = standard_headers([secret], "msg_1", now_ms(), BODY)
    for body, key, said in (
        (BODY, secret, "accepted content.changed"),
        (BODY + " ", secret, "refused WebhookVerificationError"),
        (BODY, new_secret(), "refused WebhookVerificationError"),
    ):
        request = json.dumps({"body": body, "headers": headers, "secret": key})
        ran = subprocess.run(["node", "try.js", request], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == said, ran.stderr
