// Muon (Liu et al., arXiv 2502.16982): the matrices of layers have one moment, all else has Adam's two. With bf16 weights and gradients, M
// parameters in matrices and R others:
//   - optimizer state: (4 master + 4 momentum) M + (4 master + 8) R bytes.
//   - Each of five steps of Newton and Schulz multiplies three times: of m x n numbers, m <= n, X X^T and the last product have 2 m m n
//   FLOPs
//     each, and the square of an m x m matrix 2 m m m.
//   - Replicas share out whole matrices: all of them have all gradients, and so a ring sends 2 (d-1) times the gradients and not (d-1)
//   times.
#include <doctest/doctest.h>

#include <numeric>

#include "sim/dataflow/flow_graph.hpp"
#include "sim/kernels/optimizer_kernels.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"
#include "tests/closed_forms/planning.hpp"

namespace {

constexpr std::int64_t kMuonLayers = 2, kMuonHidden = 512, kMuonWide = 1024, kMuonWords = 1024, kMuonTokens = 256;
constexpr double kMuonMatrices = kMuonLayers * (4 * kMuonHidden * kMuonHidden + 2 * kMuonHidden * kMuonWide);

pcg::Graph model_for_muon(bool gated = false, std::int64_t experts = 0) {
  pcg::models::TransformerConfig t;
  t.layers = kMuonLayers;
  t.hidden = kMuonHidden;
  t.heads = 8;
  t.ffn = kMuonWide;
  t.vocab = kMuonWords;
  t.sequence_length = kMuonTokens;
  t.attention = pcg::models::AttentionKind::flash;
  t.dropout = 0;
  t.biases = false;
  t.gated = gated;
  t.experts = experts;
  return pcg::models::transformer(t, 8);
}

pcg::TrainingConfig with_muon(pcg::Optimizer optimizer = pcg::Optimizer::muon, pcg::Framework framework = pcg::Framework::generic) {
  pcg::TrainingConfig training;
  training.global_batch = 8;
  training.precision = pcg::Precision::bf16;
  training.optimizer = optimizer;
  training.framework = framework;
  return training;
}

sim::SimulationResult muon_simulated(const search::GridConfig& grid, pcg::Optimizer optimizer = pcg::Optimizer::muon) {
  const auto cluster = test::dgx_a100(1, 4);
  sim::SimulationConfig ring;
  ring.collectives.algorithm = sim::Algorithm::ring;
  ring.trace = true;
  return sim::simulate_plan(test::megatron(model_for_muon(), with_muon(optimizer), grid, cluster), cluster, ring);
}

// The matrices of a plan's layers, in the order of its nodes.
std::vector<sim::Matrices> matrices_of_plan(const pcg::Graph& model, const pcg::TrainingConfig& training, const search::GridConfig& grid) {
  const auto cluster = test::dgx_a100(1, 4);
  const pcg::Plan plan = test::megatron(model, training, grid, cluster);
  const sim::Dataflow data = sim::dataflow_of(plan);
  std::vector<sim::Matrices> found;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes() || plan.pcg.nodes()[n].inputs.size() < 2) continue;
    if (sim::optimizer_of(plan, n, 1) != pcg::Optimizer::muon) continue;
    if (const auto m = sim::matrices_of(plan, data.flow, profiles::framework_profile(training.framework), n, 1)) found.push_back(*m);
  }
  return found;
}

double seconds_of(const sim::SimulationResult& r, const std::string& name) {
  double seconds = 0;
  for (const sim::Span& s : r.spans)
    if (s.device == 0 && s.name.find(name) != std::string::npos) seconds += s.duration.value();
  return seconds;
}

}  // namespace

