#include "tools/collector/results.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "profiles/kinds.hpp"

namespace collector {
namespace {

using nlohmann::json;

Results made_results() {
  Results r;
  r.device.name = "Made \"Up\" GPU";
  r.environment = {{"cuda", "13.0"}, {"cudnn", ""}};
  r.kernels.push_back({{Operation::linear_weight_gradient, Precision::bf16, MatmulShape{1, 64, 128, 256}}, {1.5e-5, 2e-7, 15, 1}});
  r.copies.push_back({"h2d", "pinned", 1 << 20, {4e-5, 1e-7, 9, 0}});
  r.launch = {4e-6, 4.1e-6, 1.2e-6, 1.5e-4, 200, 9e-6};
  r.overlap.push_back({{Operation::add, Precision::fp32, RowsShape{4, 8}}, "d2h", 1e6, 1e-5, 1.1e-5, 2e-5, 2.2e-5});
  r.collectives.push_back({"all_reduce", 2, 4096, {2e-5, 1e-6, 11, 0}});
  r.left_out = {"fp8: made up"};
  return r;
}

TEST_CASE("the file is JSON with the keys that its description names") {
  const json j = json::parse(to_json(made_results()));
  CHECK(j.at("foreshard_collect") == 1);
  CHECK(j.at("device").at("name") == "Made \"Up\" GPU");
  CHECK(j.at("device").at("compute_capability") == "9.0");
  CHECK(j.at("environment").at("cuda") == "13.0");
  const json& k = j.at("kernels").at(0);
  CHECK(k.at("kind") == "matmul");
  CHECK(k.at("operation") == "linear.weight_gradient");
  CHECK(k.at("precision") == "bf16");
  CHECK(k.at("m") == 256);  // X[k, m] dY[m, n]
  CHECK(k.at("n") == 128);
  CHECK(k.at("k") == 64);
  CHECK(k.at("flops") == 2.0 * 64 * 128 * 256);
  CHECK(k.at("bytes") == 2.0 * (64 * 128 + 64 * 256 + 128 * 256));
  CHECK(k.at("seconds") == 1.5e-5);
  CHECK(k.at("spread") == 2e-7);
  CHECK(k.at("repeats") == 15);
  CHECK(j.at("copies").at(0).at("direction") == "h2d");
  CHECK(j.at("launch").at("graph_kernel_seconds") == 1.2e-6);
  CHECK(j.at("overlap").at(0).at("beside_seconds") == 1.1e-5);
  CHECK(profiles::collective_kind(j.at("collectives").at(0).at("collective").get<std::string>()).has_value());
  CHECK(j.at("iterations").empty());
  CHECK(j.at("left_out").at(0) == "fp8: made up");
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> result;
  for (const auto& [key, value] : object.items()) result.insert(key);
  return result;
}

TEST_CASE("the example file has the keys that are written, and counts that hold") {
  const json written = json::parse(to_json(made_results()));
  std::ifstream in(std::string(SOURCE_DIRECTORY) + "/tests/collector/fixtures/collect.json");
  const json example = json::parse(in);
  CHECK(keys(example) == keys(written));
  for (const char* list : {"kernels", "copies", "overlap", "collectives"})
    for (const json& entry : example.at(list)) CHECK_MESSAGE(keys(entry) == keys(written.at(list).at(0)), list);
  CHECK(keys(example.at("launch")) == keys(written.at("launch")));
  CHECK(keys(example.at("device")) == keys(written.at("device")));
  const Case cases[] = {{Operation::linear_forward, Precision::bf16, MatmulShape{1, 1024, 1024, 1024}},
                        {Operation::linear_weight_gradient, Precision::fp8, MatmulShape{1, 128, 512, 256}},
                        {Operation::convolution_forward, Precision::tf32, ConvolutionShape{8, 128, 7, 7, 128, 3, 3, 1, 1, 1, 32}},
                        {},  // fused attention: of the script
                        {Operation::layer_norm_forward, Precision::fp32, RowsShape{1024, 1024}},
                        {Operation::embedding, Precision::bf16, RowsShape{1024, 1024, 5000}}};
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    if (i == 3) continue;
    const json& k = example.at("kernels").at(i);
    const Work w = work_of(cases[i]);
    CHECK(k.at("operation") == to_text(cases[i].operation));
    CHECK(k.at("m") == w.m);
    CHECK(k.at("k") == w.k);
    CHECK(k.at("flops") == w.flops);
    CHECK(k.at("bytes") == w.bytes);
  }
}

TEST_CASE("an empty result is a file too") {
  const json j = json::parse(to_json(Results{}));
  CHECK(j.at("kernels").empty());
  CHECK(j.at("launch").empty());
}

TEST_CASE("numbers: whole counts in full, the rest in nine digits, nothing that JSON cannot say") {
  CHECK(json_number(141e9) == "141000000000");
  CHECK(json_number(1.0 / 3) == "0.333333333");
  CHECK(json_number(0) == "0");
  CHECK(json_number(std::nan("")) == "null");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
  CHECK(json::parse(json_number(1e300)) == 1e300);
}

TEST_CASE("text is escaped, and what is no UTF-8 does not spoil the file") {
  CHECK(json_text("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
  CHECK(json_text("\xC3\xA9") == "\"\xC3\xA9\"");  // e with an accent
  CHECK(json_text("x\xFFy\xC3") == "\"x?y?\"");
  CHECK(json::parse(json_text(std::string("\0\x01", 2))).get<std::string>() == std::string("\0\x01", 2));
}

}  // namespace
}  // namespace collector
