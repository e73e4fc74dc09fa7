#include "scenarios/intervals/interval.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <regex>

#include "scenario_text.hpp"
#include "scenarios/answer/run.hpp"
#include "tests/about.hpp"
#include "topology/load.hpp"

namespace {

using namespace scenarios;

const WorkloadKind kKind{"megatron", "a100", "several nodes", "half", "whole", "dense"};
const WorkloadKind kOther{"pytorch", "a100", "several nodes", "half", "whole", "experts"};

// Two groups of the same weight: one of the question's kind, one of another framework and of experts, whose residuals are wider.
IntervalModel model() {
  IntervalModel m;
  m.tail = 0.1;
  m.similarity = {.other_software = 0.1, .other_feature = 0.5, .per_doubling = 0.5};
  m.growth.rate = {1, 2};
  m.groups.push_back({"near", kKind, 40, 30, 33, 1, {-0.1, 0, 0.1, 0.2}});
  m.groups.push_back({"far", kOther, 12, 30, 33, 1, {-0.4, -0.3, 0.5, 0.6}, 128});
  return m;
}

Workload question(double log2_parameters = 31) { return {kKind, log2_parameters, {0, 0}}; }

std::string problems_of(const std::string& text) {
  try {
    (void)read_intervals(base::parse_yaml(text, "accuracy.yaml"));
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += d.path + ": " + d.message + "\n";
    return all;
  }
  return {};
}

}  // namespace

TEST_CASE("a group counts by what tells it from the question") {
  const IntervalModel m = model();
  CHECK(similarity_of(m.similarity, difference_of(m.groups[0], question())) == 1);
  // Another framework, and another feature: experts.
  CHECK(similarity_of(m.similarity, difference_of(m.groups[1], question())) == test::about(0.1 * 0.5));
  // Sharded replicas and frozen weights are other software, once.
  Workload w = question();
  for (const auto& [replicas, trained] : {std::pair{"sharded", "all"}, {"whole", "part"}, {"sharded", "part"}}) {
    w.kind.replicas = replicas;
    w.kind.trained = trained;
    CHECK(similarity_of(m.similarity, difference_of(m.groups[0], w)) == test::about(0.1));
    CHECK(similarity_of(m.similarity, difference_of(m.groups[1], w)) == test::about(0.1 * 0.5));
  }
  // Two doublings beyond the range, on either side.
  CHECK(similarity_of(m.similarity, difference_of(m.groups[0], question(35))) == test::about(0.25));
  CHECK(similarity_of(m.similarity, difference_of(m.groups[0], question(28))) == test::about(0.25));
}

TEST_CASE("a workload with profiles of its own is of another kind than what was measured with those that ship") {
  const IntervalModel m = model();
  Workload w = question();
  w.kind.own.framework = true;
  CHECK(w.kind != kKind);
  CHECK(similarity_of(m.similarity, difference_of(m.groups[0], w)) == test::about(0.1));
  w.kind.own = {.framework = false, .device = true, .network = true};
  CHECK(similarity_of(m.similarity, difference_of(m.groups[0], w)) == test::about(0.5 * 0.5));
  w.kind.own.framework = true;
  CHECK(interval_for(m, w, base::Seconds(1))
            .note.text.starts_with("no run of this kind was measured (megatron of the scenario, of a file, several nodes, its profile of a "
                                   "file, half precision, whole replicas, dense layers)"));
}

TEST_CASE("the spread is the weighted quantiles of all groups") {
  // Weights 1 and 0.05, a quarter of each per quantile: from below 0.0125, 0.0125, 0.25; a tenth of 1.05 is reached at -0.1. From above
  // the same: 0.6 and 0.5 have 0.0125 each, 0.2 has a quarter.
  const Spread s = spread_for(model(), question());
  CHECK(s.low == test::about(-0.1));
  CHECK(s.high == test::about(0.2));
}

