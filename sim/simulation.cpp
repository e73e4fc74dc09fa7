#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/plan/recomputed_units.hpp"
#include "pcg/work/work.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "profiles/profile_files.hpp"
#include "sim/accounting/account.hpp"
#include "sim/accounting/over_time.hpp"
#include "sim/accounting/steady_state.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/placement_facts.hpp"

namespace sim {
namespace {

constexpr double kWorthNoting = 0.005;  // of the time: less is rounded to 0 %
constexpr double kSettled = 1e-7;       // of a period: less is rounding

base::Fact network_fact(const std::string& name, const CommunicationBytes& bytes) {
  if (name.empty()) return base::Fact("no-network-profile");
  std::vector<std::string> unknown;
  for (const auto& [type, moved] : bytes.by_link)
    if (!profiles::network_profile(name).knows(type)) unknown.push_back(type);
  const std::string title = profiles::network_title(name);
  return unknown.empty() ? base::Fact("network-profile", title) : base::Fact("network-profile-partial", title, unknown);
}

// The kernels whose times are based on no measurement, and their share of all kernels' time.
void note_kernels(const Program& program, SimulationResult& r) {
  base::Seconds all;
  for (const base::Seconds s : r.compute_by_basis) all += s;
  const auto add = [&](profiles::Basis basis, base::Fact fact) {
    const double share = all > base::Seconds(0) ? r.compute_by_basis[basis] / all : 0;
    if (share < kWorthNoting) return;
    std::vector<std::string> names;
    for (const pcg::KernelKind k : program.kinds[basis]) names.emplace_back(pcg::to_text(k));
    fact.values = {share, std::move(names)};
    r.notes.push_back(std::move(fact));
  };
  add(profiles::Basis::extrapolated, base::Fact("extrapolated-kernels"));
  add(profiles::Basis::defaults, base::Fact("default-efficiencies"));
}

// The profiles on which the forecast is based: one line each.
void note_profiles(const topology::Cluster& cluster, const profiles::FrameworkProfile& framework, SimulationResult& r) {
  if (r.bytes.total.value() > 0) r.notes.push_back(network_fact(cluster.network_profile(), r.bytes));
  std::vector<std::string> assumed;
  for (const auto& [type, moved] : r.bytes.by_link)
    if (moved > base::Bytes() && cluster.is_assumed(type)) assumed.push_back(type);
  if (!assumed.empty()) r.notes.emplace_back("assumed-links", assumed);
  if (framework.host == profiles::HostCosts{.basis = framework.host.basis}) return;
  const std::string& name = pcg::name_of(framework.framework);
  const base::Fact by_basis[] = {base::Fact("host-times-assumed", name), base::Fact("host-times-partly-assumed", name),
                                 base::Fact("host-times", name)};  // as HostBasis has them
  r.notes.push_back(by_basis[static_cast<std::size_t>(framework.host.basis)]);
}

// What a GPU's memory holds besides the tensors that are allocated.
void note_memory(const topology::Cluster& cluster, const profiles::FrameworkProfile& framework, SimulationResult& r) {
  const base::Bytes reserved = profiles::device_profile(cluster.device(r.memory.device).type).reserved;
  if (reserved > base::Bytes(0)) r.notes.emplace_back("memory-of-context", reserved.value());
  const base::Bytes free_blocks = r.memory.held + (r.memory.peak - reserved + r.memory.held) * framework.memory.allocator_share;
  if (free_blocks > base::Bytes(0)) r.notes.emplace_back("memory-of-allocator", free_blocks.value());
  if (r.memory.in_update) r.notes.emplace_back("memory-peak-in-update");
}

void note_recomputation(const pcg::Plan& plan, SimulationResult& r) {
  const auto keeps_scores = [](const pcg::PcgNode& n) { return n.computes() && pcg::keeps_scores(*n.operation()); };
  if (plan.recompute == pcg::Recompute::selective && std::ranges::none_of(plan.pcg.nodes(), keeps_scores))
    r.notes.emplace_back("recompute-unused");
  for (const pcg::Module m : plan.memory.recomputed.modules)
    if (std::ranges::none_of(plan.pcg.nodes(), [&](const pcg::PcgNode& n) { return pcg::is_of(n, m); }))
      r.notes.emplace_back("recomputed-part-missing", pcg::name_of(m));
}

void note_activation_inputs(const pcg::Plan& plan, const FlowGraph& flow, SimulationResult& r) {
  if (!plan.memory.fp8_activation_inputs) return;
  const auto kept = [&](std::uint32_t n) { return saves_activation_input(plan, flow, n); };
  if (std::ranges::none_of(flow.stage_nodes, [&](const std::vector<std::uint32_t>& nodes) { return std::ranges::any_of(nodes, kept); }))
    r.notes.emplace_back("activation-inputs-unused");
}

// How slow: profiles/tables/h200, products.csv and misaligned_products.csv.
void note_misaligned_products(const pcg::Plan& plan, const FlowGraph& flow, SimulationResult& r) {
  const std::optional<MisalignedProducts> misaligned = misaligned_products(plan, flow);
  if (misaligned && misaligned->share >= kWorthNoting)
    r.notes.emplace_back("misaligned-products", misaligned->share, misaligned->multiple, misaligned->layer, misaligned->numbers);
}

void note_expert_capacity(const pcg::Plan& plan, SimulationResult& r) {
  for (const pcg::Padding& p : plan.padding) {
    const double more = static_cast<double>(p.to) / static_cast<double>(p.from) - 1;
    if (p.of == pcg::Padded::expert_capacity && more >= kWorthNoting) r.notes.emplace_back("expert-capacity-padded", p.from, p.to, more);
  }
}

void note_slow_stage(SimulationResult& r) {
  constexpr double kLeast = 0.02;  // of the time, as moving a layer may cost as much elsewhere
  if (!(r.breakdown.imbalance >= r.iteration_time * kLeast)) return;
  const auto slowest = std::ranges::max_element(r.stages, {}, &Breakdown::compute);
  std::vector<Breakdown> sorted = r.stages;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle, {}, &Breakdown::compute);
  if (const base::Seconds median = middle->compute; slowest->compute > median)
    r.notes.emplace_back("slow-stage", slowest - r.stages.begin(), slowest->compute / median, r.breakdown.imbalance / r.iteration_time);
}

// A plan that is ready to be unrolled for any number of micro-batches.
struct Ready {
  const pcg::Plan& plan;
  const topology::Cluster& cluster;
  const Program& program;
  const Traffic& traffic;
  const Folded& folded;
};

// One number of micro-batches, simulated.
struct Iteration {
  Unrolled unrolled;
  Timeline timeline;
};

Iteration iteration_of(const Ready& r, int micro_batches) {
  Iteration i{unroll(r.program, r.folded, r.plan, micro_batches, r.cluster), {}};
  i.timeline = simulate(i.unrolled.graph);
  return i;
}

// Looks at an iteration, which is kept by the caller.
Accounts accounts_of(const Ready& r, const Iteration& i) {
  return {r.plan, r.cluster, r.program, r.traffic, r.folded, i.unrolled, i.timeline};
}

// The account of an iteration, and how it uses its links.
struct Answer {
  Account account;
  std::vector<LinkUse> links;
  std::optional<int> simulated_micro_batches;  // SimulationResult
};

// How many micro-batches to try: those that show the shortest period, with as many again as are under way to settle; more where even those
// are a small part of all. Two iterations of as many answer then, and a failure costs a third of the whole. A pipeline whose stages are
// nearly equal takes long to settle: the slower one holds the others up only when they have run out of room.
std::vector<int> tries(const Rhythm& rhythm, int all) {
  std::vector<int> few;
  if (const int least = rhythm.needed(rhythm.unit) + rhythm.depth; 3 * least <= all) few.push_back(least);
  for (int n = rhythm.needed(rhythm.most); 32 * n <= all; n *= 4) few.push_back(n);
  if (const int most = std::max(rhythm.needed(rhythm.most), all / 8); 4 * most <= all) few.push_back(most);
  return few;
}

// The account of all micro-batches by those of so few that repeat themselves; nullopt where they do not, or where few are no gain.
std::optional<Answer> extrapolated(const Ready& r) {
  const std::optional<Rhythm> known = rhythm_of(r.plan);
  if (!known) return std::nullopt;
  const Rhythm& rhythm = *known;
  const int all = r.plan.micro_batches;
  for (const int n : tries(rhythm, all)) {
    const int few = n + (all - n) % rhythm.unit;  // as many as the schedule can have
    const Iteration tried = iteration_of(r, few);
    const std::optional<int> period = period_of(accounts_of(r, tried), few, rhythm);
    if (!period) continue;
    // Only whole periods are left out. An iteration that is up to two periods shorter repeats itself, too (period_of).
    const int last = few - (*period - (all - few) % *period) % *period, first = last - *period;
    const Iteration shorter = last == few ? Iteration{} : iteration_of(r, last);
    const Accounts at_last = accounts_of(r, last == few ? tried : shorter);
    const double periods = static_cast<double>(all - first) / *period;
    const Account less = account_of(accounts_of(r, iteration_of(r, first))), more = account_of(at_last);
    const std::vector<Repeat> repeats = repeats_of(at_last, last, *period, rhythm, periods - 1);
    double period_s = 0;
    for (const Repeat& repeat : repeats) period_s += repeat.length;
    // Where a period adds less than it takes, the end waits for hosts, which get ahead of their devices from period to period.
    if (std::abs((more.iteration_time - less.iteration_time).value() - period_s) > kSettled * period_s) continue;
    const Account whole = continued(less, more, periods);
    return Answer{whole, link_use(at_last, whole, {0, repeats}), last};
  }
  return std::nullopt;
}

// One iteration of a schedule that runs on: the difference that one more makes once the pipeline is full. An iteration has as many
// micro-batches as stages or more, so that the first one fills it; the third is the first that waits for an update.
Answer one_of_many(const Ready& r) {
  constexpr int kFilled = 5;
  const int each = r.plan.micro_batches;
  const Iteration next = iteration_of(r, (kFilled + 1) * each);
  const Accounts at_next = accounts_of(r, next);
  const Account one = difference(account_of(accounts_of(r, iteration_of(r, kFilled * each))), account_of(at_next));
  return {one, link_use(at_next, one, {begin_of(at_next, true, (kFilled - 1) * each), {}}), {}};
}

void fill_in(const Answer& answer, const Ready& ready, SimulationResult& r) {
  const Account& a = answer.account;
  r.iteration_time = a.iteration_time;
  r.stages = a.stages;
  split_waits(r.stages, a.iteration_time, empty_share(schedule_of(ready.plan, ready.plan.micro_batches)));
  r.breakdown = mean_of(r.stages);
  r.critical_path = longest_parts(a.path);
  r.bytes = count_bytes(a.executed, ready.folded, ready.traffic, ready.cluster);
  r.simulated_micro_batches = answer.simulated_micro_batches;
  r.links = answer.links;
  for (LinkUse& l : r.links) l.bytes = r.bytes.by_link.at(l.type);
  if (!r.links.empty()) r.busiest_link = BusiestLink{r.links.front().type, r.links.front().name, r.links.front().busiest};
  r.activities = a.activities;
  r.compute_by_basis = a.compute_by_basis;
}

}  // namespace

