#include "search/solve/stages/stage_memory.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace search {

// A stage's operators in a row.
struct StageMemory::Stage {
  ConstrainedOperators operators;
  std::vector<std::vector<std::uint32_t>> number{};  // by part and operator of the part
  std::size_t count = 0;
  std::optional<MemoryRoom> memory{};
  bool is_settled = false;
  bool lacks_all_the_same = false;  // with the strategies of least memory
  // The best that fits.
  StageStrategies best{};
  double seconds = std::numeric_limits<double>::infinity();
  bool is_proved = false;

  void take(const StageStrategies& strategies, double their_seconds, bool are_proved) {
    if (their_seconds > seconds || (their_seconds == seconds && !are_proved)) return;
    best = strategies;
    seconds = their_seconds;
    is_proved = are_proved;
  }

  [[nodiscard]] std::vector<std::uint32_t> in_a_row(const StageStrategies& strategies) const {
    std::vector<std::uint32_t> row(count, 0);
    for (std::size_t p = 0; p < strategies.size(); ++p)
      for (std::size_t o = 0; o < strategies[p].size(); ++o) row[number[p][o]] = strategies[p][o];
    return row;
  }
  [[nodiscard]] StageStrategies by_part(const std::vector<std::uint32_t>& row) const {
    StageStrategies strategies(number.size());
    for (std::size_t p = 0; p < number.size(); ++p)
      for (const std::uint32_t n : number[p]) strategies[p].push_back(row[n]);
    return strategies;
  }
};

StageMemory::StageMemory(OperatorCatalog& catalog, BranchShapes& shapes, std::vector<const Mapping::Part*> parts,
                         const PipelineConfig& config, const Objective& objective, int micro_batches)
    : parts_(std::move(parts)),
      objective_(objective),
      micro_batches_(micro_batches),
      lists_(catalog, objective, config.most_strategies, config.most_cut, config.cuts, true),
      mapping_(lists_, shapes, {.side_by_side = false}),
      transfers_(mapping_, catalog, parts_, config.counts_transfers) {}

// As many micro-batches are kept as stages are left, this one included.
StageMemory::Stage StageMemory::stage_of(const StageRun& run, std::size_t stages_after) {
  Objective objective = objective_;
  objective.kept_copies *= static_cast<double>(std::min(stages_after + 1, static_cast<std::size_t>(micro_batches_)));
  Stage stage{ConstrainedOperators(lists_, lists_.catalog().alike(run.block), objective)};
  for (std::size_t p = run.begin; p < run.end; ++p) {
    const Mapping::Part& part = *parts_[p];
    std::vector<std::uint32_t>& number = stage.number.emplace_back();
    for (std::uint32_t o = 0; o < part.tree.kinds.size(); ++o) {
      const KindNumber kind = part.tree.kinds[o];
      if (o != part.first) number.push_back(stage.operators.add(kind));
      else if (p > run.begin) number.push_back(stage.number[stage.number.size() - 2][parts_[p - 1]->last]);
      else number.push_back(stage.operators.add(kind, transfers_.before_first(p, run.block)));
      stage.count = std::max(stage.count, static_cast<std::size_t>(number.back()) + 1);
    }
    for (const OperatorEdge& e : part.edges) stage.operators.join(number[e.from], number[e.to], e.kind);
  }
  return stage;
}

std::optional<FittingStages> StageMemory::fit(const std::vector<StageRun>& runs, std::vector<StageStrategies> strategies, const Room& room,
                                              const Budget& budget) {
  std::vector<Stage> stages;
  for (std::size_t s = 0; s < runs.size(); ++s) stages.push_back(stage_of(runs[s], runs.size() - 1 - s));
  std::vector<bool> are_proved(stages.size(), false);
  for (bool again = true; again && !budget.time_is_up();) {
    const std::vector<double> left = room(strategies);
    again = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      Stage& stage = stages[s];
      if (stage.is_settled) continue;
      const std::vector<std::uint32_t> row = stage.in_a_row(strategies[s]);
      if (left[s] >= 0) stage.take(strategies[s], stage.operators.seconds(row), are_proved[s]);
      const double bytes = stage.operators.bytes(row);
      stage.is_settled = stage.memory && !stage.memory->tell(bytes, left[s]);
      if (stage.is_settled) continue;
      if (!stage.memory) stage.memory.emplace(bytes + left[s]);
      const ConstrainedChoice found = stage.operators.cheapest(stage.memory->limit(), budget);
      if (found.choice.empty()) break;
      if (!found.fits && stage.lacks_all_the_same) return std::nullopt;
      stage.lacks_all_the_same = !found.fits;
      are_proved[s] = found.is_optimal && found.fits;
      strategies[s] = stage.by_part(found.choice);
      again = true;
    }
  }
  FittingStages found;
  for (Stage& stage : stages) {
    if (stage.best.empty()) return std::nullopt;
    found.strategies.push_back(std::move(stage.best));
    found.seconds.push_back(stage.seconds);
    found.are_proved = found.are_proved && stage.is_proved;
  }
  return found;
}

}  // namespace search
