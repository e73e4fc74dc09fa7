"""The documents say what is so: the first example's output, and the keys of results."""
import contextlib
import io
import re
import tomllib
import unittest

import foreshard

from .scenarios import ROOT


def blocks(text: str, language: str) -> list[str]:
    return [inside for of, inside in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if of == language]


def keys_of_table(text: str, heading: str) -> set[str]:
    """Keys in the first column of the first table behind a heading, without what stands behind a dot."""
    table = text[text.index(heading) :].split("\n| ", 1)[1].split("\n\n", 1)[0]
    first_cells = [line.removeprefix("| ").split(" | ", 1)[0] for line in table.splitlines()[2:]]
    return {key.split(".")[0] for cell in first_cells for key in re.findall(r"`([^`]+)`", cell)}


class DocumentsTest(unittest.TestCase):
    def test_the_first_example_prints_what_stands_below_it(self) -> None:
        text = (ROOT / "docs/python.md").read_text()
        example, expected = blocks(text, "python")[0], blocks(text, "")[0]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(example, "docs/python.md", "exec"), {})
        self.assertEqual(printed.getvalue(), expected)

    def test_attributes_are_the_documented_keys(self) -> None:
        formats = "\n".join(page.read_text() for page in sorted((ROOT / "docs/formats").glob("*.md")))
        for kind, heading in (
            (foreshard.Run, "## JSON result, format 2"),
            (foreshard.Sensitivity, "## Sensitivities"),
            (foreshard.CapacityEntry, "## Capacity result"),
        ):
            with self.subTest(kind.__name__):
                self.assertEqual(set(kind.documented), keys_of_table(formats, heading))

    def test_documented_parameters_and_members_are_there(self) -> None:
        text = (ROOT / "docs/python.md").read_text()
        for name in re.findall(r"^\| `(\w+)[`(]", text, re.MULTILINE):
            self.assertTrue(hasattr(foreshard, name), name)

    def test_the_package_has_the_version_of_the_program(self) -> None:
        declared = tomllib.loads((ROOT / "tools/python/pyproject.toml").read_text())["project"]["version"]
        self.assertIn(f"project(foreshard VERSION {declared} ", (ROOT / "CMakeLists.txt").read_text())
