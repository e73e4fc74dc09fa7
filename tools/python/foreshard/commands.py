"""run, validate and show: each is one command of the program, asked for JSON."""
from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .errors import InputError, Interrupted, ProgramError
from .program import Outcome, find_program, run_program
from .results import Answer, Result, ValidationResult

FORMATS = (1, 2)  # of the JSON results: validate's, and run's: docs/formats

_ANSWERED, _NO, _BAD_INPUT, _INCOMPLETE = 0, 1, 2, 4  # exit codes, docs/formats/command-line.md
_SIGNALLED = 128  # and the signal

StrPath = str | os.PathLike[str]
AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


def run(
    scenario: Mapping[str, Any] | StrPath,
    *,
    jobs: int = 1,
    seed: int = 1,
    explain: bool = False,
    resume: StrPath | None = None,
    report: StrPath | None = None,
    csv: StrPath | None = None,
    trace: StrPath | None = None,
    save_plans: StrPath | None = None,
) -> Result:
    """Answers every question in a scenario, as `foreshard run` does.

    scenario: a map with the keys of docs/formats/scenario.md, the path of a file, or YAML of several lines. Files that a map or YAML names are
    relative to the working directory, those that a file names to that file.

    Other parameters are the options of the command. Raises InputError, ProgramError, and Interrupted on Ctrl-C.
    """
    file, text = _scenario(scenario)
    arguments = ["run", file, "--quiet", "--json", "-", "--jobs", str(jobs), "--seed", str(seed)]
    if explain:
        arguments.append("--explain")
    files = {"--resume": resume, "--report": report, "--csv": csv, "--trace": trace, "--save-plans": save_plans}
    for option, value in files.items():
        if value is not None:
            arguments += [option, _path(value)]
    return _answer(Result, run_program(arguments, text))


def validate(
    data: StrPath | Iterable[StrPath],
    *,
    limits: Mapping[str, str] | None = None,
    jobs: int = 1,
    report: StrPath | None = None,
) -> ValidationResult:
    """Holds forecasts against measurements, as `foreshard validate` does.

    data: a CSV file, or several. limits: group -> limit, as {"mpt-*": "7%", "mpt-a100:tau": "0.85"}; `within_limits` of the result says
    whether all were kept.
    """
    files = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    arguments = ["validate", *(_path(f) for f in files), "--quiet", "--json", "-", "--jobs", str(jobs)]
    if limits:
        arguments += ["--limit", *(f"{group}={limit}" for group, limit in limits.items())]
    if report is not None:
        arguments += ["--report", _path(report)]
    return _answer(ValidationResult, run_program(arguments))


def show(kind: str, name: StrPath | None = None, other: StrPath | None = None) -> Any:
    """What `foreshard show` prints: of a model, cluster, plan or rule file, or without a name the list of what ships.

    kind: model, cluster, device, framework, plan, rules or planners. name: a builtin, a preset or a file; other: a second plan, to
    compare with. Returns maps and lists, but of one device or framework the text of its profile (YAML).
    """
    arguments = ["show", kind, *(_path(n) for n in (name, other) if n is not None)]
    is_profile = kind in ("device", "framework") and name is not None
    outcome = run_program([*arguments, "--yaml" if is_profile else "--json"])
    _refuse_failures(outcome)
    return outcome.out if is_profile else _parsed(outcome)


def _scenario(scenario: Mapping[str, Any] | StrPath) -> tuple[str, str | None]:
    """The argument that names the scenario, and what standard input has of it. JSON is YAML."""
    if isinstance(scenario, Mapping):
        try:  # a line for each key, which messages then quote
            return "-", json.dumps(scenario, default=_plain, ensure_ascii=False, allow_nan=False, indent=1)
        except (TypeError, ValueError, RecursionError) as e:
            raise InputError(f"the scenario cannot be written as JSON: {e}") from e
    if isinstance(scenario, str) and "\n" in scenario:
        return "-", scenario
    return _path(scenario), None


def _plain(value: Any) -> Any:
    """Paths, and the numbers and arrays of NumPy, as JSON can say them."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor map")


def _path(path: StrPath) -> str:
    """A file's name as an argument: one that begins with a dash is no option, nor standard input."""
    text = os.fspath(path)
    return os.path.join(".", text) if text.startswith("-") else text


def _answer(kind: type[AnyAnswer], outcome: Outcome) -> AnyAnswer:
    if outcome.interrupted:
        raise Interrupted(_partial(kind, outcome))
    _refuse_failures(outcome, kind)
    if outcome.err:  # an answer all the same
        print(outcome.err, end="", file=sys.stderr)
    return kind(_parsed(outcome), outcome.code)


def _refuse_failures(outcome: Outcome, kind: type[Answer] | None = None) -> None:
    if outcome.interrupted:
        raise Interrupted()
    if outcome.code in (_ANSWERED, _NO):
        return
    message = outcome.err.strip()
    if outcome.code == _BAD_INPUT:
        raise InputError(message, outcome.code)
    ended_by = -outcome.code if outcome.code < 0 else outcome.code - _SIGNALLED
    if ended_by in signal.valid_signals():
        message = f"the program was ended by {signal.Signals(ended_by).name}" + (f": {message}" if message else "")
    elif outcome.code == _INCOMPLETE and not message:
        message = "a worker process was ended from outside, twice; .result of this exception has the other answers"
    raise ProgramError(message or f"the program ended with {outcome.code}", outcome.code, _partial(kind, outcome) if kind else None)


def _parsed(outcome: Outcome) -> Any:
    try:
        parsed = json.loads(outcome.out)
    except ValueError as e:
        raise ProgramError(f"{find_program()} gave no JSON: {e}", outcome.code) from e
    if isinstance(parsed, dict) and parsed.get("foreshard", FORMATS[0]) not in FORMATS:
        raise ProgramError(
            f"{find_program()} answers in format {parsed['foreshard']}, and this package reads {FORMATS}: take both of one version",
            outcome.code,
        )
    return parsed


def _partial(kind: type[AnyAnswer], outcome: Outcome) -> AnyAnswer | None:
    """What there is of the answer of a program that did not come to its end."""
    try:
        return kind(_parsed(outcome), outcome.code)
    except ProgramError:
        return None