TEST_CASE("matrices of layers have one moment, and all else has two") {
  const auto cluster = test::dgx_a100(1, 4);
  const pcg::Graph model = model_for_muon();
  const double others = static_cast<double>(model.parameters()) - kMuonMatrices;
  const auto state = [&](int zero) {
    const pcg::Plan plan = test::megatron(model, with_muon(), {.zero = zero}, cluster);
    return sim::memory_of(plan, cluster).optimizer.value();
  };
  CHECK(state(0) == test::about(8 * kMuonMatrices + 12 * others));
  CHECK(state(1) == test::about((8 * kMuonMatrices + 12 * others) / 4));
}

TEST_CASE("three products in each of five steps") {
  const auto flops = [](const sim::Matrices& m) {
    const auto kernels = sim::orthogonalisation_kernels(m);
    return std::accumulate(kernels.begin(), kernels.end(), 0.0, [](double sum, const pcg::Kernel& k) { return sum + k.flops.value(); });
  };
  const double m = 512, n = 2048;
  CHECK(flops({512, 2048, 1}) == test::about(5 * (4 * m * m * n + 2 * m * m * m)));
  CHECK(flops({2048, 512, 1}) == flops({512, 2048, 1}));
  CHECK(flops({512, 2048, 3}) == test::about(3 * flops({512, 2048, 1})));
}

TEST_CASE("a device's part of a weight is its matrix, and so is each of its experts") {
  using sim::Matrices;
  const std::int64_t h = kMuonHidden, f = kMuonWide;
  const auto first = [](std::vector<Matrices> m, std::size_t n) {
    m.resize(n);
    return m;
  };
  CHECK(first(matrices_of_plan(model_for_muon(), with_muon(), {}), 4) ==
        std::vector<Matrices>{{h, 3 * h, 1}, {h, h, 1}, {h, f, 1}, {f, h, 1}});
  CHECK(first(matrices_of_plan(model_for_muon(), with_muon(), {.tensor = 2}), 4) ==
        std::vector<Matrices>{{h, 3 * h / 2, 1}, {h / 2, h, 1}, {h, f / 2, 1}, {f / 2, h, 1}});
  const auto experts = matrices_of_plan(model_for_muon(false, 8), with_muon(), {.expert = 4});
  CHECK(std::ranges::count(experts, Matrices{h, f, 2}) == kMuonLayers);
  CHECK(std::ranges::count(experts, Matrices{f, h, 2}) == kMuonLayers);
}

TEST_CASE("both projections of a gated unit are one matrix where they are one product") {
  using sim::Matrices;
  const std::int64_t h = kMuonHidden, f = kMuonWide;
  const auto apart = matrices_of_plan(model_for_muon(true), with_muon(), {});
  CHECK(std::ranges::count(apart, Matrices{h, f, 1}) == 2 * kMuonLayers);
  const auto joint = matrices_of_plan(model_for_muon(true), with_muon(pcg::Optimizer::muon, pcg::Framework::megatron_core), {});
  CHECK(std::ranges::count(joint, Matrices{h, f, 1}) == 0);
  CHECK(std::ranges::count(joint, Matrices{h, 2 * f, 1}) == kMuonLayers);
}

TEST_CASE("replicas share out matrices, and all of them have all gradients") {
  const double parameters = static_cast<double>(model_for_muon().parameters());
  const auto sent = [](sim::SimulationResult r, const char* kind) { return r.bytes.by_collective[kind].value(); };
  const auto adam = muon_simulated({.zero = 1}, pcg::Optimizer::adam), muon = muon_simulated({.zero = 1});
  CHECK(sent(adam, "reduce_scatter") == test::about(3 * 2 * parameters));
  CHECK(sent(muon, "reduce_scatter") == 0);
  CHECK(sent(muon, "all_reduce") == test::about(2 * 3 * 2 * parameters));
  CHECK(sent(muon, "all_gather") == test::about(sent(adam, "all_gather")));
  // Of four devices each makes a quarter of the products.
  const double whole = seconds_of(muon_simulated({}), "orthogonalisation"), share = seconds_of(muon, "orthogonalisation");
  CHECK(whole > 0);
  CHECK(share == test::about(whole / 4));
}
