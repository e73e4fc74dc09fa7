"""Finds the program foreshard and runs it: arguments and standard input in; exit code, standard output and error out."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ProgramError, ProgramNotFoundError

VARIABLE = "FORESHARD_PROGRAM"
_LOADER_FAILED = 127  # of ld.so, when a shared library is missing


@dataclass(frozen=True)
class Outcome:
    """How the program ended. `code` is below 0 where a signal ended it; `interrupted` says that Ctrl-C was passed on."""

    code: int
    out: str
    err: str
    interrupted: bool = False


def find_program() -> Path:
    """The program: FORESHARD_PROGRAM, or it is in the package (as in a wheel), in the build folder of this checkout, or on PATH.

    Raises ProgramNotFoundError, also where FORESHARD_PROGRAM names no program: a typo there is not passed over.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if _is_program(Path(named)):
            return Path(named).absolute()
        raise ProgramNotFoundError(f"{VARIABLE} is {named!r}, which is no program that can be run")
    package = Path(__file__).resolve().parent
    checkout = package.parent.parent.parent
    candidates = [package / "bin" / "foreshard"]
    if (checkout / "CMakeLists.txt").is_file():
        candidates.append(checkout / "build" / "foreshard")
    on_path = shutil.which("foreshard")
    if on_path is not None:
        candidates.append(Path(on_path))
    for candidate in candidates:
        if _is_program(candidate):
            return candidate
    raise ProgramNotFoundError(
        "the program foreshard is not there. It was sought in "
        + ", ".join(str(c) for c in candidates)
        + ("" if on_path else " and on PATH")
        + f". Build it (make build, in a checkout), install its package or wheel, or let {VARIABLE} name it"
    )


def run_program(arguments: Sequence[str], text: str | None = None) -> Outcome:
    """Runs the program with `text` as its standard input and waits for it.

    On KeyboardInterrupt the program gets SIGINT and is waited for: it ends its searches and writes what it has. A second one ends it at once.
    Any other exception kills it.
    """
    program = find_program()
    # Files hold what goes in and comes out, because an interruption between two reads of a pipe would lose a part of the answer.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((text or "").encode())
        given.seek(0)
        # In a terminal Ctrl-C goes to the whole group of processes. In a group of its own the program gets it once, from here.
        try:
            process = subprocess.Popen(
                [*_bound_to_us(), str(program), *arguments], stdin=given, stdout=out, stderr=err, process_group=0
            )
        except OSError as e:
            raise ProgramError(f"{program} cannot be run: {e.strerror}") from e
        try:
            interrupted = _wait(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        out.seek(0)
        err.seek(0)
        outcome = Outcome(process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), interrupted)
    if outcome.code == _LOADER_FAILED:
        raise ProgramError(
            f"{program} cannot start: {outcome.err.strip()}. Its shared libraries are in Debian packages, which docs/python.md lists",
            outcome.code,
        )
    return outcome


def _is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def _bound_to_us() -> list[str]:
    """Words that end the program with this process, so that a notebook that is killed leaves no search behind. util-linux has setpriv."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Waits for the end, and passes interruptions on. Returns whether there was one."""
    interrupted = False
    while True:
        try:
            process.wait()
            return interrupted
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
