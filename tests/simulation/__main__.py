"""Simulate: ``python -m tests.simulation --minutes 60`` runs new seeds, ``--seed N`` one again.

A failure prints its seed and the shortest history that still fails.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator
from hashlib import sha256


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--minutes", type=float, help="run new seeds until so much is computed")
    parser.add_argument("--seed", action="append", default=[], help="a seed to run, instead of new ones")
    parser.add_argument("--seeds", type=int, help="how many seeds to run, beginning with 0")
    parser.add_argument("--simulated", type=float, default=2.0, metavar="MINUTES", help="the length of each run")
    parser.add_argument("--fault", help="put a fault of tests/simulation/faults.py back first")
    parser.add_argument("--history", action="store_true", help="print the whole history of a failure")
    parser.add_argument("--keep-on", action="store_true", help="go on after a failure")
    parser.add_argument("--no-shrinking", action="store_true", help="only name failures, and go on")
    parser.add_argument("--shrinking", type=int, default=150, metavar="RUNS", help="runs that a history may take")
    parser.add_argument("--digest", action="store_true", help="print what tells the course of each run from others")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is a part of a run
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(  # noqa: S606 - itself, begun anew
            sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        )
    os.environ.pop("EDITS", None)
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "simulated"
    return simulate(options)


def simulate(options: argparse.Namespace) -> int:
    """Run seeds; return 1 where one fails."""
    from contextlib import nullcontext

    from tests.simulation.faults import FAULTS
    from tests.simulation.runs import Runs, place
    from tests.simulation.shrinking import shortest

    began, failed = time.monotonic(), 0
    spent = time.process_time()
    with place() as root, FAULTS[options.fault].put_back() if options.fault else nullcontext():
        runs = Runs(root, FAULTS[options.fault].scene if options.fault else None)
        for seed in seeds(options, spent):
            ran = runs.run(seed, minutes=options.simulated)
            if options.digest:
                digest = sha256("\n".join(ran.history).encode()).hexdigest()[:16]
                print(f"seed {seed}: {ran.steps:,} steps, {digest}")
            if ran.failure is None:
                continue
            failed += 1
            print(
                f"\nseed {seed} fails after {ran.steps:,} steps: {type(ran.failure).__name__}: {ran.failure}",
                flush=True,
            )
            print(f"again: python -m tests.simulation --seed {seed} --simulated {options.simulated:g}", flush=True)
            if options.history:
                print("\n".join(ran.history))
                traceback.print_exception(ran.failure)
                break

            if options.no_shrinking:
                if options.fault:
                    break
                continue

            def fails(fewer: object, ran: object = ran, seed: str = seed) -> bool:
                return runs.run(seed, minutes=options.simulated, kept=fewer).kind == ran.kind  # type: ignore[attr-defined,arg-type]

            kept = shortest(ran.decisions, fails, options.shrinking)
            again = runs.run(seed, minutes=options.simulated, kept=kept)
            print(f"{len(ran.decisions)} decisions, of which these are enough:")
            print("\n".join(f"  {one}" for one in kept))
            print("The end of the shortest history:")
            print("\n".join(again.history[-60:]))
            if again.failure is not None:
                traceback.print_exception(again.failure)
            if not options.keep_on:
                break
        seconds = time.monotonic() - began
        each = seconds / max(1, runs.steps) * 1e6
        print(f"{runs.runs} runs, {runs.steps:,} steps in {seconds:.0f} s ({each:.0f} µs a step), {failed} failed")
    return 1 if failed else 0


def seeds(options: argparse.Namespace, spent: float) -> Iterator[str]:
    """Yield the seeds to run: those asked for, then new ones, at least one, until the process has computed for so many
    minutes since ``spent``. Beside other programs that takes longer, but runs no fewer."""
    yield from options.seed
    if options.seeds:
        yield from map(str, range(options.seeds))
    if options.minutes is None:
        return
    fresh = random.SystemRandom()
    while True:
        seed = f"{fresh.getrandbits(48):x}"
        # Said before it runs, so that it is known where this process is killed or hangs.
        print(f"new seed {seed}", flush=True)
        yield seed
        if time.process_time() - spent >= options.minutes * 60:
            return


if __name__ == "__main__":
    sys.exit(main())
