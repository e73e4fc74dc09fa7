#!/usr/bin/env python3
"""Checks relations between answers of foreshard, on scenarios drawn at random: no reference is needed.

    tests/metamorphic/metamorphic.py --exe build/foreshard --seed 1-8 --draws 50

Each violation is printed with its scenario; the first of each relation is shrunk to a small one, which --out writes, too. Exit status: 0: none;
1: some; 2: the program itself broke.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import relations  # noqa: F401  (registers them)
from draws import draw
from program import Broken, Program, Refused, Scenario
from relation import RELATIONS, Case, Relation, SaysNothing
from shrinking import shrunk, violations


@dataclass
class Outcome:
    """What came of one scenario."""

    name: str  # seed and number, from which it is drawn
    scenario: Scenario
    refused: str = ""  # why the scenario says nothing
    held: list[Relation] = field(default_factory=list)
    violated: dict[str, list[str]] = field(default_factory=dict)  # by relation
    broken: dict[str, str] = field(default_factory=dict)


def try_scenario(program: Program, name: str, chosen: list[Relation], each: int) -> Outcome:
    """Draws a scenario and tries relations on it: those inside its answer, and `each` of those between answers that concern it (0: all)."""
    rng = random.Random(name)
    outcome = Outcome(name, draw(rng))
    case = Case(program, outcome.scenario, rng)
    try:
        case.run
    except Refused as e:
        outcome.refused = str(e)
        return outcome
    except Broken as e:
        outcome.broken["run"] = str(e)
        return outcome
    others = [r for r in chosen if not r.inside]
    left = each or len(others)
    for relation in [r for r in chosen if r.inside] + rng.sample(others, len(others)):
        if not relation.inside and left == 0:
            break
        case.rng = random.Random(name)
        try:
            found = list(relation.check(case))
        except (SaysNothing, Refused):
            continue
        except Broken as e:
            outcome.broken[relation.name] = str(e)
            continue
        left -= not relation.inside
        if found:
            outcome.violated[relation.name] = found
        else:
            outcome.held.append(relation)
    return outcome


def report(program: Program, outcome: Outcome, relation: Relation, found: list[str], is_shrunk: bool, folder: str) -> None:
    scenario = outcome.scenario
    if is_shrunk:
        scenario = shrunk(program, relation, scenario, outcome.name)
        found = violations(program, relation, scenario, outcome.name) or found
    print(f"VIOLATED {relation.name} ({outcome.name}): " + "; ".join(found[:4]), json.dumps(scenario), sep="\n", flush=True)
    if is_shrunk and folder:
        said = "".join(f"# {line}\n" for line in (f"{relation.name}: {relation.derivation}", *found))
        (pathlib.Path(folder) / f"{relation.name}-{outcome.name}.yaml").write_text(said + json.dumps(scenario, indent=1) + "\n")


def names_of(seeds: list[int], draws: int) -> Iterator[str]:
    """Of each seed the first, of each the second, ...: an end by the clock leaves seeds alike."""
    return (f"{seed}-{i}" for i in range(draws) for seed in seeds)


def seeds_in(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exe", default="build/foreshard", help="the program (build/foreshard)")
    parser.add_argument("--seed", type=seeds_in, default=[1], metavar="N[-M]", help="seeds (1)")
    parser.add_argument("--draws", type=int, default=20, help="scenarios of each seed (20)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no scenario is begun after so long")
    parser.add_argument("--each", type=int, default=0, help="relations between answers that each scenario is tried on (all that concern it)")
    parser.add_argument("--only", default="", metavar="NAME,...", help="these relations")
    parser.add_argument("--shrink", type=int, default=1, help="violations of each relation that are shrunk (1)")
    parser.add_argument("--out", default="", metavar="FOLDER", help="writes what is shrunk there")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at once (1)")
    parser.add_argument("--list", action="store_true", help="prints relations and their derivations")
    return parser.parse_args()


def main() -> int:
    asked = options()
    unknown = {n for n in asked.only.split(",") if n} - RELATIONS.keys()
    if unknown:
        sys.exit(f"no relation is called {', '.join(sorted(unknown))}; --list names them")
    chosen = [r for r in RELATIONS.values() if not asked.only or r.name in asked.only.split(",")]
    if asked.list:
        print("\n".join(f"{r.name}: {r.derivation}" for r in chosen))
        return 0
    if asked.out:
        os.makedirs(asked.out, exist_ok=True)
    end = time.monotonic() + asked.seconds
    held, violated, refused = collections.Counter[str](), collections.Counter[str](), collections.Counter[str]()
    tried = broken = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        program = Program(asked.exe, folder)

        def outcome_of(name: str) -> Outcome | None:
            return try_scenario(program, name, chosen, asked.each) if time.monotonic() < end else None

        for outcome in pool.map(outcome_of, names_of(asked.seed, asked.draws)):
            if outcome is None:
                break
            tried += 1
            refused[outcome.refused] += bool(outcome.refused)
            held.update(r.name for r in outcome.held)
            for name, why in outcome.broken.items():
                broken += 1
                print(f"BROKEN {name} ({outcome.name}): {why}\n{json.dumps(outcome.scenario)}", flush=True)
            for name, found in outcome.violated.items():
                violated[name] += 1
                report(program, outcome, RELATIONS[name], found, violated[name] <= asked.shrink, asked.out)
    for why, times in refused.most_common():
        if times:
            print(f"refused {times} x: {why[:160]}")
    for r in chosen:
        verdict = "VIOLATED" if violated[r.name] else "ok" if held[r.name] else "-"
        print(f"{verdict:8} {r.name}: {violated[r.name]} of {violated[r.name] + held[r.name]}")
    print(f"{tried} scenarios, {refused.total()} of them refused, {violated.total()} violations, {broken} failures of the program")
    return 2 if broken else 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
