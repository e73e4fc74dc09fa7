#include "search/planners/megatron/moves.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "base/divisors.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {
namespace {

using pcg::Framework;
using pcg::ScheduleKind;

constexpr std::array<int GridConfig::*, 4> kDegrees = {&GridConfig::tensor, &GridConfig::pipeline, &GridConfig::data, &GridConfig::context};

// The experts of a layer, as many as all such layers have in common; 1 where there are none.
std::int64_t experts_of(const pcg::Graph& model) {
  std::int64_t experts = 0;
  for (const pcg::GraphNode& n : model.nodes())
    if (std::holds_alternative<pcg::ExpertLinear>(n.op)) experts = std::gcd(experts, n.outputs[0].sizes[0]);
  return std::max<std::int64_t>(1, experts);
}

bool has_sequence(const pcg::Graph& model) {
  return std::ranges::any_of(model.nodes(), [](const pcg::GraphNode& n) {
    return std::holds_alternative<pcg::Attention>(n.op) || std::holds_alternative<pcg::Embedding>(n.op);
  });
}

// Or whatever can do what it can.
bool is_megatron(const MoveScope& scope) {
  return scope.framework == Framework::generic || scope.framework == Framework::megatron || scope.framework == Framework::megatron_core;
}

// Undoes what has lost its meaning.
void tidy(GridConfig& c, const MoveScope& scope) {
  c.micro_batch = std::gcd(c.micro_batch, scope.batch / c.data);
  for (int e = c.expert; c.data * c.context % e != 0 || c.data % (e / std::gcd(e, c.context)) != 0;) {
    do --e;
    while (c.expert % e != 0);
    c.expert = e;
  }
  if (c.tensor == 1) c.sequence_parallel = false;
  if (c.tensor == 1 || c.expert == 1) c.expert_tensor = 0;
  if (!c.sequence_parallel) c.overlap.tensor.reset();
  if (c.expert == 1) {
    c.dispatch = pcg::Dispatch::all_to_all;
    c.overlap.experts.reset();
  }
  if (c.context == 1) c.context_kind = ContextKind::ring;
  if (c.context % c.context_all_to_all != 0) c.context_all_to_all = 1;
  if (c.pipeline == 1) c.balanced_stages = false;
  const std::vector<int> chunks = chunks_of(c, scope);
  if (std::ranges::find(chunks, c.chunks) == chunks.end()) c.chunks = 1;
  if (c.chunks == 1 && (c.schedule == ScheduleKind::interleaved || c.schedule == ScheduleKind::breadth_first || c.pipeline == 1))
    c.schedule = ScheduleKind::one_f_one_b;
  if (c.chunks > 1 && c.schedule != ScheduleKind::breadth_first) c.schedule = ScheduleKind::interleaved;
  c.shard = 0;
  c.memory.recomputed = {};
  c.overlap.parameters.reset();
}

class Neighbours {
 public:
  Neighbours(const GridConfig& config, const MoveScope& scope) : config_(config), scope_(scope) {}

  std::vector<GridConfig> run() && {
    for (int GridConfig::*from : kDegrees)
      for (const std::int64_t p : base::prime_factors(config_.*from))
        for (int GridConfig::*to : kDegrees) move(from, to, static_cast<int>(p));
    next_of(base::divisors(scope_.experts), &GridConfig::expert);
    next_of(base::divisors(scope_.batch / config_.data), &GridConfig::micro_batch);
    next_of(chunks_of(config_, scope_), &GridConfig::chunks);
    if (config_.pipeline > 1) add_most_chunks(config_);
    if (config_.pipeline > 1) toggle(&GridConfig::balanced_stages);
    if (config_.tensor > 1) toggle(&GridConfig::sequence_parallel);
    return std::move(all_);
  }

