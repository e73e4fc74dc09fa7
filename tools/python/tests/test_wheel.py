"""The wheel is what PEP 427 asks for. `make wheel` installs the real one."""
import base64
import csv
import hashlib
import importlib.util
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from .scenarios import ROOT, fake_program

_spec = importlib.util.spec_from_file_location("make_wheel", ROOT / "tools/python/make_wheel.py")
assert _spec is not None and _spec.loader is not None
make_wheel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_wheel)


class WheelTest(unittest.TestCase):
    def test_its_record_lists_each_file_and_the_program_may_be_run(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.object(make_wheel.shutil, "which", return_value=None):
            program = fake_program(Path(name), "exit 0")
            wheel = make_wheel.make_wheel(program, Path(name) / "out")
            first = wheel.read_bytes()
            self.assertEqual(make_wheel.make_wheel(program, Path(name) / "out").read_bytes(), first)
            self.assertRegex(wheel.name, r"^foreshard-[0-9.]+-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                record = next(n for n in names if n.endswith("/RECORD"))
                listed = {path: digest for path, digest, _ in csv.reader(archive.read(record).decode().splitlines())}
                self.assertEqual(sorted(listed), sorted(names))
                for path, digest in listed.items():
                    if path != record:
                        hashed = base64.urlsafe_b64encode(hashlib.sha256(archive.read(path)).digest()).decode().rstrip("=")
                        self.assertEqual(digest, f"sha256={hashed}")
                self.assertEqual(archive.getinfo("foreshard/bin/foreshard").external_attr >> 16 & 0o777, 0o755)
                self.assertIn("foreshard/py.typed", names)
