// Dispatch and combine in two steps: bytes over each kind of link, from how many domains and ranks a token reaches.
//   E experts in equal numbers on R ranks in D domains, k of a token, drawn evenly without repeating one: a token misses n given experts
//   with C(E-n, k) / C(E, k), so it reaches N_D = D (1 - C(E-E/D, k) / C(E, k)) domains and N_R = R (1 - C(E-E/R, k) / C(E, k)) ranks.
//   A rank with n tokens of h elements sends N_D n h (D-1)/D elements to its likes in other domains, and what comes to a domain goes on
//   to its m = R/D ranks in N_R / N_D copies: N_R n h (m-1)/m elements of each. Four exchanges of a layer: dispatch, combine, mirrors.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/yaml/parse.hpp"
#include "planning.hpp"
#include "search/cost/estimate.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/dataflow/token_routing.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kWidth = 512, kRowTokens = 256, kBytes = 2;  // of an element

struct DispatchCase {
  search::GridConfig grid;
  int nodes = 2, gpus = 4, samples = 8;
  int groups = 1, groups_per_token = 1;
  double imbalance = 1;
  int vocab = 1024;
};

search::GridConfig dispatched(int expert, pcg::Dispatch by) {
  search::GridConfig g;
  g.expert = expert;
  g.dispatch = by;
  return g;
}

template <class Quantity>
auto of_plan(const DispatchCase& c, int layers, Quantity quantity) {
  pcg::models::TransformerConfig t;
  t.layers = layers;
  t.hidden = 512;
  t.heads = 8;
  t.ffn = 1024;
  t.vocab = c.vocab;
  t.sequence_length = 256;
  t.experts = 8;
  t.top_k = 2;
  t.dropout = 0;
  t.biases = false;
  t.expert_groups = c.groups;
  t.groups_per_token = c.groups_per_token;
  t.expert_imbalance = c.imbalance;
  const topology::Cluster cluster = test::dgx_a100(c.nodes, c.gpus);
  const pcg::Graph model = pcg::models::transformer(t, c.samples);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  pcg::TrainingConfig training;
  training.global_batch = c.samples;
  training.precision = pcg::Precision::bf16;
  return quantity(search::megatron_plan({model, section, cluster, training, oracle}, c.grid).value(), cluster);
}

sim::SimulationResult simulated(const DispatchCase& c, int layers = 2) {
  return of_plan(c, layers, [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::simulate_plan(plan, cluster); });
}

double all_to_all(const DispatchCase& c) {
  const auto of = [&](int layers) { return simulated(c, layers).bytes.by_collective["all_to_all"].value(); };
  return (of(4) - of(2)) / 2;
}

double over_infiniband(const DispatchCase& c) {
  const auto of = [&](int layers) { return simulated(c, layers).bytes.by_link["infiniband"].value(); };
  return (of(4) - of(2)) / 2;
}

// The mean number of parts that k experts are in, over all choices of groups and of experts in them.
double counted(const sim::TokenRouting& r, const std::vector<std::int64_t>& parts) {
  std::vector<int> part_of;
  for (std::size_t p = 0; p < parts.size(); ++p) part_of.insert(part_of.end(), static_cast<std::size_t>(parts[p]), static_cast<int>(p));
  const auto bits = [](unsigned set) { return static_cast<std::int64_t>(std::popcount(set)); };
  double sum = 0, choices = 0;
  for (unsigned groups = 0; groups < 1U << r.groups; ++groups) {
    if (bits(groups) != r.groups_per_token) continue;
    for (unsigned experts = 0; experts < 1U << r.experts; ++experts) {
      if (bits(experts) != static_cast<std::int64_t>(r.per_token)) continue;
      std::vector<bool> met(parts.size(), false);
      bool allowed = true;
      for (unsigned e = 0; e < r.experts; ++e) {
        if ((experts >> e & 1U) == 0) continue;
        allowed = allowed && (groups >> (e / (r.experts / r.groups)) & 1U) != 0;
        met[static_cast<std::size_t>(part_of[e])] = true;
      }
      if (!allowed) continue;
      choices += 1;
      sum += static_cast<double>(std::ranges::count(met, true));
    }
  }
  return sum / choices;
}

}  // namespace

TEST_CASE("the parts that a token's experts are in, against all choices counted one by one") {
  const std::vector<std::vector<std::int64_t>> all_parts = {{8}, {4, 4}, {3, 5}, {2, 2, 2, 2}, std::vector<std::int64_t>(8, 1)};
  for (const sim::TokenRouting& r : {sim::TokenRouting{8, 1}, sim::TokenRouting{8, 3}, sim::TokenRouting{8, 2, 1, 4, 2},
                                     sim::TokenRouting{8, 3, 1, 4, 2}, sim::TokenRouting{8, 2, 1, 2, 1}})
    for (const std::vector<std::int64_t>& parts : all_parts) CHECK(parts_reached(r, parts) == test::about(counted(r, parts)));
}