 private:
  void move(int GridConfig::*from, int GridConfig::*to, int factor) {
    if (from == to || (to == &GridConfig::context && !scope_.has_sequence)) return;
    GridConfig c = config_;
    c.*from /= factor;
    c.*to *= factor;
    if (c.pipeline > std::max<std::int64_t>(1, scope_.layers) || scope_.batch % c.data != 0) return;
    if (config_.tensor == 1 && c.tensor > 1) c.sequence_parallel = true;
    add(c);
    if (c.pipeline <= config_.pipeline) return;
    // A longer pipeline wants more micro-batches; where they are few, it pays with chunks alone.
    for (const std::int64_t m : base::divisors(config_.micro_batch))
      if (m == 1 || scope_.batch / c.data % (m * c.pipeline) == 0) c.micro_batch = m;
    add(c);
    add_most_chunks(std::move(c));
  }
  void add_most_chunks(GridConfig c) {
    c.chunks = chunks_of(c, scope_).back();
    add(std::move(c));
  }
  template <class Number>
  void next_of(const std::vector<Number>& values, auto GridConfig::*member) {
    const auto at = std::ranges::lower_bound(values, static_cast<Number>(config_.*member));
    GridConfig c = config_;
    const auto take = [&](Number value) {
      c.*member = static_cast<std::remove_reference_t<decltype(c.*member)>>(value);
      add(c);
    };
    if (at != values.begin()) take(*std::prev(at));
    if (at != values.end() && std::next(at) != values.end()) take(*std::next(at));
  }
  void toggle(bool GridConfig::*member) {
    GridConfig c = config_;
    c.*member = !(c.*member);
    add(c);
  }
  void add(GridConfig c) {
    tidy(c, scope_);
    const bool has_new_exchange = (c.sequence_parallel && !config_.sequence_parallel) || (c.expert > 1 && config_.expert == 1);
    for (GridConfig& n : has_new_exchange ? exchanges(c, scope_) : std::vector{c})
      if (!(n == config_) && std::ranges::find(all_, n) == all_.end()) all_.push_back(std::move(n));
  }

  const GridConfig& config_;
  const MoveScope& scope_;
  std::vector<GridConfig> all_;
};

class OtherChoices {
 public:
  OtherChoices(const GridConfig& config, const MoveScope& scope) : config_(config), scope_(scope) {}

  std::vector<GridConfig> run() && {
    exchange_keys();
    if (scope_.framework == Framework::generic && config_.pipeline > 1) change_schedule();
    if (is_megatron(scope_)) {
      if (config_.expert > 1) {
        take({pcg::Dispatch::all_to_all, pcg::Dispatch::forwarded, pcg::Dispatch::forwarded_sorted}, &GridConfig::dispatch);
        toggle(&pcg::Overlap::experts);
        if (config_.tensor > 1) take({1}, &GridConfig::expert_tensor);
      }
      recompute_less();
      shard_in_groups();
      store_weights();
      if (config_.tensor > 1 && config_.sequence_parallel) toggle(&pcg::Overlap::tensor);
      if ((config_.zero == 1 || config_.zero == 2) && !config_.overlap.parameters) another().overlap.parameters = true;
    }
    return std::move(all_);
  }

 private:
  GridConfig& another() { return all_.emplace_back(config_); }
  // Every value that is not the configuration's.
  template <class Member>
  void take(std::initializer_list<Member> values, Member GridConfig::*member) {
    for (const Member& value : values)
      if (config_.*member != value) another().*member = value;
  }
  void toggle(std::optional<bool> pcg::Overlap::*choice) {
    another().overlap.*choice = config_.overlap.*choice ? std::nullopt : std::optional(true);
  }

