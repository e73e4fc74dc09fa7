#include "base/csv.hpp"

#include <doctest/doctest.h>

#include "tests/base/input_error_text.hpp"

TEST_CASE("quotes, doubled quotes and line ends inside them are text; comments and empty lines are skipped") {
  const base::CsvTable t = base::parse_csv("# made by hand\na,b\n\n\"1,2\",\"say \"\"x\"\"\"\n\"two\nlines\",z\n", "t.csv");
  CHECK(t.columns == std::vector<std::string>{"a", "b"});
  REQUIRE(t.rows.size() == 2);
  CHECK(t.rows[0].cells == std::vector<std::string>{"1,2", "say \"x\""});
  CHECK(t.rows[1].cells == std::vector<std::string>{"two\nlines", "z"});
  CHECK(t.rows[1].mark.line == 5);  // the comment, the header, the empty line and the first row stand above it
  CHECK(t.find("b") == 1);
  CHECK_FALSE(t.find("c").has_value());
}

TEST_CASE("every damaged row is reported at once") {
  CHECK(input_error_text([] { (void)base::parse_csv("a,a\n1\n1,2,3\n", "t.csv"); }) ==
        "t.csv:1:1: two columns are called \"a\"\n"
        "    1 | a,a\n"
        "      | ^\n"
        "t.csv:2:1: 1 cells, but the header has 2 columns\n"
        "    2 | 1\n"
        "      | ^~~ is the file cut off?\n"
        "t.csv:3:1: 3 cells, but the header has 2 columns\n"
        "    3 | 1,2,3\n"
        "      | ^~~ is the file cut off?");
}

TEST_CASE("columns that something else than commas separates are said to be so") {
  CHECK(input_error_text([] { (void)base::parse_csv("a;b\n1;2\n", "t.csv"); }) ==
        "t.csv:1:1: columns are separated by semicolons\n    1 | a;b\n      | ^~~ separate them by commas");
  CHECK(input_error_text([] { (void)base::parse_csv("a\tb\n1\t2\n", "t.csv"); }).starts_with("t.csv:1:1: columns are separated by tabs"));
}
