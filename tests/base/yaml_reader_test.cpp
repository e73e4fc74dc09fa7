#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "tests/about.hpp"
#include "tests/base/input_error_text.hpp"

using namespace base;

namespace {

// What a reader of the whole map `text` complains about.
template <class Read>
std::string complaints(const std::string& text, Read read) {
  const Yaml y = parse_yaml(text, "f.yaml");
  return input_error_text([&] {
    Diagnostics sink;
    MapReader reader(y, "cluster", sink);
    read(reader);
    sink.throw_if_any();
  });
}

}  // namespace

TEST_CASE("right values are read and an absent key is nothing") {
  const Yaml y = parse_yaml("{n: 4, m: 300e9, x: 0.5, b: true, t: hello, s: 1.5 us, q: \"12.5 GB/s\", c: adam}", "f.yaml");
  Diagnostics sink;
  MapReader r(y, "", sink);
  CHECK(r.integer("n") == 4);
  CHECK(r.integer("m") == 300'000'000'000);
  CHECK(r.number("x") == 0.5);
  CHECK(r.boolean("b") == true);
  CHECK(r.text("t") == "hello");
  CHECK(r.seconds("s")->value() == test::about(1.5e-6));
  CHECK(r.bandwidth("q")->value() == 12.5e9);
  CHECK(r.choice("c", std::vector<std::string>{"sgd", "adam"}) == 1);
  CHECK_FALSE(r.integer("absent"));
  r.finish();
  CHECK(sink.empty());
}

TEST_CASE("a quantity without a unit says what to write") {
  CHECK(complaints("bandwidth: 400\n", [](MapReader& r) { r.bandwidth("bandwidth"); }) ==
        "f.yaml:1:12: cluster.bandwidth: \"400\" has no unit\n"
        "    1 | bandwidth: 400\n"
        "      |            ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"");
  CHECK(complaints("bandwidth: 400 us\n", [](MapReader& r) { r.bandwidth("bandwidth"); }) ==
        "f.yaml:1:12: cluster.bandwidth: \"400 us\" is not a bandwidth\n"
        "    1 | bandwidth: 400 us\n"
        "      |            ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"");
  CHECK(complaints("latency: -1 us\n", [](MapReader& r) { r.seconds("latency"); }) ==
        "f.yaml:1:10: cluster.latency: \"-1 us\" is negative\n"
        "    1 | latency: -1 us\n"
        "      |          ^");
}

TEST_CASE("unknown and missing keys are reported together") {
  CHECK(complaints("nodez: 1\ncolour: red\n",
                   [](MapReader& r) {
                     r.integer("nodes");
                     r.require("links");
                     r.finish();
                   }) ==
        "f.yaml:1:1: cluster: missing key \"links\"\n"
        "    1 | nodez: 1\n"
        "      | ^\n"
        "f.yaml:1:1: cluster: unknown key \"nodez\"\n"
        "    1 | nodez: 1\n"
        "      | ^~~ did you mean \"nodes\"?\n"
        "f.yaml:2:1: cluster: unknown key \"colour\"\n"
        "    2 | colour: red\n"
        "      | ^~~ one of: nodes, links");
}

TEST_CASE("numbers outside their range name the bound") {
  CHECK(complaints("nodes: -1\n", [](MapReader& r) { r.integer("nodes", 1); }) ==
        "f.yaml:1:8: cluster.nodes: nodes must be at least 1, found -1\n    1 | nodes: -1\n      |        ^");
  CHECK(complaints("zero: 5\n", [](MapReader& r) { r.integer("zero", 0, 3); }) ==
        "f.yaml:1:7: cluster.zero: zero must be at most 3, found 5\n    1 | zero: 5\n      |       ^");
  CHECK(complaints("share: 1.5\n", [](MapReader& r) { r.number("share", 0, 1); }) ==
        "f.yaml:1:8: cluster.share: share must be at most 1, found 1.5\n    1 | share: 1.5\n      |        ^");
}

TEST_CASE("a wrong type says what was found") {
  CHECK(complaints("nodes: \"4\"\n", [](MapReader& r) { r.integer("nodes"); }) ==
        "f.yaml:1:8: cluster.nodes: expected an integer, found the text \"4\"\n    1 | nodes: \"4\"\n      |        ^~~ remove the quotes");
  CHECK(complaints("nodes: 1.5\n", [](MapReader& r) { r.integer("nodes"); }) ==
        "f.yaml:1:8: cluster.nodes: expected an integer, found \"1.5\"\n    1 | nodes: 1.5\n      |        ^");
  CHECK(complaints("name:\n  - x\n", [](MapReader& r) { r.text("name"); }) ==
        "f.yaml:2:3: cluster.name: expected text, found a list\n    2 |   - x\n      |   ^");
  CHECK(complaints("on: yes\n", [](MapReader& r) { r.boolean("on"); }) ==
        "f.yaml:1:5: cluster.on: expected true or false, found \"yes\"\n    1 | on: yes\n      |     ^~~ write true");
  CHECK(complaints("optimizer: adm\n",
                   [](MapReader& r) {
                     r.choice("optimizer", std::vector<std::string>{"sgd", "adam"});
                   }) ==
        "f.yaml:1:12: cluster.optimizer: unknown optimizer \"adm\"\n    1 | optimizer: adm\n      |            ^~~ did you mean \"adam\"?");
}

TEST_CASE("a number that is written otherwise leads to ours") {
  const auto hint = [](const std::string& text) {
    const std::string said = complaints("n: " + text + "\n", [](MapReader& r) { r.integer("n"); });
    return said.substr(std::min(said.size(), said.rfind('^')));
  };
  CHECK(hint("1,024") == "^~~ write 1024");
  CHECK(hint("1_024") == "^~~ write 1024");
  CHECK(hint("010") == "^~~ write 10");  // eight in YAML 1.1
  CHECK(hint("128k") == "^~~ write 128000, or 131072");
  CHECK(hint("4M") == "^~~ write 4e6");
  CHECK(hint("4x") == "^~~ write 4");
  CHECK(hint("99999999999999999999") == "^~~ write at most 9007199254740992");
  CHECK(hint("50%") == "^");
  CHECK(hint("0,9") == "^");
  CHECK(hint("four") == "^");
  const auto share = [](const char* text) { return complaints(text, [](MapReader& r) { r.number("n"); }); };
  for (const char* half : {"n: 0.5\n", "n: 50%\n", "n: \"50 %\"\n"})
    CHECK(complaints(half, [](MapReader& r) { CHECK(r.number("n") == 0.5); }) == "");
  CHECK(share("n: few %\n").ends_with("expected a number, found \"few %\"\n    1 | n: few %\n      |    ^"));
  CHECK(share("n: 2:1\n").ends_with("~~ write 2"));
  const auto amount = [](const char* text) { return complaints(text, [](MapReader& r) { r.amount("n", 1, 1'000'000'000'000'000); }); };
  CHECK(amount("n: 2 T\n") == "");
  CHECK(amount("n: 2t\n").ends_with("~~ write 2e12"));
  CHECK(amount("n: 2TB\n").ends_with("~~ write e.g. 300e9, 300B or 2T"));
}

TEST_CASE("keys of other tools lead to ours, however they are written") {
  const auto hint = [](const std::string& key) {
    const std::string said = complaints(key + ": 1\n", [](MapReader& r) {
      for (const char* known : {"tensor", "precision", "rank"}) (void)r.optional(known);
      r.finish();
    });
    return said.substr(said.rfind("~~ ") + 3);
  };
  for (const char* key : {"tp", "tensor_model_parallel_size", "tensor-model-parallel-size", "--tensor-model-parallel-size", "TP"})
    CHECK(hint(key) == "it is called \"tensor\" here");
  CHECK(hint("bf16") == "write precision: bf16 in training");
  CHECK(hint("lr") == "leave it out: it changes no time");
  CHECK(hint("zero_optimization").starts_with("it is of a plan"));
}

TEST_CASE("a file without its version says how it begins; what is no map has an example") {
  CHECK(complaints("nodes: 1\n", [](MapReader& r) { r.format(); }).ends_with("^~~ write \"foreshard: 1\" in the first line"));
  Diagnostics sink;
  const Yaml word = parse_yaml("dgx-h100", "f.yaml");
  const MapReader r(word, "cluster", sink, "{preset: dgx-h100}");
  CHECK(input_error_text([&] { sink.throw_if_any(); }).ends_with("^~~ write e.g. {preset: dgx-h100}"));
}

TEST_CASE("what is no map is said once, and reads as empty") {
  CHECK(complaints("[a]", [](MapReader& r) {
          r.require("links");
          r.finish();
        }) == "f.yaml:1:1: cluster: expected a map, found a list\n    1 | [a]\n      | ^");
}

TEST_CASE("a complaint stands at the key's value, or at the map") {
  CHECK(complaints("a: 1\n", [](MapReader& r) { r.complain("a", "too odd", "make it even"); }) ==
        "f.yaml:1:4: cluster.a: too odd\n    1 | a: 1\n      |    ^~~ make it even");
  CHECK(complaints("a: 1\n", [](MapReader& r) { r.complain("b", "needs b"); }) == "f.yaml:1:1: cluster: needs b\n    1 | a: 1\n      | ^");
}

TEST_CASE("a quantity that no machine has is refused where it stands") {
  const auto read = [](const char* text) {
    return complaints(text, [](MapReader& r) {
      (void)r.bandwidth("b");
      (void)r.seconds("t");
      (void)r.bytes("m");
      (void)r.flops_rate("f");
    });
  };
  CHECK(read("b: 0 B/s\nt: 0 s\nm: 0 B\nf: 0 TFLOP/s\n") == "");
  CHECK(read("b: 1e6 TB/s\nt: 1e10 s\nm: 1e9 TB\nf: 1e6 EFLOP/s\n") == "");
  CHECK(read("b: 1e-320 GB/s\n").starts_with("f.yaml:1:4: cluster.b: \"1e-320 GB/s\" is below 1 B/s"));
  CHECK(read("b: 1e10 GB/s\n").starts_with("f.yaml:1:4: cluster.b: \"1e10 GB/s\" is above 1e6 TB/s"));
  CHECK(read("t: 1e-30 s\n").find("is below 1e-15 s") != std::string::npos);
  CHECK(read("m: 1e10 TB\n").find("is above 1e9 TB") != std::string::npos);
  CHECK(read("f: 1e-9 GFLOP/s\n") == "");
}

TEST_CASE("a key that had another name before is refused with its name of today, where the map has that") {
  CHECK(complaints("likeness: 1\n", [](MapReader& r) {
          (void)r.optional("similarity");
          r.finish();
        }) == "f.yaml:1:1: cluster: unknown key \"likeness\"\n    1 | likeness: 1\n      | ^~~ it is called \"similarity\" since 0.2.0");
  CHECK(complaints("likeness: 1\n", [](MapReader& r) {
          (void)r.optional("name");
          r.finish();
        }) == "f.yaml:1:1: cluster: unknown key \"likeness\"\n    1 | likeness: 1\n      | ^~~ one of: name");
}
