#include "search/planners/megatron/ranking.hpp"

#include <algorithm>
#include <numeric>

namespace search {
namespace {

// Megatron-LM's interleaved schedule is reported with few virtual stages per device (arXiv 2104.04473, sections 2.2 and 5.4.2); more are
// tried where they divide a stage's layers.
constexpr std::int64_t kFewChunks = 8;

// Ascending. Cost: O(sqrt n).
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

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

class Points {
 public:
  explicit Points(const Problem& problem)
      : devices_(problem.cluster.device_count()),
        batch_(problem.training.global_batch),
        layers_(std::ranges::count_if(problem.model.blocks(), &pcg::Block::weighty)),
        experts_(divisors(experts_of(problem.model))),
        contexts_(has_sequence(problem.model) ? divisors(devices_) : std::vector<std::int64_t>{1}),
        micro_batches_(divisors(batch_)) {}

  std::vector<GridConfig> run() && {
    for (const std::int64_t group : divisors(devices_))
      for (const std::int64_t context : contexts_)
        if (group % context == 0) add_cuts(group / context, context);
    return std::move(points_);
  }

 private:
  void add_cuts(std::int64_t tensor, std::int64_t context) {
    GridConfig c;
    c.tensor = static_cast<int>(tensor);
    c.context = static_cast<int>(context);
    for (const std::int64_t expert : experts_)
      for (const bool sequence_parallel : {false, true}) {
        if (sequence_parallel && tensor == 1) continue;
        c.expert = static_cast<int>(expert);
        c.sequence_parallel = sequence_parallel;
        for (const std::int64_t micro_batch : micro_batches_) {
          c.micro_batch = micro_batch;
          add_pipelines(c);
        }
      }
  }

  void add_pipelines(GridConfig c) {
    const std::int64_t rest = devices_ / c.tensor / c.context, from_data = c.expert / std::gcd(c.expert, c.context);
    for (std::int64_t pipeline = 1; pipeline <= std::min(rest, std::max<std::int64_t>(1, layers_)); ++pipeline) {
      if (rest % pipeline != 0 || rest / pipeline % from_data != 0) continue;
      c.pipeline = static_cast<int>(pipeline);
      c.data = static_cast<int>(rest / pipeline);
      if (batch_ % (c.data * c.micro_batch) == 0) add_chunks(c);
    }
  }

  void add_chunks(GridConfig c) {
    const std::int64_t longest = layers_ / c.pipeline;
    for (std::int64_t chunks = 1; chunks <= std::max<std::int64_t>(1, longest); ++chunks) {
      const bool divides = layers_ % (c.pipeline * chunks) == 0;
      if (chunks > kFewChunks && !divides) continue;
      if (chunks > 1 && (c.pipeline == 1 || batch_ / c.data / c.micro_batch % c.pipeline != 0)) break;
      c.chunks = static_cast<int>(chunks);
      c.schedule = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
      // Where layers do not divide, stages are balanced in any case.
      for (const bool balanced : {false, true}) {
        if (balanced && (c.pipeline == 1 || !divides)) continue;
        c.balanced_stages = balanced;
        points_.push_back(c);
      }
    }
  }

  std::int64_t devices_, batch_, layers_;
  std::vector<std::int64_t> experts_, contexts_, micro_batches_;
  std::vector<GridConfig> points_;
};

}  // namespace

std::vector<GridConfig> grid_points(const Problem& problem) { return Points(problem).run(); }

}  // namespace search
