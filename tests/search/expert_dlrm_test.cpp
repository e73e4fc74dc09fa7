// Tables in model parallelism, products in data parallelism: where the tables lie, what travels between them and the samples, and what
// else is cut.
#include "search/planners/expert_dlrm/expert_dlrm.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "problem.hpp"
#include "tests/about.hpp"
#include "topology/cluster.hpp"

namespace {

using search::ExpertDlrmConfig;

pcg::Plan expert_plan(const test::Question& q, const ExpertDlrmConfig& config = {}) {
  const pcg::Plan plan = search::expert_dlrm_plan(q.problem(), config).value();
  CHECK(pcg::violations(plan).empty());
  return plan;
}

// The devices of the operators whose names begin so, in their order.
std::string places(const pcg::Plan& plan, const std::string& prefix) {
  std::vector<std::string> text;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes() || node.parallel_operator() != nullptr || !node.name.starts_with(prefix)) continue;
    std::vector<std::uint32_t> devices;
    for (const base::DeviceId d : pcg::devices_of(plan.mapping[n], node.sharding)) devices.push_back(d.value);
    text.push_back(fmt::format("{}", fmt::join(devices, "+")));
  }
  return fmt::format("{}", fmt::join(text, " "));
}

topology::Cluster summit(int nodes) {
  const std::string text = fmt::format("{{preset: summit, nodes: {}}}", nodes);
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(text, "<test>"), "cluster"), "cluster");
}

}  // namespace

TEST_CASE("tables go round where they are as many as devices or more, and are spread where they are fewer") {
  CHECK(places(expert_plan({"{builtin: dlrm}", 1, 4, 8}), "table") == "0 1 2 3 0 1 2 3");
  CHECK(places(expert_plan({"{builtin: dlrm}", 1, 3, 9}), "table") == "0 1 2 0 1 2 0 1");
  CHECK(places(expert_plan({"{builtin: xdl}", 1, 4, 8}), "table") == "0 1 2 3");
  // Four tables, two nodes of four: two in each node.
  CHECK(places(expert_plan({"{builtin: xdl}", 2, 4, 8}), "table") == "0 2 4 6");
  CHECK(places(expert_plan({"{builtin: xdl}", 1, 6, 12}), "table") == "0 1 3 4");
}

TEST_CASE("everything else is cut by samples over all devices") {
  const test::Question q("{builtin: xdl}", 1, 4, 8);
  const pcg::Plan plan = expert_plan(q);
  CHECK(plan.summary == "data 4, 4 tables on 4 devices");
  CHECK(places(plan, "top") == "0+1+2+3 0+1+2+3 0+1+2+3");
  CHECK(places(plan, "concat") == "0+1+2+3");
  const pcg::Plan one = expert_plan({"{builtin: xdl}", 1, 1, 8});
  CHECK(one.summary == "data 1, 4 tables on 1 device");
}

TEST_CASE("rows travel from a table to the samples, and their gradients back") {
  // A table makes 8 rows of 64 numbers of 4 bytes: 2048 B on its device, of which each of the 3 others takes a quarter. Forward and
  // backward, four tables: 2 x 4 x 3 x 512 B.
  const test::Question q("{builtin: xdl}", 1, 4, 8);
  const sim::SimulationResult r = q.oracle.plan(expert_plan(q));
  CHECK(r.bytes.by_collective.at("send").value() == 2 * 4 * 3 * 512);
  // Dense gradients: 256 x 256 twice and 256 x 2, all-reduced among 4, whatever the algorithm; those of tables stay where they are. A ring
  // and a tree both send 2 (4 - 1) times the bytes in all.
  CHECK(r.bytes.by_collective.at("all_reduce").value() == test::about(6 * 4 * (256 * 256 * 2 + 256 * 2)));
}

TEST_CASE("a model of tables that does not fit whole fits") {
  // Eight tables of 1.024e9 B, with their gradients 16.4 GB, beside what else there is, on GPUs of 16 GiB.
  const base::Yaml section = base::parse_yaml("{builtin: dlrm}", "<test>");
  const pcg::Graph model = pcg::models::load_model(section, "model", {}, 1);
  for (const int nodes : {1, 4}) {
    const topology::Cluster cluster = summit(nodes);
    const sim::Oracle oracle(cluster);
    const search::Problem problem{model, section, cluster, {.global_batch = 1024 * cluster.device_count()}, oracle};
    CHECK_FALSE(oracle.memory(search::data_parallel_plan(problem).value()).fits());
    CHECK(oracle.memory(search::expert_dlrm_plan(problem).value()).fits());
  }
}

TEST_CASE("a model without tables is cut where gradients take longer than kernels") {
  // Each product of 8192 x 8192 adds up 268 MB over 10 GB/s; the kernels of 4 samples read and write some of that over 900 GB/s.
  const test::Question slow("{builtin: mlp}", 2, 4, 32);
  const pcg::Plan plan = expert_plan(slow);
  CHECK(plan.summary == "data 8, features of 16 operators by 4");
  CHECK(places(plan, "tower0.layer3") == "0+1+2+3+4+5+6+7");
  // Nothing to add up on one device.
  CHECK(expert_plan({"{builtin: mlp}", 1, 1, 8}).summary == "data 1");
  // Not where tables alone are asked for.
  CHECK(expert_plan(slow, {.model_parallel = ExpertDlrmConfig::ModelParallel::tables}).summary == "data 8");
  CHECK(expert_plan(slow, {.features = 2}).summary == "data 8, features of 16 operators by 2");
  // A degree that does not divide falls to a divisor: 6 to 2, as 8 GPUs and 8192 features have no 3 or 6 in common.
  CHECK(expert_plan(slow, {.features = 6}).summary == "data 8, features of 16 operators by 2");
}

TEST_CASE("gradients of shared features are added up among the replicas of a part alone") {
  // Features by 4 of 8 devices: each weight of n elements lies in 4 parts of n/4 on 2 devices, whose sum sends 2 x (2 - 1) x n/4 x 4 B for
  // each part: 8 n B in all, where data parallelism over 8 sends 2 x 7 x 4 n.
  const test::Question q("{builtin: mlp}", 2, 4, 32);
  const sim::SimulationResult shared = q.oracle.plan(expert_plan(q));
  const sim::SimulationResult plain = q.oracle.plan(search::data_parallel_plan(q.problem()).value());
  const auto n = static_cast<double>(q.model.parameters());
  CHECK(shared.bytes.by_collective.at("all_reduce").value() == test::about(8 * n));
  CHECK(plain.bytes.by_collective.at("all_reduce").value() == test::about(56 * n));
}

TEST_CASE("tables beside costly products, where both are asked for") {
  const test::Question q("{builtin: dlrm}", 2, 4, 8);
  const pcg::Plan plan = expert_plan(q, {.model_parallel = ExpertDlrmConfig::ModelParallel::by_cost});
  CHECK(plan.summary == "data 8, 8 tables on 8 devices, features of 12 operators by 4");
}

TEST_CASE("a table that the head reads too stays with the samples") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  CHECK(expert_plan(q, {.model_parallel = ExpertDlrmConfig::ModelParallel::tables}).summary == "data 4");
}

TEST_CASE("samples that do not divide are refused") {
  const test::Question q("{builtin: xdl}", 1, 3, 8);
  const auto plan = search::expert_dlrm_plan(q.problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.refusal().constraint == search::Constraint::batch);
}