  void exchange_keys() {
    if (config_.context == 1) return;
    const auto add = [&](ContextKind kind, int all_to_all) {
      GridConfig& c = another();
      c.context_kind = kind;
      c.context_all_to_all = all_to_all;
    };
    add(ContextKind::ulysses, 1);
    for (int n = 2; n < config_.context; n *= 2)
      if (config_.context % n == 0) add(ContextKind::ring, n);
    add(ContextKind::gather, 1);
  }
  // Megatron-LM has none of them; DeepSpeed and PyTorch have zero bubbles or nothing of the kind, and no grid.
  void change_schedule() {
    if (config_.chunks > 1) take({ScheduleKind::breadth_first}, &GridConfig::schedule);
    else if (config_.pipeline % 2 != 0) take({ScheduleKind::zero_bubble}, &GridConfig::schedule);
    else take({ScheduleKind::zero_bubble, ScheduleKind::dual_pipe}, &GridConfig::schedule);
  }
  // The first layers of each stage in place of all: about half of those that are.
  void recompute_less() {
    const pcg::RecomputedParts& parts = config_.memory.recomputed;
    if (config_.recompute != pcg::Recompute::full || !parts.modules.empty() || !parts.only.empty()) return;
    const auto now = parts.blocks > 0 ? parts.blocks : static_cast<int>(scope_.layers / config_.pipeline / config_.chunks);
    if (now > 1) another().memory.recomputed.blocks = static_cast<int>(std::bit_floor(static_cast<unsigned>(now - 1)));
  }
  // Groups within a domain, whose members need no network, and half of all.
  void shard_in_groups() {
    const int holders = config_.data * config_.context, within = scope_.domain_devices / config_.tensor, half = holders / 2;
    if (config_.zero == 0 || config_.shard != 0) return;
    const auto add = [&](int n) {
      if (n > 1 && n < holders && holders % n == 0) another().shard = n;
    };
    add(within);
    if (half != within) add(half);
  }
  void store_weights() {
    if (!pcg::casts_products(scope_.precision) || config_.memory.weights != pcg::WeightStorage::bf16) return;
    another().memory.weights = scope_.precision == pcg::Precision::mxfp8   ? pcg::WeightStorage::mxfp8
                               : scope_.precision == pcg::Precision::nvfp4 ? pcg::WeightStorage::nvfp4
                                                                           : pcg::WeightStorage::fp8;
  }

  const GridConfig& config_;
  const MoveScope& scope_;
  std::vector<GridConfig> all_;
};

}  // namespace

MoveScope move_scope(const Problem& problem) {
  return {.framework = problem.training.framework,
          .precision = problem.training.precision,
          .domain_devices = static_cast<int>(problem.cluster.domain_devices(0).size()),
          .batch = problem.training.global_batch,
          .layers = std::ranges::count_if(problem.model.blocks(), &pcg::Block::weighty),
          .experts = experts_of(problem.model),
          .has_sequence = has_sequence(problem.model)};
}

std::vector<int> chunks_of(const GridConfig& c, const MoveScope& scope) {
  std::vector<int> chunks{1};
  if (c.pipeline == 1 || scope.batch / c.data / c.micro_batch % c.pipeline != 0) return chunks;
  for (std::int64_t n = 2; n <= scope.layers / c.pipeline; ++n)
    if (n <= kFewChunks || scope.layers % (c.pipeline * n) == 0) chunks.push_back(static_cast<int>(n));
  return chunks;
}

std::vector<GridConfig> exchanges(GridConfig c, const MoveScope& scope) {
  if (!is_megatron(scope)) return {c};
  if (c.sequence_parallel) c.overlap.tensor = true;
  if (c.expert == 1) return {c};
  c.dispatch = pcg::Dispatch::forwarded_sorted;
  std::vector<GridConfig> all{c};
  const auto micro_batches = static_cast<int>(scope.batch / c.data / c.micro_batch);
  const bool alternates = c.schedule == ScheduleKind::one_f_one_b || c.schedule == ScheduleKind::interleaved;
  if (alternates && sim::merges_something({c.schedule, c.pipeline, c.chunks, micro_batches, true}))
    all.emplace_back(c).overlap.experts = true;
  return all;
}

std::vector<GridConfig> neighbours(const GridConfig& config, const MoveScope& scope) { return Neighbours(config, scope).run(); }

std::vector<GridConfig> other_choices(const GridConfig& config, const MoveScope& scope) { return OtherChoices(config, scope).run(); }

}  // namespace search
