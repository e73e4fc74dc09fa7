#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/yaml/parse.hpp"

using namespace base;

namespace {

bool same_but_for_marks(const Yaml& a, const Yaml& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.quoted != b.quoted || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same_but_for_marks(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !same_but_for_marks(a.entries[i].value, b.entries[i].value)) return false;
  return true;
}

// Scalars are drawn from the characters that YAML treats as special, and a few that it does not.
std::string any_text() {
  return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aZ09 .,:;#-+*&!|>'\"%@`?[]{}~=/\\\n\t_nulxe")));
}

Yaml any_tree(int levels) {
  const int kind = *rc::gen::inRange(0, levels > 0 ? 5 : 3);
  if (kind == 0) return {};
  if (kind <= 2) return Yaml::make_scalar(any_text());
  Yaml y = kind == 3 ? Yaml::make_sequence() : Yaml::make_map();
  const int size = *rc::gen::inRange(0, 5);
  for (int i = 0; i < size; ++i) {
    if (kind == 3) y.items.push_back(any_tree(levels - 1));
    else y.set(any_text(), any_tree(levels - 1));
  }
  return y;
}

}  // namespace

TEST_CASE("small collections share a line, big ones are blocks") {
  const std::string text =
      "name: x\n"
      "note: \"4\"\n"
      "links: {wire: {bandwidth: 50 GB/s, latency: 1 us}}\n"
      "wires:\n"
      "  - {between: [gpu0, gpu1], link: wire}\n"
      "  - deep:\n"
      "      a:\n"
      "        b: {c: {d: 1}}\n"
      "    none: null\n"
      "empty: {list: [], map: {}}\n";
  CHECK(emit_yaml(parse_yaml(text, "f")) == text);
}

TEST_CASE("text that YAML would misread is quoted") {
  CHECK(emit_yaml(Yaml::make_scalar("null")) == "\"null\"\n");
  CHECK(emit_yaml(Yaml::make_scalar("a: b")) == "\"a: b\"\n");
  CHECK(emit_yaml(Yaml::make_scalar("a\n\"b\"")) == "\"a\\n\\\"b\\\"\"\n");
  CHECK(emit_yaml(Yaml::make_scalar("+10%")) == "+10%\n");
  CHECK(emit_yaml(Yaml::make_scalar("50 GB/s")) == "50 GB/s\n");
}

TEST_CASE("what is emitted reads back the same") {
  CHECK(rc::check("parse(emit(y)) == y", [] {
    const Yaml y = any_tree(4);
    RC_ASSERT(same_but_for_marks(parse_yaml(emit_yaml(y), "f"), y));
  }));
}
