"""``kept.ts`` of the sites: what is kept, for how long, and what drops it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs import node_packages
from tests.project.examples.projects import EXAMPLES

FACTS = "export const factsOf = (value: any) => value.facts;\n"
USE = """
import { drop, kept } from "./server/kept.js";

let asked = 0;
const facts = (tag: string, nextChange?: Date) => ({ tags: [tag], nextChange });
const ask = (facts: object, gate?: Promise<void>) => async () => {
  const value = { number: ++asked, facts };
  await gate;
  return value;
};
const said: { [what: string]: unknown } = {};

const same = await Promise.all([1, 2, 3].map(() => kept("a", ask(facts("a")))));
said["asked once for all"] = same.map(({ number }) => number);
drop(["b"]);
said["another tag"] = (await kept("a", ask(facts("a")))).number;
drop(["b", "a"]);
said["its tag"] = (await kept("a", ask(facts("a")))).number;

let open = () => {};
const early = kept("b", ask(facts("b"), new Promise((resolve) => (open = resolve))));
drop(["c"]);
said["after a drop meanwhile"] = (await kept("b", ask(facts("b")))).number;
open();
said["the one before"] = (await early).number;
said["what stays"] = (await kept("b", ask(facts("b")))).number;

await kept("c", ask(facts("c", new Date(Date.now() - 1))));
said["past its change"] = (await kept("c", ask(facts("c")))).number;
const fail = async () => { throw new Error(`no ${++asked}`); };
said["failures"] = [(await kept("d", fail).catch(String)), (await kept("d", fail).catch(String))];
process.env["NODE_ENV"] = "development";
said["in development"] = [(await kept("a", ask(facts("a")))).number, (await kept("a", ask(facts("a")))).number];
console.log(JSON.stringify(said));
"""


@pytest.mark.slow
@pytest.mark.parametrize("file", ["sveltekit/src/lib/server/kept.ts", "nuxt/server/utils/kept.ts"])
def test_an_answer_is_kept_until_it_may_be_wrong(file: str, tmp_path: Path) -> None:
    source = (EXAMPLES / file).read_text(encoding="utf-8")
    [imported] = [line for line in source.splitlines() if line.startswith("import ")]
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "kept.ts").write_text(source.replace(imported, 'import { factsOf } from "../content.js";'))
    (tmp_path / "content.ts").write_text(FACTS)
    (tmp_path / "use.ts").write_text(USE)
    (tmp_path / "process.d.ts").write_text("declare const process: { env: Record<string, string | undefined> };\n")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {"strict": True, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom"], "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    tsc = str(node_packages.node_modules() / ".bin" / "tsc")
    compiled = subprocess.run([tsc], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    ran = subprocess.run(["node", "use.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "asked once for all": [1, 1, 1],
        "another tag": 1,
        "its tag": 2,
        "after a drop meanwhile": 4,
        "the one before": 3,
        "what stays": 4,
        "past its change": 6,
        "failures": ["Error: no 7", "Error: no 8"],
        "in development": [9, 10],
    }
