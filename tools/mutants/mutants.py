#!/usr/bin/env python3
"""Mutants: changes of the sources that some test must notice.

    tools/mutants/mutants.py [--only AREA|ID ...] [--jobs N] [--limit SECONDS] [--build FOLDER]
    tools/mutants/mutants.py --check
    tools/mutants/mutants.py --follow

Copies the tree to FOLDER (build-mutants) with every mutant behind a switch, builds the suites that it needs once, and runs them for each
mutant, which an environment variable chooses, until a test fails. Prints the survivors, the share killed of each area, and a closing line.
Exit code 1: fewer than 95 % are killed, or a known one survives; 2: a mutant does not apply, or a suite fails without any. A mutant whose
suites take longer than the limit is not counted as killed. --check looks only whether each mutant applies (places.py says what a mutant is); --follow names the files to which their texts have moved.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from places import AREAS, DoesNotApply, load, pattern_of, with_mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_KILLED = 0.95
BUILD = "build-test"  # of preset `test`, within the copy


def chosen(mutants, only):
    for name in only:
        if not any(name in (m.area, m.id) for m in mutants):
            sys.exit(f"mutants.py: --only {name}: neither an area ({', '.join(sorted({m.area for m in mutants}))}) nor an id")
    return [m for m in mutants if not only or m.area in only or m.id in only]


def found_in(mutant):
    """Other sources that have its text: where code that moved may be now."""
    pattern = pattern_of(mutant.within or mutant.old)
    sources = (f for f in sorted(tree()) if f.endswith((".cpp", ".hpp")) and not f.startswith("tests/"))
    return [f for f in sources if f != mutant.file and pattern.search((ROOT / f).read_text())]


def elsewhere(mutant):
    found = found_in(mutant)
    return f"; it is in {', '.join(found)}" if found else ""


def follow(mutants):
    """Writes new files into the lists for those whose text has moved to one other file."""
    for m in mutants:
        source = ROOT / m.file
        if source.exists() and pattern_of(m.within or m.old).search(source.read_text()):
            continue
        found = found_in(m)
        if len(found) != 1:
            continue
        path = AREAS / f"{m.area}.json"
        before, entry, after = path.read_text().partition(f'"id": "{m.id}"')
        path.write_text(before + entry + after.replace(f'"file": "{m.file}"', f'"file": "{found[0]}"', 1))
        print(f"{m}: {found[0]}")


def mutated_files(mutants):
    """The text of each file that has mutants; prints and counts those that do not apply."""
    by_file = collections.defaultdict(list)
    for m in mutants:
        by_file[m.file].append(m)
    texts, failed = {}, 0
    for file, its in sorted(by_file.items()):
        source = ROOT / file
        if not source.exists():
            failed += len(its)
            print("\n".join(f"{m}: there is no such file{elsewhere(m)}" for m in its), file=sys.stderr)
            continue
        text = source.read_text()
        alone = 0
        for m in its:
            try:
                with_mutants(text, [m])
            except DoesNotApply as e:
                alone += 1
                print(f"{e}{elsewhere(m)}", file=sys.stderr)
        failed += alone
        if alone == 0:
            try:
                texts[file] = with_mutants(text, its)
            except DoesNotApply as e:
                failed += 1
                print(e, file=sys.stderr)
    return texts, failed


def tree():
    """The files of the tree, from the root: those that git tracks or would."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True)
    if listed.returncode == 0:
        return {f for f in listed.stdout.decode().split("\0") if f and (ROOT / f).is_file()}
    found = (p for p in ROOT.rglob("*") if p.is_file())
    return {str(p.relative_to(ROOT)) for p in found if not re.match(r"build(-[^/]*)?/|\.git/", str(p.relative_to(ROOT)))}


def write_copy(copy, texts):
    """Files that stay as they are keep their times, so that no more is built anew than what changed."""
    files = tree()
    for file in files:
        content = texts[file].encode() if file in texts else (ROOT / file).read_bytes()
        target = copy / file
        if target.exists() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        shutil.copymode(ROOT / file, target)
    for path in copy.rglob("*"):
        file = str(path.relative_to(copy))
        if not file.startswith((BUILD + "/", "killers.json")) and path.is_file() and file not in files:
            path.unlink()