TEST_CASE("a token crosses once to each host and goes on once to each rank") {
  // E 8, R 8, k 2. N_D = 2 (1 - C(4,2) / C(8,2)) = 2 (1 - 6/28) = 11/7; N_R: each rank has one expert, so 2.
  const double tokens = 8 * kRowTokens * kWidth * kBytes, domains = 11.0 / 7, ranks = 2;
  // HybridEP sends 4 bytes for each of the 4 experts of a host with each copy, twice: weights out, and their gradients back.
  const double weights = 8 * kRowTokens * 4 * 4;
  for (const pcg::Dispatch by : {pcg::Dispatch::forwarded, pcg::Dispatch::forwarded_sorted}) {
    const DispatchCase c{.grid = dispatched(8, by)};
    const double besides = by == pcg::Dispatch::forwarded_sorted ? 2 * weights : 0;
    CHECK(all_to_all(c) == test::about((4 * tokens + besides) * (domains * 1 / 2 + ranks * 3 / 4)));
    if (by == pcg::Dispatch::forwarded_sorted) continue;  // what it gathers besides crosses, too
    // A copy for each expert: 2 n h, half of which crosses. All else that crosses, sums of gradients, is the same.
    const DispatchCase copies{.grid = dispatched(8, pcg::Dispatch::all_to_all)};
    CHECK(over_infiniband(copies) - over_infiniband(c) == test::about(4 * tokens * (2.0 / 2 - domains / 2)));
    CHECK(simulated(c).notes.size() == simulated(copies).notes.size());
    CHECK(std::ranges::count(simulated(c).notes, base::Fact("group-crosses-domains", "expert", 8, 8, 4)) == 1);
  }
}

TEST_CASE("HybridEP gathers who sends which token where, once for each dispatch") {
  // A byte for each of the tokens of 8 ranks and of 8 experts: each rank takes in what the 7 others have of it.
  const auto gathered = [](pcg::Dispatch by) {
    const auto of = [&](int layers) { return simulated({.grid = dispatched(8, by)}, layers).bytes.by_collective["all_gather"].value(); };
    return (of(4) - of(2)) / 2;
  };
  CHECK(gathered(pcg::Dispatch::forwarded_sorted) - gathered(pcg::Dispatch::forwarded) == test::about(8 * 7 * kRowTokens * 8));
}

TEST_CASE(
    "HybridEP counts the rows that its kernels handle: a token once for each rank of a host on its way out, each copy on its way back") {
  const DispatchCase c{.grid = dispatched(8, pcg::Dispatch::forwarded_sorted)};
  of_plan(c, 2, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
    const sim::Dataflow data = sim::dataflow_of(plan);
    int seen = 0;
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
      for (const std::vector<sim::Use>& uses : data.flow.uses[n])
        for (const sim::Use& use : uses)
          for (const auto& routing : {sim::forward_routing(plan, n, use), sim::backward_routing(plan, n, use)}) {
            if (!routing) continue;
            // One rank's places for all experts: 2 for each of its tokens.
            const double sent = 2 * kRowTokens * kWidth * kBytes;
            std::vector<base::DeviceId> group;
            for (std::uint32_t d = 0; d < 8; ++d) group.emplace_back(d);
            const sim::Movement moved =
                sim::forwarded({{{{sim::CollectiveKind::all_to_all, base::Bytes(sent), group}}}}, *routing, cluster);
            const sim::Transfer& t = moved.rounds.back().front();
            const double tokens = kRowTokens * 11.0 / 7;  // that leave the rank: N_D of each
            CHECK(t.forwarding.bulk);
            CHECK(t.forwarding.sums != routing->to_experts);
            CHECK(t.forwarding.rows * t.bytes.value() == test::about(routing->to_experts ? tokens * 4 : kRowTokens * 2.0));
            const double of_a_row = t.bytes.value() / tokens;
            CHECK((of_a_row == test::about(kWidth * kBytes) || of_a_row == test::about(kWidth * kBytes + 4 * 4)));
            ++seen;
          }
    CHECK(seen == 2 * 2 * 2);  // layers, dispatch and combine, passes
    return 0;
  });
}