TEST_CASE("what others measured makes a kind of 20 points no surer than they are") {
  IntervalModel m = model();
  m.groups[1].weight = 1000;  // 50 beside 1: a tenth is reached among these alone
  m.groups[1].quantiles = {-0.02, -0.015, 0.03, 0.04};
  for (const auto& [points, low, high] : {std::tuple(std::size_t{19}, -0.02, 0.04), {20, -0.1, 0.2}}) {
    m.groups[0].points = points;
    CHECK(spread_for(m, question()).low == test::about(low));
    CHECK(spread_for(m, question()).high == test::about(high));
  }
}

TEST_CASE("the other group's own question gets its own, wider spread") {
  const Spread s = spread_for(model(), {kOther, 31, {0, 0}});
  CHECK(s.low == test::about(-0.4));
  CHECK(s.high == test::about(0.6));
}

TEST_CASE("waiting for the host and kernels without a table widen the spread") {
  Workload w = question();
  w.shares = {0.5, 0.25, 0};  // e^(1 x 0.5 + 2 x 0.25) = e
  CHECK(spread_for(model(), w).high == test::about(0.2 * std::exp(1)));
}

TEST_CASE("what a trace of this machine measured brings in the spread of what it left, the rest what it had") {
  Workload w = question();
  w.calibrated = 0.8;  // of a spread of -0.1 to 0.2 the rest, sqrt(1 - 0.64) = 0.6, keeps -0.06 and 0.12
  CHECK(std::log(interval_for(model(), w, base::Seconds(1)).high.value()) == test::about(0.2));  // nothing was held out
  w.held_out_spread = 0.05;
  const Interval i = interval_for(model(), w, base::Seconds(1));
  CHECK(std::log(i.low.value()) == test::about(-std::hypot(0.8 * 0.05, 0.06)));
  CHECK(std::log(i.high.value()) == test::about(std::hypot(0.8 * 0.05, 0.12)));
  CHECK(i.note.text.starts_with("80 % of the time is in kernels and launches as a trace has them"));
  w.held_out_spread = 0.5;  // it may be off by more than others
  CHECK(interval_for(model(), w, base::Seconds(1)).high.value() > std::exp(0.2));
}

TEST_CASE("shares of software and network widen the spread where no run of them was measured; of generic always") {
  IntervalModel m = model();
  m.growth.rate[2] = 0.5;
  Workload w = question();
  w.shares = {0, 0, 0.8};
  CHECK(spread_for(m, w).high == test::about(0.2));
  w.kind.own.framework = true;  // a profile of its own says what runs of it would
  CHECK(spread_for(m, w).high == spread_for(model(), w).high);
  w.kind.own = {};
  w.kind.replicas = "sharded";
  CHECK(spread_for(m, w).high == test::about(spread_for(model(), w).high * std::exp(0.4)));
  CHECK(interval_for(m, w, base::Seconds(1)).note.text ==
        "no run of megatron with sharded replicas was measured, and 80 % of the time hangs on what it does: the interval is 1.5 times as "
        "wide for it");
  w = question();
  m.growth.rate[3] = 0.5;
  w.shares = {0, 0, 0.2, 0.8};
  CHECK(spread_for(m, w).high == test::about(0.2));
  w.kind.fabric = "several nodes by ethernet";
  CHECK(spread_for(m, w).high == test::about(spread_for(model(), w).high * std::exp(0.4)));
  CHECK(interval_for(m, w, base::Seconds(1)).note.text ==
        "no run on several nodes by ethernet was measured, and the GPUs wait for that network 80 % of the time: the interval is 1.5 times "
        "as wide for it");
  w.kind.fabric = kKind.fabric;
  m.groups[0].most_gpus = 64;  // beyond them by the logarithm, up to a doubling
  m.groups[1].most_gpus = 8;
  for (const auto& [gpus, share] : {std::pair(64, 0.0), {8, 0.0}, {96, std::log2(1.5)}, {128, 1.0}, {4096, 1.0}}) {
    w.gpus = gpus;
    CHECK(spread_for(m, w).high == test::about(0.2 * std::exp(0.4 * share)));
  }
  CHECK(interval_for(m, w, base::Seconds(1)).note.text.starts_with("no run of more than 64 GPUs on several nodes was measured, and the"));
  w.shares = {0, 0, 0.8, 0};
  w.kind = kKind;
  w.kind.framework = m.groups[0].kind.framework = "generic";
  CHECK(spread_for(m, w).high == test::about(0.2 * std::exp(0.4)));
  CHECK(interval_for(m, w, base::Seconds(1)).note.text.starts_with("no software is named, and 80 % of the time hangs on what it does"));
}

