// The part `fitted:` of device profiles: it reads back what it wrote, and refuses what does not hold together.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "profiles/fitted.hpp"

namespace {

profiles::Fitted example() {
  profiles::Fitted f;
  profiles::FittedProduct p;
  p.model.peak_share = 0.875;
  p.model.step_s = 1.25e-9;
  p.correction.axes = {{{0, 2, 4}, {5, 7}, {5, 16}}};
  p.correction.values = {0.001, -0.25, 0, 0, 0.5, 0, 0.012, 0, 0, -0.1, 0, 0};
  p.provenance = {"table.csv", "foreshard calibrate", "a100-sxm-80gb", true, 100, 0.05, 25, 0.0625, 0.125};
  f.products[{pcg::KernelKind::matmul, pcg::Precision::bf16}] = p;
  f.table.push_back({pcg::Precision::bf16, {.kind = pcg::KernelKind::copy, .bytes = base::Bytes(1e6)}, 2.5e-6});
  f.rates[pcg::KernelKind::norm] = {{0.75, 2e6}, base::Bytes(1e6), base::Bytes(3e9), {.source = "norms.csv", .rows = 20, .error = 0.03}};
  return f;
}

struct ReadBack {
  profiles::Fitted fitted;
  std::string errors;
};
ReadBack read(const std::string& text) {
  const base::Yaml document = base::parse_yaml("device:\n" + text, "d.yaml");
  base::Diagnostics sink;
  ReadBack result;
  result.fitted = profiles::read_fitted(*document.find("device")->find("fitted"), sink);
  try {
    sink.throw_if_any();
  } catch (const base::InputError& e) {
    for (const auto& d : e.diagnostics()) result.errors += d.path + ": " + d.message + "\n";
  }
  return result;
}
std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("what is written is read back") {
  const profiles::Fitted f = example();
  const ReadBack back = read(profiles::to_text(f));
  CHECK(back.errors == "");
  REQUIRE(back.fitted.products.size() == 1);
  const auto& p = back.fitted.products.begin()->second;
  const auto& original = f.products.begin()->second;
  CHECK(p.correction == original.correction);
  CHECK(p.provenance == original.provenance);
  for (const auto& parameter : profiles::kProductParameters) CHECK(p.model.*parameter.member == original.model.*parameter.member);
  const auto& rate = back.fitted.rates.at(pcg::KernelKind::norm);
  CHECK(rate.traffic == profiles::Efficiency{0.75, 2e6});
  CHECK(rate.largest == base::Bytes(3e9));
  REQUIRE(back.fitted.table.size() == 1);
  CHECK(back.fitted.table[0].kernel == f.table[0].kernel);
  CHECK(profiles::to_text(back.fitted) == profiles::to_text(f));
}

TEST_CASE("a grid with a number too few or one that is none, axes that do not ascend, unknown kinds: each is told") {
  const std::string text = profiles::to_text(example());
  CHECK(read(replaced(text, "\"1 -250\"", "\"1\"")).errors ==
        "device.fitted.products[0].correction.thousandths: 11 numbers, but the axes have 12 nodes\n");
  CHECK(read(replaced(text, "\"1 -250\"", "\"1 nan\"")).errors ==
        "device.fitted.products[0].correction.thousandths: 11 numbers, but the axes have 12 nodes\n");
  CHECK(read(replaced(text, "\"0 2 4\"", "\"0 4 2\""))
            .errors.starts_with("device.fitted.products[0].correction.rows: expected two or more logarithms in ascending order\n"));
  CHECK(read(replaced(text, "kind: matmul", "kind: matmull")).errors ==
        "device.fitted.products[0].kind: \"matmull\" is no kind of kernel\n");
  CHECK(read(replaced(text, "precision: bf16", "precision: bf17")).errors ==
        "device.fitted.products[0].precision: \"bf17\" is no precision\n");
  CHECK(read(replaced(text, "peak_share: 0.875", "peak_share: -1")).errors != "");
}
