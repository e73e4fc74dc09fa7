"""Notebook tables and frames."""
import sys
import types
import unittest
from html.parser import HTMLParser
from unittest import mock

import foreshard
from foreshard.records import row
from foreshard.tables import duration

from .scenarios import small


class Tags(HTMLParser):
    """Collects tags with their attributes and the text between them, and that each tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


NASTY = "<script>alert('&')</script>"


class NotebookTest(unittest.TestCase):
    def test_names_are_escaped(self) -> None:
        scenario = small(
            name=NASTY,
            plans=[{"data-parallel": {}, "name": NASTY}],
            what_if=[{"name": NASTY + "2", "set": {"cluster.nodes": 4}}],
            sensitivity=True,
            capacity={"train": {"samples": 1000}, "candidates": [{"name": NASTY, "cluster": {"preset": "summit"}, "nodes": 2}]},
        )
        html = foreshard.run(scenario)._repr_html_()
        page = Tags(html)
        self.assertNotIn("script", [tag for tag, _ in page.tags])
        self.assertEqual([t for t in page.text if NASTY in t][:2], [NASTY, NASTY])
        self.assertIn("sensitivity", page.text)
        self.assertIn("capacity", page.text)

    def test_nothing_is_fetched_and_no_colour_is_set(self) -> None:
        for answer in (foreshard.run(small()), foreshard.ValidationResult({"groups": [{"subject": "a", "group": "b", "points": 1}]})):
            html = answer._repr_html_()
            for word in ("http", "src", "url(", "background", "<style", "<link"):
                self.assertNotIn(word, html)
            for tag, attributes in Tags(html).tags:
                self.assertNotIn("color", (attributes.get("style") or "").replace("color: inherit", ""), tag)

    def test_rows_have_as_many_cells_as_the_header(self) -> None:
        full = {"batch_per_gpu": 4096, "precision": "fp32", "optimizer": "adam"}
        for result in (foreshard.run(small()), foreshard.run(small(training=full)), foreshard.run(small(plans=[{"megatron": {"tensor": 5}}]))):
            rows = result._repr_html_().split("<tr>")[1:]
            self.assertEqual({r.count("</td>") + r.count("</th>") for r in rows}, {15})

    def test_long_tables_end_and_say_so(self) -> None:
        run = foreshard.run(small()).raw["runs"][0]
        html = foreshard.Result({"scenario": "s", "runs": [run] * 1000})._repr_html_()
        self.assertIn("and 800 more", html)
        self.assertLess(len(html), 500_000)

    def test_durations_have_a_unit(self) -> None:
        self.assertEqual([duration(s) for s in (0.4127, 1.5e-5, 90, 200000)], ["412.7 ms", "15 us", "1.5 min", "2.315 d"])


class FrameTest(unittest.TestCase):
    def test_rows_are_flat(self) -> None:
        self.assertEqual(
            row({"a": {"b": {"c": 1}}, "t_interval_s": [1, 2], "notes": ["x"]}),
            {"a.b.c": 1, "t_interval_s.low": 1, "t_interval_s.high": 2, "notes": ["x"]},
        )

    def test_without_pandas_the_text_says_what_helps(self) -> None:
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "python3-pandas.*rows"):
                foreshard.run(small()).to_frame()

    def test_with_pandas_each_list_is_a_frame(self) -> None:
        candidate = {"cluster": {"preset": "summit"}, "nodes": [2, 4]}
        result = foreshard.run(small(sensitivity=True, capacity={"train": {"samples": 1000}, "candidates": [candidate]}))
        pandas = types.SimpleNamespace(DataFrame=lambda rows: rows)
        with mock.patch.dict(sys.modules, {"pandas": pandas}):
            self.assertEqual(result.to_frame(), result.rows())
            self.assertEqual(result.sensitivity_frame()[0]["improved.change"], "2x")
            self.assertEqual([r["nodes"] for r in result.capacity_frame()], [2, 2, 4, 4])

    def test_a_frame_of_the_pandas_that_is_there(self) -> None:
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        result = foreshard.run(small())
        frame = result.to_frame()
        self.assertEqual(list(frame["plan"]), ["data-parallel", "megatron"])
        self.assertEqual(frame["memory_bytes.peak"].max(), max(r["memory_bytes"]["peak"] for r in result.runs))