TEST_CASE("the note says what widens the interval most, else how many measured runs are of its kind") {
  const Interval near = interval_for(model(), question(), base::Seconds(2));
  CHECK(near.low.value() == test::about(2 * std::exp(-0.1)));
  CHECK(near.high.value() == test::about(2 * std::exp(0.2)));
  CHECK(near.note.kind == base::NoteKind::detail);
  CHECK(near.note.text ==
        "the interval is that of measured runs: 40 iterations are of this kind (megatron, a100, several nodes, half precision, whole "
        "replicas, dense layers)");
  Workload w = question();
  w.kind.device = "h100";
  const Interval first = interval_for(model(), w, base::Seconds(1));
  CHECK(first.note.kind == base::NoteKind::caution);
  CHECK(first.note.text ==
        "no run of this kind was measured (megatron, h100, several nodes, half precision, whole replicas, dense layers): the interval is "
        "that of 52 iterations of other kinds");
  w.shares = {0.4, 0.25, 0};  // e^0.4 and e^0.5
  CHECK(interval_for(model(), w, base::Seconds(1)).note.text ==
        "25 % of the time is in kernels whose sort was not measured on such a GPU: the interval is 1.6 times as wide for it");
  w.shares = {0.6, 0.25, 0};
  CHECK(interval_for(model(), w, base::Seconds(1)).note.text ==
        "the GPUs wait for their host 60 % of the time, and hosts differ from system to system: the interval is 1.8 times as wide for it");
}

TEST_CASE("the interval holds the forecast, and is never wider than the widest group's quantiles, however far the question lies") {
  CHECK(rc::check([] {
    const double at = *rc::gen::inRange(-2000, 8000) / 100.0;
    const Interval i = interval_for(model(), question(at), base::Seconds(1));
    RC_ASSERT(i.low < base::Seconds(1) && base::Seconds(1) < i.high);
    RC_ASSERT(i.low.value() >= std::exp(-0.4) - 1e-12 && i.high.value() <= std::exp(0.6) + 1e-12);
  }));
}

TEST_CASE("a spread is a percent wide either way at least") {
  IntervalModel m = model();
  for (IntervalGroup& g : m.groups) g.quantiles = {0.3};
  CHECK(spread_for(m, question()).low == test::about(-0.01));
  CHECK(spread_for(m, question()).high == test::about(0.3));
}

TEST_CASE("without residuals the interval is an assumption of 30 %, and says so") {
  const Interval i = interval_for({}, question(), base::Seconds(1));
  CHECK(i.low.value() == test::about(0.7));
  CHECK(i.high.value() == test::about(1.3));
  CHECK(i.note.text == "the interval of +-30 % is an assumption, because no residuals are known");
}

TEST_CASE("the accuracy file reads back what was written") {
  const IntervalModel m = model();
  const std::string text = write_intervals(m, "a test");
  const IntervalModel again = read_intervals(base::parse_yaml(text, "accuracy.yaml"));
  CHECK(write_intervals(again, "a test") == text);
  REQUIRE(again.groups.size() == 2);
  CHECK(again.groups[1].kind == kOther);
  CHECK(again.groups[1].most_log2_parameters == 33);
  CHECK(again.groups[1].most_gpus == 128);
  CHECK(again.groups[1].quantiles == m.groups[1].quantiles);
  CHECK(again.similarity.per_doubling == 0.5);
  CHECK(again.growth.rate == m.growth.rate);
  CHECK(read_intervals(base::parse_yaml(write_intervals({}, "a test"), "accuracy.yaml")).groups.empty());
}

