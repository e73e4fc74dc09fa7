#include "scenarios/confidence/validate.hpp"
#include "profiles/device_profile.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scenarios/confidence/forecasts.hpp"
#include "sim/collectives/collective.hpp"
#include "tests/about.hpp"
#include "tests/measured/made_points.hpp"

using namespace measured;
using namespace confidence;

TEST_CASE("points are forecast alike by one process and by several, in order") {
  std::string text = test::kHeader;
  for (int i = 0; i < 40; ++i) text += test::row_with("a,small", "p" + std::to_string(i) + ",small");
  const std::vector<Point> points = read_points(text, "p.csv");
  const auto one = forecast(points, {.jobs = 1}), three = forecast(points, {.jobs = 3});
  REQUIRE(one.size() == 40);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].failure == "");
    CHECK(one[i].predicted.value() > 0);
    CHECK(one[i].low < one[i].predicted);
    CHECK(one[i].predicted < one[i].high);
    CHECK(three[i].predicted == one[i].predicted);
    CHECK(three[i].high == one[i].high);
    CHECK(three[i].question.kind == one[i].question.kind);
    CHECK(three[i].question.log2_parameters == one[i].question.log2_parameters);
    CHECK(three[i].question.shares == one[i].question.shares);
  }
  CHECK(one[0].question.kind == scenarios::WorkloadKind{"megatron", "a100", "one node", "half", "whole", "dense"});
}

TEST_CASE("a point that cannot be run has a reason and is not dropped") {
  const std::string text = test::kHeader + test::kRow + test::row_with(",1,1,2,1,4,", ",2,1,2,1,4,") +  // four GPUs' degrees on two
                           test::row_with(",1,1,2,1,4,", ",1,1,2,1,3,");                                // three samples for two replicas
  const Validation v = validate({read_table(text, "p.csv")}, {});
  REQUIRE(v.items.size() == 3);
  CHECK(v.items[0].failure == "");
  CHECK(v.items[0].where == "p.csv:2");
  CHECK(v.items[1].failure == "tp x pp x dp x cp is 4, but n_gpus is 2");
  CHECK(v.items[2].failure != "");
  REQUIRE(v.residuals.size() == 1);
  CHECK(v.residuals[0].source == "small");
  CHECK(v.residuals[0].log_ratio == test::about(std::log(0.01 / v.items[0].predicted.value())));
}

TEST_CASE("kernels and collectives are grouped and forecast by their models") {
  measured::Measurements m;
  measured::KernelMeasurement k;
  k.device = "a100-sxm-80gb";
  k.precision = pcg::Precision::bf16;
  k.kernel = {pcg::KernelKind::matmul, "", base::Flops(2e12), base::Bytes(6e8), 1, 10000, 10000, 10000, true};
  k.time = base::Seconds(0.01);
  m.kernels = {k, k};
  m.kernels[1].device = "no-such-gpu";
  measured::CollectiveMeasurement c;
  c.cluster = "dgx-a100-80gb";
  c.gpus = 8;
  c.bytes = base::Bytes(1e9);
  c.time = base::Seconds(0.01);
  m.collectives = {c, c, c};
  m.collectives[1].bytes = base::Bytes(1e5);
  m.collectives[2].gpus = 16;  // more than a node has
  const std::vector<Item> items = items_of(m);
  REQUIRE(items.size() == 5);
  CHECK(items[0].group == "a100-sxm-80gb bf16 matmul");
  CHECK(items[0].predicted == profiles::kernel_time(profiles::device_profile("a100-sxm-80gb"), k.kernel, k.precision).time);
  CHECK(items[1].failure.find("no-such-gpu") != std::string::npos);
  CHECK(items[2].group == "dgx-a100-80gb all_reduce on 8 of 1 node, from 1 MB");
  CHECK(items[3].group == "dgx-a100-80gb all_reduce on 8 of 1 node, below 1 MB");
  CHECK(items[2].predicted > items[3].predicted);
  CHECK(items[4].failure == "16 GPUs do not fit on 1 nodes of dgx-a100-80gb");
}

TEST_CASE("plans compete for one model however far they pad its vocabulary, and are one plan whatever the software keeps in memory") {
  const auto facts = [](const std::string& row, const std::string& settings = "") {
    std::string header = test::kHeader, text = row;
    header.insert(header.find('\n'), ",settings");
    text.insert(text.find('\n'), "," + settings);
    return confidence::iteration_facts(measured::read_points(header + text, "p.csv").at(0), {}, base::Seconds(1));
  };
  const auto padded = [&](const char* entries) { return facts(test::row_with(",128,", std::string(",") + entries + ",")); };
  CHECK(padded("50304").question == padded("50432").question);
  CHECK(padded("50304").training == padded("50432").training);
  CHECK(padded("50304").plan != padded("50432").plan);
  CHECK(padded("50304").question != padded("32000").question);
  const auto plain = facts(test::kRow), kept = facts(test::kRow, "{training.framework.memory.loss_kept: 2 B}"),
             other = facts(test::kRow, "{training.framework.overlap_gradients: false}");
  CHECK(kept.question == plain.question);
  CHECK(facts(test::kRow, "{training.framework.memory.loss_kept: 4 B}").plan == kept.plan);
  CHECK(other.question == plain.question);
  CHECK(other.plan != kept.plan);
  // An optimizer trains another model in the end, however long its iterations take.
  measured::Point by_muon = measured::read_points(test::kHeader + test::kRow, "p.csv").at(0);
  by_muon.optimizer = "muon";
  CHECK(confidence::iteration_facts(by_muon, {}, base::Seconds(1)).question != plain.question);
}