std::optional<MisalignedProducts> misaligned_products(const pcg::Plan& plan, const FlowGraph& flow) {
  const bool tf32 = plan.training.precision == pcg::Precision::tf32;
  if (!tf32 && !pcg::is_half(plan.training.precision)) return std::nullopt;
  MisalignedProducts misaligned{.multiple = tf32 ? 4 : 8};
  double all = 0, largest = 0;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes() || !std::holds_alternative<pcg::Linear>(*node.operation())) continue;
    // Rows of the weight, and with them those of what the layer reads and makes, and of all their gradients.
    const std::vector<std::int64_t> weight = flow.layouts[n].inputs[1].shape.shard().sizes;
    const std::int64_t in = plan.pcg.shard_inputs(pcg::NodeId(n))[0].sizes.back();
    const auto made = static_cast<double>(plan.pcg.shard_outputs(pcg::NodeId(n))[0].elements());
    const double flops = made * static_cast<double>(in);
    all += flops;
    for (const std::int64_t row : weight)
      if (row % misaligned.multiple != 0) {
        misaligned.share += flops;
        if (flops > largest) largest = flops, misaligned.layer = node.name, misaligned.numbers = row;
        break;
      }
  }
  if (misaligned.layer.empty()) return std::nullopt;
  misaligned.share /= all;
  return misaligned;
}

