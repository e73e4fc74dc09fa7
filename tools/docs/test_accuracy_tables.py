"""Tables of a validation result: what a made-up result shows, and where it goes."""
import unittest

from accuracy_tables import tables, with_tables

GROUP = {"subject": "iteration", "group": "g<1>", "points": 3, "failed": 1, "worst": [],
         "time": {"points": 2, "mean_error": 0.25, "median_error": 0.25, "bias": 0.225, "kendall_tau": 1.0}, "coverage": 1 / 3, "interval_width": 0.2}


def result(groups=(), points=(), **more):
    return {"groups": list(groups), "points": list(points), **more}


class AccuracyTablesTest(unittest.TestCase):
    def test_groups_without_a_formula_have_their_figures(self):
        self.assertEqual(tables(result([GROUP])), "### Iterations\n\n| group | points | mean error, % | bias, % | inside, % | width, % |\n|---|---:|---:|---:|---:|---:|\n"
                                                  "| g<1> | 3 (1 failed) | 25.0 | +22.5 | 33 | 20 |\n")

    def test_a_formula_stands_beside_its_groups(self):
        other = {**GROUP, "group": "h", "formula": {"group_left_out": 0.5}, "choices": {"kendall_tau": 0.75}}
        text = tables(result([{**GROUP, "formula": {"group_left_out": 0.125}}, other]))
        self.assertIn("| group | points | forecast, % | formula, group left out, % | tau of plans | bias, % |\n", text)
        self.assertIn("| g<1> | 3 | 25.0 | 12.5 | - | +22.5 |\n| h | 3 | 25.0 | 50.0 | 0.750 | +22.5 |\n", text)
        # The median of 12.5 % and 50 %.
        self.assertIn("\n\nForecasts are closer than the formula in 1 of 2 groups; the median over groups of their mean errors is 25.0 %, the formula's 31.2 %.\n", text)

    def test_left_out_points_and_pairs(self):
        text = tables(result(left_out=[{"by": "source", "name": "someone/runs", "points": 46, "mean_error": 0.123, "inside": 0.78, "width": 0.34, "interval_score": 0.6},
                                       {"by": "machine", "name": "h100", "points": 1, "mean_error": 0, "inside": 1, "width": 1, "interval_score": 1}],
                             left_out_pairs=[{"kind": "machine", "pairs": 40, "sources": 3, "inside": 0.905, "width": 0.22}, {"kind": "precision", "pairs": 2, "sources": 1}]))
        self.assertIn("| someone/runs | 46 | 12.3 | 78 | 34 |\n", text)
        self.assertNotIn("h100", text)
        self.assertIn("| the source | 78.0 | 34 | 0.600 |\n| the machine | 100.0 | 100 | 1.000 |\n", text)
        self.assertIn("| machine | 40 | 3 | 90.5 | 22 |\n| precision | 2 | 1 | - | - |\n", text)

    def test_decades_of_collectives_begin_at_their_lower_end(self):
        def collective(machine, bytes, error):
            return {"subject": "collective", "machine": machine, "bytes": bytes, "error": error}
        text = tables(result(points=[collective("two", 8, 0.5), collective("two", 9999, -0.1), collective("two", 10000, 1), collective("two", 8e9, 0),
                                     collective("one", 1e9 - 1, -0.25), {**collective("two", 1e5, 8), "failure": "no"}]))
        self.assertTrue(text.endswith("| one | 1 | - | - | 25.0 | - |\n| two | 4 | 30.0 | 100.0 | - | 0.0 |\n"), text)

    def test_kernels_of_steps_have_a_column_for_each_table(self):
        def step(file, group, error, **more):
            return {"subject": "step kernel", "where": f"profiles/tables/{file}/steps.csv:3", "group": group, "error": error, "measured_s": 2.0, **more}
        whole = {"subject": "step", "differences_by_kind_s": 0.5}
        text = tables(result(points=[step("x", "matmul", 0.25), step("x", "matmul", -0.75), step("y", "norm", 0.125), step("x", "norm", 9, failure="no"),
                                     step("x", "decoders", -0.125, **whole)]))
        self.assertIn("| kernels | x | y |\n", text)
        self.assertIn("| matmul | 50.0 % (2) | - |\n| norm | - | 12.5 % (1) |\n| whole step | 12.5 % (1) | - |\n| differences of its kinds | 25.0 % (1) | - |\n", text)

    def test_tables_go_between_the_markers_and_nowhere_else(self):
        document = "before\n<!-- accuracy: begin -->\nold\n<!-- accuracy: end -->\nafter\n"
        self.assertEqual(with_tables(document, "new\n"), "before\n<!-- accuracy: begin -->\nnew\n<!-- accuracy: end -->\nafter\n")
        for other in ("nothing", document + document):
            self.assertRaises(ValueError, with_tables, other, "new\n")


if __name__ == "__main__":
    unittest.main()
