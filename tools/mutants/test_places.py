"""python3 -m unittest discover -s tools/mutants: how places of mutants are found and changed."""
import dataclasses
import json
import pathlib
import tempfile
import unittest

import places
from places import DoesNotApply, Mutant, with_mutants

SUM = Mutant(area="area", id="sum", file="sum.cpp", old="a + b", new="a - b", suites=("suite",))


def changed(text, *mutants):
    return with_mutants(text, list(mutants)).removeprefix(places.SWITCH)


def switch(mutant, inside=None):
    return f"(mutants::is({mutant.number}u) ? ({mutant.new}) : ({inside or mutant.old}))"


class Places(unittest.TestCase):
    def test_an_expression_gets_a_switch(self):
        self.assertEqual(changed("return a + b;", SUM), f"return {switch(SUM)};")

    def test_white_space_does_not_count(self):
        self.assertEqual(changed("return a +\n    b;", SUM), "return " + switch(SUM, "a +\n    b") + ";")
        for apart in "longa + b", "a + bytes", "a + b2":
            with self.assertRaisesRegex(DoesNotApply, "0 times"):
                changed(apart, SUM)

    def test_a_text_that_is_missing_or_there_twice_names_the_mutant(self):
        with self.assertRaisesRegex(DoesNotApply, r"area/sum \(sum.cpp\): the file has its text 0 times"):
            changed("return a * b;", SUM)
        with self.assertRaisesRegex(DoesNotApply, r"area/sum .* 2 times"):
            changed("f(a + b); g(a + b);", SUM)

    def test_the_text_around_tells_two_apart(self):
        second = dataclasses.replace(SUM, within="g(a + b)")
        self.assertEqual(changed("f(a + b); g(a + b);", second), f"f(a + b); g({switch(second)});")
        with self.assertRaisesRegex(DoesNotApply, "its `within` has its text 2 times"):
            changed("f(a + b); g(a + b);", dataclasses.replace(SUM, within="f(a + b); g(a + b);"))

    def test_places_may_lie_within_each_other_and_not_overlap(self):
        inner = dataclasses.replace(SUM, id="inner", old="b", new="c")
        self.assertEqual(changed("return a + b;", inner, SUM), f"return {switch(SUM, 'a + ' + switch(inner))};")
        other = dataclasses.replace(SUM, id="other", old="b + c", new="c")
        with self.assertRaisesRegex(DoesNotApply, "overlap"):
            changed("return a + b + c;", SUM, other)

    def test_two_mutants_of_one_place(self):
        other = dataclasses.replace(SUM, id="other", new="a * b")
        self.assertEqual(changed("return a + b;", SUM, other), f"return {switch(SUM, switch(other))};")

    def test_a_constant_with_a_mutant_is_made_at_run_time(self):
        text = "constexpr int kOne = 1;\nconstexpr int kSum = a + b;"
        self.assertEqual(changed(text, SUM), f"constexpr int kOne = 1;\nconst     int kSum = {switch(SUM)};")


class Lists(unittest.TestCase):
    def load(self, *entries):
        with tempfile.TemporaryDirectory() as folder:
            whole = [{"id": "x", "file": "x.cpp", "old": "a", "new": "b", **e} for e in entries]
            pathlib.Path(folder, "area.json").write_text(json.dumps({"suites": ["sim"], "mutants": whole}))
            return places.load(pathlib.Path(folder))

    def test_a_mutant_has_the_suites_of_its_area_or_its_own(self):
        loaded = self.load({}, {"id": "y", "suites": ["pcg"]})
        self.assertEqual([m.suites for m in loaded], [("sim",), ("pcg",)])
        self.assertEqual(len(set(loaded)), 2)  # as results are kept by mutant

    def test_ids_are_unique_and_keys_are_known(self):
        with self.assertRaisesRegex(DoesNotApply, "the same id"):
            self.load({}, {})
        with self.assertRaisesRegex(DoesNotApply, "unknown keys suite"):
            self.load({"suite": "sim"})


if __name__ == "__main__":
    unittest.main()