def build(copy, suites, jobs):
    subprocess.run(["cmake", "--preset", "test"], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    targets = [f"{s}_test" for s in sorted(suites)]
    subprocess.run(["cmake", "--build", BUILD, "-j", str(jobs), "--target", *targets], cwd=copy, check=True)


class Suites:
    """The suites as ctest runs them."""

    def __init__(self, copy, names):
        shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], cwd=copy, check=True, capture_output=True)
        self._tests = {t["name"]: t for t in json.loads(shown.stdout)["tests"] if t["name"] in names}
        if missing := set(names) - set(self._tests):
            sys.exit(f"mutants.py: no such suite: {', '.join(sorted(missing))}")

    def run(self, name, mutant=None, case=None, limit=None):
        """The case that failed, None if none did; raises TimeoutExpired. `name`: "sim", or "sim:folding" for its files of such a path."""
        suite, _, files = name.partition(":")
        test = self._tests[suite]
        properties = {p["name"]: p["value"] for p in test["properties"]}
        environment = dict(os.environ, **dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])))
        environment["FORESHARD_MUTANT"] = str(mutant.number if mutant else 0)
        command = [*test["command"], "--abort-after=1", "--no-colors=true"]
        if files:
            command.append(f"--source-file=*{files}*")
        if case:
            command.append("--test-case=" + case.replace("\\", "\\\\").replace(",", "\\,"))
        done = subprocess.run(command, cwd=properties["WORKING_DIRECTORY"], env=environment, capture_output=True, timeout=limit)
        if done.returncode == 0:
            return None
        failed = re.search(r"^TEST CASE:  (.*)$", done.stdout.decode(errors="replace"), re.M)
        return failed[1] if failed else f"exit code {done.returncode}"


def killer_of(mutant, suites, remembered, limit):
    """(suite, case) that fails, None if all pass, "limit" if they take too long. The case that killed it last time goes first."""
    end = time.monotonic() + limit
    attempts = [tuple(remembered)] if remembered else []
    attempts += [(suite, None) for suite in mutant.suites]
    try:
        for suite, case in attempts:
            failed = suites.run(suite, mutant, case, end - time.monotonic())
            if failed is not None:
                return suite, failed
    except subprocess.TimeoutExpired:
        return "limit"
    return None


def run_all(copy, mutants, names, jobs, limit):
    suites = Suites(copy, names)
    memory = copy / "killers.json"
    remembered = json.loads(memory.read_text()) if memory.exists() else {}
    results = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        healthy = dict(zip(names, pool.map(suites.run, names)))
        if failing := {n: case for n, case in healthy.items() if case is not None}:
            print("\n".join(f"suite {n} fails without a mutant: {case}" for n, case in failing.items()), file=sys.stderr)
            sys.exit(2)
        running = {pool.submit(killer_of, m, suites, remembered.get(m.id), limit): m for m in mutants}
        for future in concurrent.futures.as_completed(running):
            m, killer = running[future], future.result()
            results[m] = killer
            say = "survives" if killer is None else "takes too long" if killer == "limit" else f"killed by {killer[0]}: {killer[1]}"
            print(f"[{len(results)}/{len(mutants)}] {m}: {say}", flush=True)
            if isinstance(killer, tuple) and not killer[1].startswith("exit code"):
                remembered[m.id] = killer
    memory.write_text(json.dumps(remembered, indent=0, sort_keys=True))
    return results


def report(results, seconds):
    """Prints what survives and the shares; returns the exit code."""
    survivors = sorted((m for m, killer in results.items() if not isinstance(killer, tuple)), key=str)
    print()
    for m in survivors:
        late = " (takes too long)" if results[m] == "limit" else ""
        print(f"survives{late}: {m}{' KNOWN' if m.known else ''}: {' '.join(m.old.split())}  ->  {' '.join(m.new.split())}")
    print(f"\n{'area':<14}{'mutants':>8}{'killed':>8}{'share':>8}")
    for area in sorted({m.area for m in results}):
        count = sum(m.area == area for m in results)
        killed = count - sum(m.area == area for m in survivors)
        print(f"{area:<14}{count:>8}{killed:>8}{killed / count:>8.0%}")
    killed = len(results) - len(survivors)
    known = [m for m in results if m.known]
    known_killed = sum(isinstance(results[m], tuple) for m in known)
    print(f"{killed} of {len(results)} mutants killed ({killed / len(results):.1%}), {known_killed} of {len(known)} known ones, in {seconds:.0f} s")
    return 0 if killed >= LEAST_KILLED * len(results) and known_killed == len(known) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="AREA|ID", nargs="+", default=[], help="these areas or mutants alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="suites that run at once (%(default)s)")
    parser.add_argument("--limit", type=float, default=900, help="seconds for the suites of a mutant (%(default)s)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-mutants", help="folder of the copy (%(default)s)")
    parser.add_argument("--check", action="store_true", help="only look whether each mutant applies")
    parser.add_argument("--follow", action="store_true", help="write into the lists where code that moved is now")
    arguments = parser.parse_args()
    start = time.monotonic()
    mutants = load()
    if arguments.follow:
        follow(mutants)
        mutants = load()
    texts, failed = mutated_files(mutants)
    if failed > 0:
        print(f"{failed} of {len(mutants)} mutants do not apply: their texts in tools/mutants/areas must follow the sources", file=sys.stderr)
        return 2
    if arguments.check or arguments.follow:
        print(f"{len(mutants)} mutants apply")
        return 0
    mutants = chosen(mutants, arguments.only)
    names = sorted({s.partition(":")[0] for m in mutants for s in m.suites})
    copy = arguments.build.resolve()
    write_copy(copy, texts)
    build(copy, names, arguments.jobs)
    return report(run_all(copy, mutants, names, arguments.jobs, arguments.limit), time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
