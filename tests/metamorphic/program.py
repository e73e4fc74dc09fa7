"""Asks the program foreshard: a scenario goes in, its answer comes out."""
from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import tempfile
from typing import Any

Scenario = dict[str, Any]
Run = dict[str, Any]

_LIMIT_S = 300  # of the processor; scenarios that are drawn take seconds


class Refused(Exception):
    """Bad input, or a plan that cannot be made: the scenario says nothing."""


class Broken(Exception):
    """A bug of the program: no answer and no refusal."""


class Program:
    """The program in a file. `folder` holds what it writes besides its answers."""

    def __init__(self, file: str, folder: str) -> None:
        self._file = str(pathlib.Path(file).resolve())
        self._folder = folder

    def new_folder(self) -> pathlib.Path:
        return pathlib.Path(tempfile.mkdtemp(dir=self._folder))

    def answer(self, scenario: Scenario, *options: str) -> dict[str, Any]:
        """The JSON result. Raises Refused (exit 2) and Broken."""
        return json.loads(self.text(scenario, *options))

    def text(self, scenario: Scenario, *options: str) -> str:
        return self._call(scenario, "run", "-", "--quiet", "--json", "-", *options)

    def written_out(self, cluster: dict[str, Any]) -> str:
        """The cluster file that says all of a cluster."""
        return self._call({"foreshard": 1, "cluster": cluster}, "show", "cluster", "-", "--yaml")

    def _call(self, given: Scenario, *arguments: str) -> str:
        command = ["prlimit", f"--cpu={_LIMIT_S}", self._file, *arguments]
        ended = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
        said = ended.stderr.strip()[-400:]
        if ended.returncode == 2:
            raise Refused(said)
        if ended.returncode == -signal.SIGXCPU:
            raise Broken(f"no answer in {_LIMIT_S} s of the processor")
        if ended.returncode not in (0, 1):
            raise Broken(f"exit {ended.returncode}: {said}")
        return ended.stdout