TEST_CASE("within one host a rank that has several of a token's experts gets one copy") {
  // E 8, R 4 of one host, two experts each: N_R = 4 (1 - C(6,2) / C(8,2)) = 4 (1 - 15/28) = 13/7, where copies for experts are 2.
  const double tokens = 4 * kRowTokens * kWidth * kBytes;
  const DispatchCase c{.grid = dispatched(4, pcg::Dispatch::forwarded), .nodes = 1, .samples = 4};
  CHECK(all_to_all(c) == test::about(4 * tokens * 13 / 7 * 3 / 4));
  CHECK(std::ranges::count(simulated(c).notes, base::Fact("dispatch-saves-nothing", "deepep")) == 1);
}

TEST_CASE("tensor ranks that cut the sequence send their own parts") {
  // data 4 x tensor 2 on two hosts, expert 4: groups of 4 ranks, two in each host; a rank has half a sample's tokens, two experts.
  // N_D = 11/7 as above; N_R = 13/7.
  DispatchCase c{.grid = dispatched(4, pcg::Dispatch::forwarded), .samples = 4};
  c.grid.tensor = 2;
  c.grid.sequence_parallel = true;
  const double tokens = 4 * kRowTokens * kWidth * kBytes;
  CHECK(all_to_all(c) == test::about(4 * tokens * (11.0 / 7 * 1 / 2 + 13.0 / 7 * 1 / 2)));
}

TEST_CASE("an estimate prices both steps as the simulation does") {
  const DispatchCase c{.grid = dispatched(8, pcg::Dispatch::forwarded)};
  of_plan(c, 2, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
    const sim::Oracle oracle(cluster);
    const double seconds = sim::simulate_plan(plan, cluster).iteration_time.value();
    CHECK(search::Estimator(plan, oracle).time(sim::variant_of(plan)).value() == test::about(seconds, 0.02));
    return 0;
  });
}

TEST_CASE("routing limited to groups bounds the hosts that a token reaches") {
  // Two groups, one on each host, one of a token: it reaches one host, and two of the four ranks there.
  const double tokens = 8 * kRowTokens * kWidth * kBytes;
  const DispatchCase c{.grid = dispatched(8, pcg::Dispatch::forwarded), .groups = 2};
  CHECK(all_to_all(c) == test::about(4 * tokens * (1.0 / 2 + 2.0 * 3 / 4)));
  // Copies for experts are as many as before.
  const DispatchCase copies{.grid = dispatched(8, pcg::Dispatch::all_to_all), .groups = 2};
  CHECK(all_to_all(copies) == test::about(4 * tokens * 2 * 7 / 8));
}

TEST_CASE("where experts are filled unequally, all wait for the one that has most") {
  // The fullest expert gets half more than the even share, with no token dropped: as much is sent in all, whoever brings it, and takes as
  // long as half more.
  const double tokens = 8 * kRowTokens * kWidth * kBytes;
  const auto waits = [](const DispatchCase& c) {
    const auto of = [&](int layers) { return simulated(c, layers).breakdown.exposed_by_collective["all_to_all"].value(); };
    return of(4) - of(2);
  };
  for (const pcg::Dispatch by : {pcg::Dispatch::all_to_all, pcg::Dispatch::forwarded}) {
    DispatchCase c{.grid = dispatched(8, by)};
    const double even = all_to_all(c), even_s = waits(c);
    c.imbalance = 1.5;
    CHECK(all_to_all(c) == test::about(even));
    CHECK(waits(c) > 1.05 * even_s);  // latencies stay
    CHECK(waits(c) < 1.5 * even_s);
  }
  const DispatchCase c{.grid = dispatched(8, pcg::Dispatch::all_to_all), .imbalance = 1.5};
  CHECK(all_to_all(c) == test::about(4 * tokens * 2 * 7 / 8));
}

// R ranks of n tokens each. All gather all tokens for the experts, forward and for the gradients of what these make: R (R - 1) n h
// elements, and forward a byte and a weight of 2 bytes for each of E experts. As much is reduce-scattered on either way back, whoever is on
// one host, and however unequal experts are.
TEST_CASE("allgather brings all tokens to all ranks of experts, and sums back") {
  const auto moved = [](const DispatchCase& c, const char* collective) {
    const auto of = [&](int layers) { return simulated(c, layers).bytes.by_collective[collective].value(); };
    return (of(4) - of(2)) / 2;
  };
  const DispatchCase copies{.grid = dispatched(8, pcg::Dispatch::all_to_all)};
  for (const double imbalance : {1.0, 1.5}) {
    const DispatchCase c{.grid = dispatched(8, pcg::Dispatch::all_gather), .imbalance = imbalance};
    const double tokens = 8 * 7 * kRowTokens * kWidth * kBytes, map = 8 * 7 * kRowTokens * 8 * (1 + kBytes);
    CHECK(all_to_all(c) == 0);
    CHECK(moved(c, "all_gather") - moved(copies, "all_gather") == test::about(2 * tokens + map));
    CHECK(moved(c, "reduce_scatter") - moved(copies, "reduce_scatter") == test::about(2 * tokens));
    CHECK(std::ranges::none_of(simulated(c).notes, [](const base::Fact& f) { return f.code.starts_with("dispatch"); }));
  }
}

