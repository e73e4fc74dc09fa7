#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "base/files/text_file.hpp"
#include "base/yaml/parse.hpp"
#include "tests/base/input_error_text.hpp"

using namespace base;

namespace {

std::string error_of(const std::string& text) {
  return input_error_text([&] { (void)parse_yaml(text, "f.yaml"); });
}

}  // namespace

TEST_CASE("a tree keeps order, kinds, quotes and places") {
  const Yaml y = parse_yaml("name: x\nlinks:\n  wire: {bandwidth: 4x, note: \"8\"}\nnothing:\nlist: [1, ~]\n", "f.yaml");
  REQUIRE(y.is_map());
  CHECK(y.entries.size() == 4);
  CHECK(y.entries[1].key == "links");
  const Yaml* wire = y.find("links")->find("wire");
  REQUIRE(wire);
  CHECK(wire->find("bandwidth")->scalar == "4x");
  CHECK_FALSE(wire->find("bandwidth")->quoted);
  CHECK(wire->find("note")->quoted);
  CHECK(wire->find("bandwidth")->mark.line == 3);
  CHECK(wire->find("bandwidth")->mark.column == 21);
  CHECK(wire->entries[1].key_mark.column == 25);
  CHECK(y.find("nothing")->is_null());
  CHECK(y.find("list")->items[1].is_null());
  CHECK(y.find("absent") == nullptr);
}

TEST_CASE("JSON is YAML, tabs between values included") {
  const Yaml y = parse_yaml("{\"a\": \"4x\",\n\t\"b\": [1,\n\t\t{\"c\": true}]}", "f.json");
  CHECK(y.find("a")->scalar == "4x");
  CHECK(y.find("b")->items[1].find("c")->scalar == "true");
}

TEST_CASE("an alias stands for a copy of its anchor") {
  const Yaml y = parse_yaml("a: &x {b: 1}\nc: *x\n", "f.yaml");
  CHECK(y.find("c")->find("b")->scalar == "1");
  CHECK(y.find("c")->find("b")->mark.line == 1);
}

TEST_CASE("every duplicate key is reported, with its path") {
  CHECK(error_of("a: 1\na: 2\nb:\n  - {c: 1, c: 2}\n") ==
        "f.yaml:2:1: duplicate key \"a\"\n    2 | a: 2\n      | ^~~ it was given in line 1 already\n"
        "f.yaml:4:12: b[0]: duplicate key \"c\"\n    4 |   - {c: 1, c: 2}\n      |            ^~~ it was given in line 4 already");
}

TEST_CASE("text that is not YAML is reported where it stops to be") {
  CHECK(error_of("a: {b: [\n") ==
        "f.yaml:2:1: not YAML: end of sequence flow not found\n    2 | \n      | ^~~ the \"[\" in line 1 has no end");
  CHECK(error_of("a:\n\tb: 1\n") ==
        "f.yaml:2:3: not YAML: illegal map value\n    2 | \tb: 1\n      | \t ^~~ indent line 2 with blanks, not with tabs");
  CHECK(error_of("a:\n\xC2\xA0\xC2\xA0"
                 "b: 1\n  c: 2\n")
            .find("indent line 2 with blanks") != std::string::npos);
  CHECK(error_of("a: {b: 1\nc:\n  d: 2\n").ends_with("~~ the \"{\" in line 1 has no end"));
  CHECK(error_of("a: [gpu[0-3], cpu0]\n").find("a text that has brackets needs quotes") != std::string::npos);
  CHECK(error_of("a:\n  b:1\n  c: 2\n").find("\"key: value\" with a blank after the colon") != std::string::npos);
  const std::string anchor = error_of("a: *b\n");  // since 0.8 yaml-cpp names it, too
  CHECK(anchor.starts_with("f.yaml:1:4: not YAML: the referenced anchor is not defined"));
  CHECK(anchor.ends_with("\n    1 | a: *b\n      |    ^"));
  CHECK(error_of("a: \"x\n") == "f.yaml:1:4: a: the quote that starts here does not end\n    1 | a: \"x\n      |    ^");
}

TEST_CASE("a value that is missing is reported where it is missed, not where the next begins") {
  const auto mark_of = [](const char* text) { return parse_yaml(text, "f.yaml").entries[0].value.mark; };
  CHECK(mark_of("a:\n\n# b\nb: 1\n").line == 1);
  CHECK(mark_of("a:\n").line == 1);
  CHECK(mark_of("a: null\nb: 1\n").column == 4);
  const Yaml list = parse_yaml("a:\n  -\n  - b\n", "f.yaml");
  CHECK(list.find("a")->items[0].mark.line == 2);
  CHECK(list.find("a")->items[0].mark.column == 3);
}

TEST_CASE("what YAML allows and we do not is said") {
  CHECK(error_of("? [a]\n: b\n") == "f.yaml:1:3: a key must be text\n    1 | ? [a]\n      |   ^");
  CHECK(error_of("a: !b c\n") == "f.yaml:1:4: a: the tag \"!b\" is not supported\n    1 | a: !b c\n      |    ^~~ remove it");
  CHECK(error_of("a: 1\n---\nb: 2\n") ==
        "f.yaml:2:1: more than one document: only one is allowed\n    2 | ---\n      | ^~~ make a file of each");
  CHECK(error_of("a: &b [*b]\n") == "f.yaml:1:8: a[0]: an alias inside the value that it stands for\n    1 | a: &b [*b]\n      |        ^");
}

