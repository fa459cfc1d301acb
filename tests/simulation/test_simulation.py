"""Whole installations on a simulated world: seeds hold, a failure can be had again, and old faults are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.faults import FAULTS

REPOSITORY = Path(__file__).resolve().parents[2]


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the simulation in a process of its own, since it changes what lies below all code in it."""
    environment = {name: value for name, value in os.environ.items() if name not in ("EDITS", "PYTHONPATH")}
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


def test_what_the_product_promises_holds_in_a_few_worlds() -> None:
    done = simulate("--seeds", "2", "--simulated", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"2 runs, [0-9,]+ steps", done.stdout)


@pytest.mark.slow
def test_a_seed_is_a_run_that_can_be_had_again() -> None:
    alone = simulate("--seed", "5", "--simulated", "0.5", "--digest")
    after_another = simulate("--seed", "4", "--seed", "5", "--simulated", "0.5", "--digest")
    assert alone.stdout.splitlines()[0].startswith("seed 5: ")
    assert alone.stdout.splitlines()[0] in after_another.stdout.splitlines()


@pytest.mark.slow
def test_a_new_seed_is_said_and_can_be_had_again() -> None:
    # Whether it holds is not asked here: that is for those who look for new failures.
    shape = ("--simulated", "0.1", "--digest", "--no-shrinking")
    new = simulate("--minutes", "0", *shape).stdout.splitlines()
    assert re.fullmatch("new seed [0-9a-f]+", new[0]), new
    seed = new[0].removeprefix("new seed ")
    assert new[1].startswith(f"seed {seed}: ")
    assert simulate("--seed", seed, *shape).stdout.splitlines()[0] == new[1]


@pytest.mark.slow
def test_a_failure_prints_its_seed_and_the_shortest_history() -> None:
    done = simulate("--fault", "rollback-by-clock", "--seeds", "20", "--simulated", "0.7", "--shrinking", "12")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^seed [0-9]+ fails after [0-9,]+ steps: Violated: .* is told of a rollback", done.stdout, re.M)
    assert re.search(r"^again: python -m tests.simulation --seed [0-9]+ --simulated 0.7$", done.stdout, re.M)
    found = re.search(r"^([0-9]+) decisions, of which these are enough:\n((?:  .*\n)*)", done.stdout, re.M)
    assert found is not None
    assert 0 < found[2].count("\n") < int(found[1])
    assert "The end of the shortest history:" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_that_is_put_back_is_found(fault: str) -> None:
    seeds = ("--seed", str(FAULTS[fault].seed), "--seeds", "12")
    done = simulate("--fault", fault, *seeds, "--simulated", "0.5", "--no-shrinking")
    assert done.returncode == 1, done.stdout + done.stderr
    assert " fails after " in done.stdout
