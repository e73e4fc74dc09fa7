#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "tests/base/input_error_text.hpp"

using namespace base;

namespace {

constexpr const char* kCluster =
    "nodes: 4\n"
    "cpus:\n"
    "links:\n"
    "  nvlink: {bandwidth: 50 GB/s, latency: 1.3 us}\n"
    "  wire: {bandwidth: 12.5 GB/s}\n"
    "wires: [{link: wire}, {link: nvlink}]\n";

// kCluster after the patch, or the complaint about it.
std::string patched(std::string_view path, const std::string& value, UnknownKey unknown = UnknownKey::refuse) {
  Yaml root = parse_yaml(kCluster, "cluster.yaml");
  const Yaml patch = parse_yaml(value, "set.yaml");
  const std::string error = input_error_text([&] {
    Diagnostics sink;
    patch_yaml(root, path, patch, sink, "set", unknown);
    sink.throw_if_any();
  });
  return error.empty() ? emit_yaml(root) : error;
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = emit_yaml(parse_yaml(kCluster, "f"));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a factor scales a number and keeps its unit") {
  CHECK(patched("links.wire.bandwidth", "4x") == with("12.5 GB/s", "50 GB/s"));
  CHECK(patched("links.wire.bandwidth", "\"4x\"") == with("12.5 GB/s", "50 GB/s"));
  CHECK(patched("links.wire.bandwidth", "0.5x") == with("12.5 GB/s", "6.25 GB/s"));
  CHECK(patched("links.nvlink.latency", "+10%") == with("1.3 us", "1.43 us"));
  CHECK(patched("links.nvlink.latency", "-10%") == with("1.3 us", "1.17 us"));
  // 12.5 / 3 to 12 significant digits.
  CHECK(patched("links.wire.bandwidth", "0.33333333333333333x") == with("12.5 GB/s", "4.16666666667 GB/s"));
}

TEST_CASE("an integer stays one") {
  CHECK(patched("nodes", "2x") == with("nodes: 4", "nodes: 8"));
  CHECK(patched("nodes", "+25%") == with("nodes: 4", "nodes: 5"));
  CHECK(patched("nodes", "1.1x") ==
        "set.yaml:1:1: set: nodes = 4 scaled by \"1.1x\" is 4.4, which is not an integer\n    1 | 1.1x\n      | ^~~ write the new value "
        "instead");
}

TEST_CASE("other values replace, maps are merged") {
  CHECK(patched("nodes", "16") == with("nodes: 4", "nodes: 16"));
  CHECK(patched("wires[1].link", "wire") == with("link: nvlink", "link: wire"));
  CHECK(patched("links", "{wire: {bandwidth: 2x}}") == with("12.5 GB/s", "25 GB/s"));
}

TEST_CASE("a quantity is not replaced by a bare number, but another dimension is the loader's business") {
  CHECK(patched("links.wire.bandwidth", "400") ==
        "set.yaml:1:1: set: \"400\" has no unit\n    1 | 400\n      | ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"");
  CHECK(patched("links.wire.bandwidth", "400 us") == with("12.5 GB/s", "400 us"));
}

TEST_CASE("an unknown path names the nearest known one") {
  CHECK(patched("links.wirr.bandwidth", "2x") ==
        "set.yaml:1:1: set: unknown key \"links.wirr\"\n    1 | 2x\n      | ^~~ did you mean \"links.wire.bandwidth\"?");
  CHECK(patched("links", "{other: {bandwidth: 1 GB/s}}") ==
        "set.yaml:1:9: set: unknown key \"links.other\"\n    1 | {other: {bandwidth: 1 GB/s}}\n      |         ^~~ one of: nvlink, wire");
  CHECK(patched("wires[2].link", "wire") == "set.yaml:1:1: set: wires has 2 items, so no [2]\n    1 | wire\n      | ^~~ counted from 0");
  CHECK(patched("nodes.count", "2") == "set.yaml:1:1: set: nodes is no map, so it has no \"count\"\n    1 | 2\n      | ^");
  CHECK(patched("links..wire", "2") ==
        "set.yaml:1:1: set: \"links..wire\" is not a path\n    1 | 2\n      | ^~~ write e.g. \"links.infiniband.bandwidth\" or "
        "\"wires[2].link\"");
}

TEST_CASE("what is no number cannot be scaled") {
  CHECK(patched("links.wire", "2x") == "set.yaml:1:1: set: \"2x\" scales a number, but links.wire is none\n    1 | 2x\n      | ^");
  CHECK(patched("wires[0].link", "2x") ==
        "set.yaml:1:1: set: \"2x\" scales a number, but wires[0].link is \"wire\"\n    1 | 2x\n      | ^");
}

TEST_CASE("what was meant as a factor is refused with the ways to write one") {
  for (const std::string text : {"200%", "4 x", "x4", "\"*4\"", "+1"})
    for (const char* path : {"nodes", "links.wire.bandwidth"}) {
      CHECK(patched(path, text).find("is neither a value nor a factor") != std::string::npos);
      CHECK(patched(path, text).find(R"(write e.g. "4x", "+10%")") != std::string::npos);
    }
  CHECK(patched("wires[0].link", "x4").find("is neither a value nor a factor") != std::string::npos);
}

TEST_CASE("a patch that may add keys adds them, and maps on the way") {
  CHECK(patched("links.ethernet.bandwidth", "1 GB/s", UnknownKey::add) ==
        with("wire: {bandwidth: 12.5 GB/s}", "wire: {bandwidth: 12.5 GB/s}, ethernet: {bandwidth: 1 GB/s}"));
  CHECK(
      patched("links.ethernet.bandwidth", "2x", UnknownKey::add) ==
      "set.yaml:1:1: set: \"2x\" scales a number, but links.ethernet.bandwidth is not set\n    1 | 2x\n      | ^~~ write the value itself");
}
