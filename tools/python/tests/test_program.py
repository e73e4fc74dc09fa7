"""The program is found where it should be, and each way in which it can fail is told apart."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path
from unittest import mock

import foreshard

from .scenarios import ROOT, fake_program, small

ANSWER = '{"foreshard": 1, "scenario": "s", "engine": {}, "runs": []}'


class WithFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def environment(self, **variables: str) -> None:
        change = mock.patch.dict(os.environ, variables)
        change.start()
        self.addCleanup(change.stop)


class FindTest(WithFolder):
    """A copy of the package outside of any checkout."""

    def found(self, **variables: str) -> str:
        code = "import foreshard\ntry: print(foreshard.find_program())\nexcept foreshard.ProgramNotFoundError as e: print('none:', e)"
        environment = {"PYTHONPATH": str(self.folder / "package"), "PATH": "/nowhere", **variables}
        asked = subprocess.run(
            [sys.executable, "-B", "-c", code], cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        )
        return asked.stdout.strip()

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(ROOT / "tools/python/foreshard", self.folder / "package/foreshard", ignore=shutil.ignore_patterns("__pycache__"))

    def test_no_program(self) -> None:
        text = self.found()
        self.assertTrue(text.startswith("none: the program foreshard is not there."), text)
        for word in ("on PATH", "make build", "FORESHARD_PROGRAM"):
            self.assertIn(word, text)

    def test_the_order_of_places(self) -> None:
        (self.folder / "path").mkdir()
        on_path = fake_program(self.folder / "path", "exit 0")
        self.assertEqual(self.found(PATH=str(on_path.parent)), str(on_path))
        bundled = self.folder / "package/foreshard/bin"
        bundled.mkdir()
        beside = fake_program(bundled, "exit 0")
        self.assertEqual(self.found(PATH=str(on_path.parent)), str(beside))
        self.assertEqual(self.found(FORESHARD_PROGRAM=str(on_path)), str(on_path))

    def test_a_variable_that_names_no_program_is_not_passed_over(self) -> None:
        self.assertIn("FORESHARD_PROGRAM is '/none'", self.found(FORESHARD_PROGRAM="/none"))

    def test_a_checkout_has_it_in_its_build_folder(self) -> None:
        checkout = self.folder / "checkout"
        shutil.copytree(self.folder / "package/foreshard", checkout / "tools/python/foreshard")
        (checkout / "build").mkdir()
        (checkout / "CMakeLists.txt").touch()
        program = fake_program(checkout / "build", "exit 0")
        self.assertEqual(self.found(PYTHONPATH=str(checkout / "tools/python")), str(program))


class FailureTest(WithFolder):
    def raised(self, script: str) -> foreshard.ProgramError:
        self.environment(FORESHARD_PROGRAM=str(fake_program(self.folder, script)))
        with self.assertRaises(foreshard.ProgramError) as raised:
            foreshard.run(small())
        return raised.exception

    def test_a_bug_of_the_program(self) -> None:
        error = self.raised("echo 'internal error: x' >&2; exit 3")
        self.assertEqual((str(error), error.exit_code, error.result), ("internal error: x", 3, None))

    def test_lost_workers_leave_the_other_answers(self) -> None:
        error = self.raised(f"echo '{ANSWER}'; exit 4")
        self.assertEqual(error.exit_code, 4)
        self.assertEqual(error.result.scenario, "s")

    def test_a_crash(self) -> None:
        self.assertIn("SIGSEGV", str(self.raised("kill -SEGV $$")))

    def test_a_signal_from_elsewhere(self) -> None:
        error = self.raised(f"echo '{ANSWER}'; exit 143")
        self.assertIn("SIGTERM", str(error))
        self.assertEqual(error.result.runs, [])

    def test_another_format(self) -> None:
        self.assertIn("answers in format 3", str(self.raised("echo '{\"foreshard\": 3}'")))

    def test_no_json(self) -> None:
        self.assertIn("gave no JSON", str(self.raised("echo hello")))

    def test_missing_libraries(self) -> None:
        error = self.raised("echo 'error while loading shared libraries: libz3.so.4' >&2; exit 127")
        self.assertIn("libz3.so.4. Its shared libraries are in Debian packages", str(error))

    def test_a_file_that_is_no_program(self) -> None:
        file = fake_program(self.folder, "")
        file.write_bytes(b"\x7fELF")
        self.environment(FORESHARD_PROGRAM=str(file))
        with self.assertRaises(foreshard.ProgramError):
            foreshard.run(small())


LONG = """
    import foreshard
    search = {"budget": "600 s", "graphs": 1000000}
    scenario = {"foreshard": 1, "name": "long", "model": {"builtin": "gpt3-2.6b"}, "cluster": {"preset": "dgx-a100-80gb", "nodes": 8},
                "training": {"global_batch": 2048, "precision": "bf16", "optimizer": "adam"}, "plans": ["data-parallel", {"unity": search}]}
    print("begun", flush=True)
    try: foreshard.run(scenario)
    except foreshard.Interrupted as e: print("kept", [r.plan for r in e.result.runs])
"""


class InterruptionTest(unittest.TestCase):
    def started(self) -> tuple["subprocess.Popen[str]", int]:
        """A search of minutes that has begun: Python and the program's process."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python")}
        python = subprocess.Popen(
            [sys.executable, "-B", "-c", textwrap.dedent(LONG)], env=environment, stdout=subprocess.PIPE, text=True, process_group=0
        )
        self.addCleanup(python.communicate)
        self.addCleanup(python.kill)
        assert python.stdout is not None
        self.assertEqual(python.stdout.readline(), "begun\n")
        children = Path(f"/proc/{python.pid}/task/{python.pid}/children")
        for _ in range(500):
            pids = children.read_text().split()
            # Past its first steps: half a second of processor time.
            if pids and sum(map(int, Path(f"/proc/{pids[0]}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) > 50:
                return python, int(pids[0])
            time.sleep(0.02)
        self.fail("the program does not start")

    def test_ctrl_c_of_a_terminal_ends_the_search_and_keeps_what_was_found(self) -> None:
        python, _ = self.started()
        os.killpg(python.pid, signal.SIGINT)
        out, _ = python.communicate(timeout=60)
        self.assertEqual(out, "kept ['data-parallel', 'unity']\n")

    def test_the_program_ends_with_python_that_is_killed(self) -> None:
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv of util-linux")
        python, program = self.started()
        python.kill()
        for _ in range(500):
            try:
                if Path(f"/proc/{program}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return
            except OSError:
                return
            time.sleep(0.02)
        os.kill(program, signal.SIGKILL)
        self.fail("the program runs on")