// In the backward pass of the operator that takes most, here the combine or the dispatch of a layer of experts, 8 ranks' tokens are there
// besides.
TEST_CASE("ranks that gather all tokens hold them, and fill them with zeroes first") {
  const auto peak = [](pcg::Dispatch by) {
    return of_plan({.grid = dispatched(8, by)}, 2,
                   [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::Oracle(cluster).memory(plan).peak.value(); });
  };
  CHECK(peak(pcg::Dispatch::all_gather) - peak(pcg::Dispatch::all_to_all) <= 8 * kRowTokens * kWidth * kBytes);
  CHECK(peak(pcg::Dispatch::all_gather) > peak(pcg::Dispatch::all_to_all));
  const auto combined = [](pcg::Dispatch by) {
    return of_plan({.grid = dispatched(8, by)}, 2, [](const pcg::Plan& plan, const topology::Cluster&) {
      const sim::Dataflow data = sim::dataflow_of(plan);
      const profiles::FrameworkProfile framework = profiles::framework_profile(plan.training.framework);
      double bytes = 0;
      for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
        const pcg::Operator* op = plan.pcg.nodes()[n].operation();
        if (op == nullptr || !std::holds_alternative<pcg::MoeCombine>(*op)) continue;
        for (const pcg::Kernel& k : sim::forward_kernels(sim::node_shape(plan, data.flow, n), plan.training, framework))
          bytes += k.bytes.value();
      }
      return bytes;
    });
  };
  CHECK(combined(pcg::Dispatch::all_gather) - combined(pcg::Dispatch::all_to_all) ==
        test::about(2 * 8 * kRowTokens * kWidth * kBytes));  // two layers
}

// The loss ends the forward pass of one micro-batch and begins the backward pass of the other: its logits, 64 times as many, are not there
// beside layers of both.
TEST_CASE("a forward pass beside a backward pass holds a layer more, and no logits") {
  const auto layer = [](int vocab) {
    DispatchCase c{.grid = dispatched(8, pcg::Dispatch::all_to_all), .samples = 32, .vocab = vocab};
    c.grid.overlap.experts = true;
    c.grid.micro_batch = 1;
    return of_plan(c, 2, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
      const profiles::FrameworkProfile framework = profiles::framework_profile(plan.training.framework);
      return sim::device_memory(plan, sim::dataflow_of(plan), cluster, framework).at(0).layer[0].value();
    });
  };
  CHECK(layer(1024) > 0);
  CHECK(layer(65536) == layer(1024));
}

TEST_CASE("a stage that has the loss alone holds what it keeps beside another pass, too") {
  // The head, with the loss, is the second stage; the first has the embedding and two layers, of which one counts.
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  pcg::Plan plan = test::megatron(test::kShape, {}, cluster);
  const int head = static_cast<int>(plan.pcg.blocks().size()) - 1;
  plan.stages = 2;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) plan.stage[n] = plan.pcg.nodes()[n].block == head ? 1 : 0;
  const sim::DeviceMemory m = sim::device_memory(plan, sim::dataflow_of(plan), cluster, {}).at(0);
  CHECK(m.saved[1].value() > 0);
  CHECK(m.layer[1] == m.saved[1]);
  CHECK(m.layer[0] < m.saved[0]);
}

TEST_CASE("HybridEP among GPUs of which no library was measured takes what the wires do") {
  const topology::Cluster cluster = topology::load_cluster(
      topology::expand_cluster(base::parse_yaml("{preset: dgx-a100-80gb, network_profile: none}", "test"), "cluster"), "cluster");
  std::vector<topology::DeviceId> group;
  for (std::uint32_t d = 0; d < 8; ++d) group.emplace_back(d);
  sim::CollectivePlanner planner(cluster, {});
  const auto seconds = [&](bool bulk) {
    sim::Forwarding forwarding{.copies = 1};
    forwarding.bulk = bulk;
    return planner.plan(sim::CollectiveKind::all_to_all, base::Bytes(8e9), group, forwarding).estimate.value();
  };
  // Each of 8 ranks sends 7 of its 8 GB over 300 GB/s.
  CHECK(seconds(true) == test::about(7e9 / 300e9, 1e-3));
  CHECK(seconds(true) == test::about(seconds(false)));
}