SimulationResult simulate_plan(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  BASE_CHECK(plan.gpus <= cluster.device_count(), "plan {} uses {} devices of {}", plan.name, plan.gpus, cluster.device_count());
  const auto& framework = framework_of(plan.training, config);
  const Dataflow dataflow = dataflow_of(plan);
  const Program program = lower(plan, dataflow, cluster, framework);
  const Traffic traffic = traffic_of(program, cluster, config.collectives);
  const Folded folded = config.fold ? fold(program, traffic, cluster) : without_folding(program, traffic, cluster);
  const Ready ready{plan, cluster, program, traffic, folded};
  const auto memory = device_memory(plan, dataflow, cluster, framework, config.trace ? Blocks::counted : Blocks::left_out);

  SimulationResult r;
  r.memory = peak_memory(plan, memory, cluster);
  for (std::uint32_t n : folded.sizes) r.devices += static_cast<int>(n);
  r.simulated_devices = static_cast<int>(folded.sizes.size());
  r.notes = program.notes;
  note_recomputation(plan, r);
  note_activation_inputs(plan, dataflow.flow, r);
  note_misaligned_products(plan, dataflow.flow, r);
  note_expert_capacity(plan, r);
  if (plan.between_stages == pcg::BetweenStages::signal && pcg::ranks_of(plan) > 1) r.notes.emplace_back("no-traffic-between-stages");
  for (base::Fact& fact : placement_facts(plan, dataflow, program, traffic, cluster, config.collectives))
    r.notes.push_back(std::move(fact));
  std::optional<Answer> few;
  if (config.extrapolate && !config.trace) few = extrapolated(ready);
  if (runs_on(plan.schedule)) {
    fill_in(one_of_many(ready), ready, r);
    r.notes.emplace_back("one-update-newer");
  }
  if (few) {
    fill_in(*few, ready, r);
  } else if (!runs_on(plan.schedule) || config.trace) {
    const Iteration whole = iteration_of(ready, plan.micro_batches);
    const Accounts accounts = accounts_of(ready, whole);
    if (!runs_on(plan.schedule)) {
      const Account account = account_of(accounts);
      fill_in({account, link_use(accounts, account, {}), {}}, ready, r);
    }
    if (config.trace) {
      TracedSpans traced = spans_of(accounts);
      r.spans = std::move(traced.spans);
      r.kernels = std::move(traced.kernels);
      r.stands_for = classes_of(folded);
      r.memory_over_time = memory_samples(accounts, memory);
    }
  }
  note_slow_stage(r);
  note_kernels(program, r);
  note_profiles(cluster, framework, r);
  note_memory(cluster, framework, r);
  if (r.simulated_devices < r.devices) r.notes.emplace_back("folded-devices", r.devices, r.simulated_devices);
  if (few) r.notes.emplace_back("folded-micro-batches", plan.micro_batches, *r.simulated_micro_batches);
  return r;
}

}  // namespace sim
