#include "search/planners/megatron/ranking.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "base/divisors.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

class Points {
 public:
  Points(const Problem& problem, const Wishes& wishes) : problem_(problem), wishes_(wishes) {}

  std::vector<GridConfig> run() && {
    // Small groups of devices with small micro-batches first: a budget that ends leaves out what needs most memory.
    std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  // devices, micro-batch
    for (const std::int64_t group : base::divisors(devices_))
      for (const std::int64_t micro_batch : base::divisors(scope_.batch)) sizes.emplace_back(group, micro_batch);
    std::ranges::stable_sort(sizes, {},
                             [](const auto& size) { return static_cast<double>(size.first) * static_cast<double>(size.second); });
    for (const auto& [group, micro_batch] : sizes)
      for (const std::int64_t context : contexts_)
        if (group % context == 0) add_cuts(group / context, context, micro_batch);
    return std::move(points_);
  }

 private:
  void add_cuts(std::int64_t tensor, std::int64_t context, std::int64_t micro_batch) {
    if (wishes_.tensor_within_node() && static_cast<std::size_t>(tensor) > problem_.cluster.node_devices(0).size()) return;
    GridConfig c;
    c.tensor = static_cast<int>(tensor);
    c.context = static_cast<int>(context);
    c.micro_batch = micro_batch;
    for (const std::int64_t expert : experts_)
      for (const bool sequence_parallel : {false, true}) {
        if (sequence_parallel && tensor == 1) continue;
        c.expert = static_cast<int>(expert);
        c.sequence_parallel = sequence_parallel;
        add_pipelines(c);
      }
  }

  void add_pipelines(GridConfig c) {
    const std::int64_t rest = devices_ / c.tensor / c.context, from_data = c.expert / std::gcd(c.expert, c.context);
    for (const std::int64_t pipeline : base::divisors(rest)) {
      if (pipeline > std::max<std::int64_t>(1, scope_.layers) || rest / pipeline % from_data != 0) continue;
      c.pipeline = static_cast<int>(pipeline);
      c.data = static_cast<int>(rest / pipeline);
      if (scope_.batch % (c.data * c.micro_batch) == 0) add_chunks(c);
    }
  }

  void add_chunks(GridConfig c) {
    for (const int chunks : chunks_of(c, scope_)) {
      const bool divides = scope_.layers % (c.pipeline * chunks) == 0;
      c.chunks = chunks;
      c.schedule = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
      // Where layers do not divide, stages are balanced in any case.
      for (const bool balanced : {false, true}) {
        if (balanced && (c.pipeline == 1 || !divides)) continue;
        c.balanced_stages = balanced;
        // Twice, as the exchanges depend on the schedule that is wished for, and may be wished for themselves.
        GridConfig scheduled = c;
        wishes_.adapt(scheduled);
        for (GridConfig point : exchanges(scheduled, scope_)) {
          wishes_.adapt(point);
          if (wishes_.allow(point, Wishes::Decided::point)) points_.push_back(std::move(point));
        }
      }
    }
  }

  const Problem& problem_;
  const Wishes& wishes_;
  MoveScope scope_ = move_scope(problem_);
  std::int64_t devices_ = problem_.cluster.device_count();
  std::vector<std::int64_t> experts_ = base::divisors(scope_.experts);
  std::vector<std::int64_t> contexts_ = base::divisors(scope_.has_sequence ? devices_ : 1);
  std::vector<GridConfig> points_;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

// Memory for tensors of the device that has most.
double most_room(const Problem& problem) {
  double room = 0;
  for (std::size_t d = 0; d < problem.cluster.devices().size(); ++d) {
    const profiles::DeviceProfile& profile = problem.oracle.device(base::DeviceId(d));
    room = std::max(room, (problem.cluster.devices()[d].memory.value_or(profile.memory) - profile.reserved).value());
  }
  return room;
}

// Points of one line have all in common but micro-batch and stages.
auto line_of(const GridConfig& c) { return std::tuple(c.tensor, c.context, c.expert, c.sequence_parallel); }

int zero_stages(const GridConfig& c) { return c.data * c.context > 1 ? 4 : 1; }

class Ranker {
 public:
  Ranker(const Problem& problem, const Wishes& wishes, PlanBounds& bounds)
      : wishes_(wishes), recomputations_(recomputations_of(problem.model)), bounds_(bounds) {
    ranking_.room = most_room(problem);
  }