TEST_CASE("what is wrong with an accuracy file") {
  const std::string text = write_intervals(model(), "a test");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
  };
  CHECK(problems_of(text) == "");
  CHECK(problems_of(with("tail: 0.1", "tail: 0.6")).starts_with("accuracy.tail: "));
  CHECK(problems_of(with("per_doubling: 0.5", "per_doubling: 2")).starts_with("accuracy.similarity.per_doubling: "));
  CHECK(problems_of(with("host: 1", "host: -1")).starts_with("accuracy.growth.host: "));
  CHECK(problems_of(with("[-0.1, 0, ", "[0, -0.1, ")) == "accuracy.groups[0].quantiles: expected numbers in ascending order\n");
  CHECK(problems_of(with("0.1, 0.2]", "0.1, 12]")) == "accuracy.groups[0].quantiles: log ratios must lie within 10\n");
  CHECK(problems_of(with("[30, 33]", "[33, 30]")) == "accuracy.groups[0].log2_parameters: expected numbers in ascending order\n");
  CHECK(problems_of(with("[30, 33]", "[30]")) == "accuracy.groups[0].log2_parameters: expected the least and the greatest value\n");
  CHECK(problems_of(with("weight: 1", "weight: 0")).starts_with("accuracy.groups[0].weight: "));
  CHECK(problems_of(with("replicas", "replica")) != "");
  CHECK(problems_of("foreshard: 1\n") != "");
}

TEST_CASE("the model that ships can be read, and a run's question is told from its plan") {
  (void)shipped_intervals();
  const Scenario s = test::load(test::in_fp32(test::kTwoGpus) + "plans: [fsdp]\n");
  const Run run = run_scenario(s, {}).runs[0];
  const Workload w = workload_of(*run.made, *s.base().cluster, *run.simulation);
  CHECK(w.kind == WorkloadKind{"generic", "v100", "one node", "single", "sharded", "dense"});
  // mlp-mnist has 784 x 512 + 512 x 10 weights (406,528).
  CHECK(w.log2_parameters == test::about(std::log2(406528)));
  for (const double share : w.shares) CHECK((share >= 0 && share <= 1));
}

TEST_CASE("features of a workload: shares of the iteration, the fabric that it spans, and whether replicas share out gradients") {
  const Scenario s = test::load(test::in_fp32(test::kTwoGpus) + "plans: [fsdp]\n");
  pcg::Plan plan = *run_scenario(s, {}).runs[0].made;
  sim::SimulationResult result;
  result.iteration_time = base::Seconds(10);
  result.breakdown.compute = base::Seconds(4);
  result.breakdown.idle = base::Seconds(3);
  result.compute_by_basis[profiles::Basis::defaults] = base::Seconds(2);
  result.compute_by_basis[profiles::Basis::fitted] = base::Seconds(6);
  const topology::Cluster& one = *s.base().cluster;
  // Waits for the host 3 of 10 s; a quarter of the kernels' 4 s of 10 s has default efficiencies.
  CHECK(workload_of(plan, one, result).shares[0] == test::about(0.3));
  CHECK(workload_of(plan, one, result).shares[1] == test::about(0.1));
  for (const int zero : {0, 1, 2, 3}) {
    plan.zero = zero;
    CHECK(workload_of(plan, one, result).kind.replicas == (zero < 2 ? "whole" : "sharded"));
  }
  CHECK(workload_of(plan, one, result).kind.trained == "all");
  const std::string adapters =
      std::regex_replace(test::in_fp32(test::kTwoGpus), std::regex("mlp-mnist"), "mlp-mnist, lora: {rank: 4, on: [layer1]}");
  const Scenario adapted = test::load(adapters + "plans: [fsdp]\n");
  CHECK(workload_of(*run_scenario(adapted, {}).runs[0].made, one, result).kind.trained == "part");
  CHECK(workload_of(plan, one, result).shares[2] == test::about(0.7));  // all but 3 s of the 10, in which it waits for links
  const auto section = base::parse_yaml("{preset: dgx-a100-80gb, nodes: 2}", "test");
  const topology::Cluster two = topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
  for (const auto& [gpus, fabric] : {std::pair(1, "one GPU"), std::pair(8, "one node"), std::pair(9, "several nodes by infiniband")}) {
    plan.gpus = gpus;
    CHECK(workload_of(plan, two, result).kind.fabric == fabric);
    CHECK(workload_of(plan, two, result).gpus == gpus);
  }
}