TEST_CASE("aliases of aliases that would fill the memory are refused") {
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int j = 1; j < 10; ++j) text += ", " + below;
    text += "]\n";
  }
  CHECK(error_of(text).find("aliases expand to more than 1000000 values") != std::string::npos);
}

TEST_CASE("an empty text, a missing file, a folder and bytes that are no text are bad input") {
  CHECK(error_of("") == "f.yaml: empty: there is nothing in it but blanks and comments");
  CHECK(error_of("# only this\n\n") == "f.yaml: empty: there is nothing in it but blanks and comments");
  CHECK(error_of("a: 1\nb: \xFF\n") == "f.yaml: not text in UTF-8: byte 0xff in line 2");
  CHECK(input_error_text([] { (void)read_yaml("/nonexistent.yaml"); }) == "/nonexistent.yaml: cannot be read: No such file or directory");
  CHECK(input_error_text([] { (void)read_yaml("/"); }) == "/: cannot be read: Is a directory");
}

TEST_CASE("any text is a tree or bad input, never a crash") {
  CHECK(rc::check("arbitrary text", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab1 :,-?#&*!|>'\"%@`[]{}~=<\\\n\n\t\r")));
    try {
      (void)parse_yaml(text, "f.yaml");
    } catch (const InputError& e) { RC_ASSERT(!e.diagnostics().empty()); }
  }));
}

TEST_CASE("lists and maps that are nested too deeply are refused before they are parsed, with the place") {
  const auto times = [](int n, const std::string& what) {
    std::string text;
    for (int i = 0; i < n; ++i) text += what;
    return text;
  };
  const std::string why = ": lists and maps inside each other, more than 100 deep\n";
  CHECK(error_of(times(10'000'000, "[")).starts_with("f.yaml:1:101" + why));
  CHECK(error_of("a:\n" + times(3000, "{b: ")).starts_with("f.yaml:2:401" + why));
  CHECK(error_of(times(3000, "{\"rule\":[")).starts_with("f.yaml:1:451" + why));
  CHECK(error_of(times(300, "[\n")).starts_with("f.yaml:101:1" + why));
  CHECK(error_of(times(300, "[&x ")).starts_with("f.yaml:1:401" + why));
  CHECK(error_of(times(300, "- ")).starts_with("f.yaml:1:201" + why));  // without brackets, the tree's depth decides
  CHECK(error_of(times(100, "[") + times(100, "]")) == "");
  CHECK(error_of(times(100, "- ")) == "");
}

TEST_CASE("brackets that are text do not count as nesting") {
  const std::string many(300, '[');
  for (const std::string& text :
       {"a: \"" + many + "\"", "a: '" + many + "''" + many + "'", "a: \"\\\"" + many + "\"", "a: x" + many,
        "# " + many + "\na: 1 # " + many, "[\"" + many + "\", '" + many + "']", "a: |\n  " + many + "\n\n  " + many,
        "- b: >-\n    " + many + "\n  c: 1", "a: it's " + many, "- \"" + many + "\": 1"}) {
    CAPTURE(text);
    CHECK(error_of(text) == "");
  }
  // After a text, brackets count again.
  for (const char* text : {"a: |\n  x\nb: ", "a: 'it''s'\nb: ", "# x\n", "- b: >-\n    x\n  c: ", "{\"a\":\"[\",b: "})
    CHECK(error_of(text + many).find("more than 100 deep") != std::string::npos);
}

TEST_CASE("a text ends at its first zero byte, its limit, or two million values, whatever would follow") {
  CHECK(input_error_text([] { (void)read_yaml("/dev/zero"); }) == "/dev/zero: not text in UTF-8: byte 0x00 in line 1");
  CHECK(input_error_text([] { (void)read_text_file("/dev/stdin/absent"); }).find("cannot be read") != std::string::npos);
  CHECK(input_error_text([] { (void)read_text_file(SOURCE_DIRECTORY "/CMakeLists.txt", 100); }) == SOURCE_DIRECTORY
        "/CMakeLists.txt: is larger than 100 B");
  std::string list = "[0";
  for (int i = 0; i < 2'000'000; ++i) list += ",0";
  CHECK(error_of(list + "]").find("more than 2000000 values") != std::string::npos);
}

TEST_CASE("a map of many keys and a file of many problems take no long time") {
  std::string keys, twice;
  for (int i = 0; i < 100'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  CHECK(parse_yaml(keys, "f.yaml").entries.size() == 100'000);
  for (int i = 0; i < 5'000; ++i) twice += "k: 1\n";
  try {
    (void)parse_yaml(twice, "f.yaml");
    FAIL("no exception");
  } catch (const InputError& e) { CHECK(e.diagnostics().size() == 1000); }
}