  Ranking run(std::span<const GridConfig> points, Budget& budget, const SearchContext& context) {
    for (std::size_t first = 0, end = 0; first < points.size(); first = end) {
      while (end < points.size() && line_of(points[first]) == line_of(points[end]) && points[first].micro_batch == points[end].micro_batch)
        ++end;
      const std::span<const GridConfig> cut = points.subspan(first, end - first);
      for (const GridConfig& c : cut) ranking_.plans += plans_of(c);
      if (context.progress) context.progress(fmt::format("megatron: {} of {} points of the grid sketched", first, points.size()));
      if (!budget.take()) prune(cut, ranking_.pruned.unreached);
      else add_cut(cut);
    }
    // Stable: among equals the order of the grid decides, so that the answer does not depend on the library.
    std::ranges::stable_sort(ranking_.families, {}, [](const Family& f) { return f.likely(kNever); });
    return std::move(ranking_);
  }

 private:
  [[nodiscard]] std::size_t plans_of(GridConfig c) const {
    std::size_t plans = 0;
    for (c.zero = 0; c.zero < zero_stages(c); ++c.zero)
      for (const pcg::Recompute r : recomputations_) c.recompute = r, plans += wishes_.allow(c) ? 1 : 0;
    return plans;
  }
  void prune(std::span<const GridConfig> points, std::size_t& why) const {
    for (const GridConfig& c : points) why += plans_of(c);
  }

  void add_cut(std::span<const GridConfig> points) {
    bool& is_too_big = is_too_big_[line_of(points.front())];
    if (is_too_big) return prune(points, ranking_.pruned.too_big);
    double best = kNever;
    bool is_cut = false;
    for (const GridConfig& c : points) {
      const Refusal* refused = bounds_.refusal(c);
      if (refused != nullptr) {
        ranking_.refusal = *refused;
        prune({&c, 1}, ranking_.pruned.refused);
        continue;
      }
      is_cut = true;
      best = std::min(best, add_point(c));
    }
    if (!is_cut) return;
    // The memory that a micro-batch needs only grows with it.
    is_too_big = best == kNever;
  }

  // Returns the seconds of its quickest plan that fits.
  double add_point(const GridConfig& point) {
    double best = kNever;
    const auto too_big = [this](const GridConfig& c, double bytes) { this->too_big(c, bytes); };
    for (Family& family : families_of(point, wishes_, bounds_, ranking_.room, too_big)) {
      best = std::min(best, family.least());
      ranking_.families.push_back(std::move(family));
    }
    return best;
  }

  void too_big(const GridConfig& c, double bytes) {
    ++ranking_.pruned.too_big;
    if (bytes >= least_too_big_) return;
    least_too_big_ = bytes;
    ranking_.smallest = c;
  }

  const Wishes& wishes_;
  std::vector<pcg::Recompute> recomputations_;
  PlanBounds& bounds_;
  double least_too_big_ = kNever;
  std::map<decltype(line_of({})), bool> is_too_big_;
  Ranking ranking_;
};

}  // namespace

double Family::likely(double bytes) const {
  double least = kNever;
  for (const RankedVariant& v : variants)
    if (v.bound.bytes <= bytes) least = std::min(least, v.bound.likely);
  return least;
}

std::vector<GridConfig> grid_points(const Problem& problem, const Wishes& wishes) { return Points(problem, wishes).run(); }

std::vector<Family> families_of(const GridConfig& point, const Wishes& wishes, PlanBounds& bounds, double room,
                                const std::function<void(const GridConfig&, double bytes)>& too_big) {
  std::vector<Family> families;
  // The costs that balance layers are those with recomputation: then each kind has its own stages.
  const bool apart = !bounds.has_equal_stages(point);
  for (const pcg::Recompute recompute : bounds.recomputations()) {
    if (apart || families.empty()) families.push_back({point, {}});
    GridConfig c = point;
    c.recompute = recompute;
    if (apart) families.back().config = c;
    for (c.zero = 0; c.zero < zero_stages(c); ++c.zero) {
      if (!wishes.allow(c)) continue;
      const PlanBound bound = bounds.bound(c);
      if (bound.bytes <= room) families.back().variants.push_back({{recompute, c.zero}, bound});
      else if (too_big) too_big(c, bound.bytes);
    }
  }
  std::erase_if(families, [](const Family& f) { return f.variants.empty(); });
  for (Family& f : families) std::ranges::stable_sort(f.variants, {}, [](const RankedVariant& v) { return v.bound.seconds; });
  return families;
}

Ranking rank(const Problem& problem, const Wishes& wishes, PlanBounds& bounds, Budget& budget, const SearchContext& context) {
  return Ranker(problem, wishes, bounds).run(grid_points(problem, wishes), budget, context);
}

}  // namespace search
