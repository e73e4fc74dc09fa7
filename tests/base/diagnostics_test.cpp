#include "base/diagnostics.hpp"

#include <doctest/doctest.h>

#include "tests/base/input_error_text.hpp"

using namespace base;

namespace {

Mark mark_in(std::string text, int line, int column) {
  return {std::make_shared<const Source>(Source{"f.yaml", std::move(text)}), line, column};
}

const std::vector<std::string> kNames{"nodes", "links", "network"};

}  // namespace

TEST_CASE("a diagnostic shows position, path, line, caret and hint") {
  const Diagnostic d{mark_in("cluster:\n  bandwidth: 400\n", 2, 14), "cluster.bandwidth", "\"400\" has no unit", "write \"400 GB/s\""};
  CHECK(render(d) ==
        "f.yaml:2:14: cluster.bandwidth: \"400\" has no unit\n"
        "    2 |   bandwidth: 400\n"
        "      |              ^~~ write \"400 GB/s\"");
}

TEST_CASE("without a hint there is only the caret, without a position only the file") {
  CHECK(render({mark_in("a: b\r\n", 1, 4), {}, "wrong", {}}) == "f.yaml:1:4: wrong\n    1 | a: b\n      |    ^");
  CHECK(render({mark_in("", 0, 0), {}, "empty", {}}) == "f.yaml: empty");
  CHECK(render({{}, "plan", "wrong", "right it"}) == "plan: wrong\n       right it");
}

TEST_CASE("the caret stands under its column after tabs and letters of several bytes") {
  CHECK(render({mark_in("\t\u00e9: x", 1, 6), {}, "m", {}}) == "f.yaml:1:6: m\n    1 | \t\u00e9: x\n      | \t   ^");
}

TEST_CASE("a long line is cut around the column") {
  const std::string text = render({mark_in(std::string(500, 'a') + "!" + std::string(500, 'b'), 1, 501), {}, "m", {}});
  // 140 bytes, 70 of them before the column.
  CHECK(text ==
        "f.yaml:1:501: m\n    1 | ..." + std::string(70, 'a') + "!" + std::string(69, 'b') + "...\n      | " + std::string(73, ' ') + "^");
}

TEST_CASE("all diagnostics are thrown at once, by file, line and column, each once") {
  Diagnostics sink;
  CHECK_NOTHROW(sink.throw_if_any());
  sink.add(mark_in("a\nb\n", 2, 1), {}, "second");
  sink.add(mark_in("a\nb\n", 1, 1), {}, "first");
  sink.add(mark_in("a\nb\n", 2, 1), {}, "second");
  CHECK(input_error_text([&] { sink.throw_if_any(); }) ==
        "f.yaml:1:1: first\n    1 | a\n      | ^\nf.yaml:2:1: second\n    2 | b\n      | ^");
}

TEST_CASE("the nearest name is found by edit distance") {
  CHECK(nearest_name("nodez", kNames) == "nodes");
  CHECK(nearest_name("newtork", kNames) == "network");
  CHECK(nearest_name("bandwidth", kNames).empty());
  CHECK(nearest_name("x", std::vector<std::string>{"y"}).empty());  // nothing of it would stay
  const std::vector<std::string> shipped = {"dgx-h100", "dgx-a100-80gb", "dgx-a100-40gb-pcie", "unity", "uniap"};
  CHECK(nearest_name("dgx-a100", shipped) == "dgx-a100-80gb");  // a beginning is nearer than another name of its length
  CHECK(nearest_name("dgx-h10", shipped) == "dgx-h100");
  CHECK(nearest_name("vocabulary", std::vector<std::string>{"voc", "causal", "vocab"}) == "vocab");
  CHECK(nearest_name("nodez", std::vector<std::string>{"node", "nodes"}) == "node");  // of those at one distance the first
  CHECK(nearest_name("unipa", shipped) == "uniap");
  CHECK(nearest_name("un", shipped).empty());
  CHECK(nearest_name("DGX_H100", shipped) == "dgx-h100");
  CHECK(nearest_name("BF16", std::vector<std::string>{"fp16", "bf16"}) == "bf16");
  CHECK(nearest_name("bfloat16", std::vector<std::string>{"fp16", "bf16"}) == "bf16");
  CHECK(nearest_name("--seq-length", std::vector<std::string>{"--on", "--sequence-length"}) == "--sequence-length");
  for (const char* far : {"gpus", "tp", "fp8"}) CHECK(nearest_name(far, std::vector<std::string>{"jobs", "on", "fp32"}).empty());
  CHECK(suggest("nodez", kNames) == "did you mean \"nodes\"?");
  CHECK(suggest("bandwidth", kNames) == "one of: nodes, links, network");
  CHECK(suggest("bandwidth", {}).empty());
}
