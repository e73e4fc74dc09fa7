#!/usr/bin/env python3
"""Runs the commands that the documents show, and renews (or with --check compares) what they print.

shown_outputs.py [--check] PROGRAM DOCUMENT...

A block

    ```console from="base" to="90 %:"
    $ foreshard run scenario.yaml
    ...
    ```

shows what its commands print: all of it, or the lines from the first that contains `from` up to the first after it that contains `to`, which
is left out; … stands for what is left out. A block of YAML behind the line `<!-- file: scenario.yaml -->` is that file, for the blocks after
it. Each document has a folder of its own. Exit code 1: with --check, a block is not what its commands print.
"""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

_BLOCK = re.compile(r'^```console([^\n]*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_FILE = re.compile(r'^<!-- file: (\S+) -->\n```yaml\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_OMITTED = "…"


def shown(lines: list[str], start: str | None, end: str | None) -> list[str]:
    """The lines of an output that a block shows."""
    first = next((i for i, line in enumerate(lines) if start in line), None) if start else 0
    if first is None:
        raise SystemExit(f'no line of the output contains "{start}":\n' + "\n".join(lines))
    last = next((i for i in range(first + 1, len(lines)) if end in lines[i]), len(lines)) if end else len(lines)
    kept = lines[first:last]
    while kept and not kept[-1]:
        kept.pop()
    return [_OMITTED] * (first > 0) + kept + [_OMITTED] * (last < len(lines))


class Shell:
    """Runs commands in a folder; what several blocks show is run once, until a file changes."""

    def __init__(self, folder: pathlib.Path, program: pathlib.Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "100", "NO_COLOR": "1"}
        self._known: dict[str, list[str]] = {}

    def write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)
        self._known.clear()

    def lines(self, command: str) -> list[str]:
        if command not in self._known:
            ran = subprocess.run(command, shell=True, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False)
            self._known[command] = (ran.stdout + ran.stderr).rstrip("\n").splitlines()
        return self._known[command]


def block_of(options: str, commands: list[str], shell: Shell) -> str:
    option = dict(re.findall(r'(\w+)="([^"]*)"', options))
    out = []
    for command in commands:
        out.append(f"$ {command}")
        out += shown(shell.lines(command), option.get("from"), option.get("to"))
    return f"```console{options}\n" + "\n".join(line.rstrip() for line in out) + "\n```"


def renewed(text: str, program: pathlib.Path) -> str:
    """The document with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        shell = Shell(pathlib.Path(name), program)
        parts = sorted([*_BLOCK.finditer(text), *_FILE.finditer(text)], key=lambda m: m.start())
        out, at = [], 0
        for part in parts:
            out.append(text[at : part.start()])
            at = part.end()
            if part.re is _FILE:
                shell.write(part[1], part[2])
                out.append(part[0])
            else:
                commands = [line[2:] for line in part[2].splitlines() if line.startswith("$ ")]
                out.append(block_of(part[1], commands, shell))
        return "".join(out) + text[at:]


def main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    program, *documents = arguments[check:]
    differs = False
    for document in map(pathlib.Path, documents):
        text = document.read_text()
        now = renewed(text, pathlib.Path(program).resolve())
        if check and now != text:
            before, after = text.splitlines(), now.splitlines()
            line = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), min(len(before), len(after)))
            print(f"{document}:{line + 1}: the program prints otherwise; make docs renews it\n  here: {before[line:][:1]}\n  now:  {after[line:][:1]}")
            differs = True
        elif now != text:
            document.write_text(now)
            print(f"{document} is renewed")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
