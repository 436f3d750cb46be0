"""Citewell and its peers side by side: the same chunks, vectors and questions, each stack in its own environment.

    python bench/peers/side_by_side.py [--data ../shared/data] [--sets ...] [--stacks ...] [--cache FOLDER]
        [--fresh [SET ...]] [--lock FILE] [--results bench/results/peers]

A run (question -> ranked keys and milliseconds) is kept in the cache by set and by the version of the stack, so that
only Citewell is run again after a change to it. --fresh runs every stack again on the sets that it names, all if it
names none, so that times are of one go; only those of chunking-eval are told. Written: one JSON per set with the
commit, versions, quality, times, and the paired tests of Citewell's hybrid. With --lock questions are timed while that
file's lock is held. Exit code 1 if Citewell's hybrid is below the best peer's with p < 0.05 on some set, or not above
it on the mean.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # bench/, whose readers of the sets are used here

from peers_case import digest
from peers_envs import HERE, OWN, STACKS, interpreter, version
from peers_judge import judge
from peers_sets import NAMES, labelled, make

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "citewell-peers"
ROOT = HERE.parent.parent
WITH_FILES = ("chunking-eval", "runbooks")
"""The sets whose files Citewell can read itself."""


def run(stack: str, case: Path, cache: Path, *, fresh: bool, lock: Path | None, more: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON
    """The run of a stack on a case: from the cache, or made now; Citewell's is always made."""
    own = stack in OWN
    name = f"{case.name}-{stack}-{digest(case)}{'' if own else '-' + version(stack)}.json"
    output = cache / "runs" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    if fresh or own or not output.exists():
        python = interpreter(stack, cache)
        print(f"{case.name}: {stack}", flush=True)
        more = (*more, *(("--lock", str(lock)) if lock else ()))
        worker = [str(part) for part in (python, HERE / "peers_worker.py", stack, case, output, *more)]
        done = subprocess.run(worker, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{stack} failed on {case.name}:\n{done.stderr[-2000:]}")
    return json.loads(output.read_text("utf-8"))


def about() -> dict[str, str]:
    """The commit, whether the tree differs from it, and the day."""
    commit, changes = (
        subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()
        for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--", "src"))
    )
    return {"commit": commit + ("+changes" if changes else ""), "date": f"{datetime.date.today()}"}


def anew(fresh: Sequence[str] | None) -> Sequence[str]:
    """The sets on which every stack is run again: those that --fresh names, all if it names none."""
    return () if fresh is None else fresh or NAMES


def one_set(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run and judge every stack on a set, and write its JSON."""
    case = arguments.cache / "cases" / name
    make(arguments.data, name, case)
    chosen = [stack for stack in arguments.stacks if stack != "citewell-own" or name in WITH_FILES]
    fresh = name in anew(arguments.fresh)
    runs = {stack: run(stack, case, arguments.cache, fresh=fresh, lock=arguments.lock) for stack in chosen}
    truth = labelled(arguments.data, name)
    found = {"set": name, **about(), "queries": len(truth.qrels), "fresh": fresh, "stacks": judge(truth, runs)}
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def verdict(results: list[dict[str, Any]]) -> bool:
    """Print each set's lines; whether Citewell is nowhere below the best peer and above it on the mean."""
    kept, means = True, {"citewell": 0.0, "best peer": 0.0}
    for found in results:
        peers = {stack: each for stack, each in found["stacks"].items() if stack not in OWN}
        best = max(peers, key=lambda stack: peers[stack]["ways"]["hybrid"]["nDCG@10"])
        own = found["stacks"]["citewell"]
        test = own["against"][f"{best} hybrid"]["nDCG@10"]
        figures = (own["ways"]["hybrid"]["nDCG@10"], peers[best]["ways"]["hybrid"]["nDCG@10"])
        print(f"{found['set']:15} citewell {figures[0]:.4f}  best peer {best} {figures[1]:.4f}  p {test['p']:.4f}")
        kept = kept and not (test["difference"] < 0 and test["p"] < 0.05)
        means["citewell"] += figures[0] / len(results)
        means["best peer"] += figures[1] / len(results)
    print("  ".join(f"mean of {name} {value:.4f}" for name, value in means.items()))
    return kept and means["citewell"] > means["best peer"]


def main() -> int:
    """Run the chosen sets and stacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--stacks", nargs="+", choices=[*OWN, *STACKS], default=[*OWN, *STACKS])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "peers")
    parser.add_argument("--fresh", nargs="*", choices=NAMES, metavar="SET")
    parser.add_argument("--lock", type=Path)
    arguments = parser.parse_args()
    arguments.cache = arguments.cache.resolve()
    return 0 if verdict([one_set(name, arguments) for name in arguments.sets]) else 1


if __name__ == "__main__":
    sys.exit(main())
