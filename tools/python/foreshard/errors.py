"""What can go wrong. A plan that does not fit, or none that can be made, is an answer and no error."""
from __future__ import annotations

from typing import Any


class ForeshardError(Exception):
    """Any error of this package. `exit_code` is the program's, None where it did not run."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class InputError(ForeshardError, ValueError):
    """The scenario, a file or an option is wrong, or the system refused a file, memory or processes.

    The text is the program's: all problems at once, each with its line, its key and a hint.
    """


class ProgramError(ForeshardError, RuntimeError):
    """The program failed: a bug of it, a worker process that was ended from outside, a crash.

    `result` has the answers that it gave all the same, or None.
    """

    def __init__(self, message: str, exit_code: int | None = None, result: Any = None) -> None:
        super().__init__(message, exit_code)
        self.result = result


class ProgramNotFoundError(ProgramError, FileNotFoundError):
    """There is no program to ask. The text says where it was sought and what helps."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the program has ended. `result` has the best plans so far, or None where it wrote none."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("interrupted" if result is None else "interrupted; .result of this exception has what was found so far")
        self.result = result
