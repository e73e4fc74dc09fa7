#pragma once
// The search that UniAP and Galvatron share: every number of stages and of micro-batches is a chain of layers, the answers of which are
// turned into plans, and the best of them simulated whole.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/options.hpp"
#include "search/solve/layers/chain_costs.hpp"

namespace search {

struct ChainSearchConfig {
  SearchLimits budget = kDefaultEffort;
  std::optional<pcg::ScheduleKind> schedule;  // nullopt: 1F1B, and the published one
  std::size_t simulated = 12;                 // plans, at most
  std::int64_t stages = 0;                    // 0: as many as are best
  std::int64_t micro_batches = 0;             // likewise
  bool as_published = false;                  // GPipe's schedule, ZeRO 3 alone, nothing computed again
  [[nodiscard]] bool is_narrowed() const { return as_published || stages > 0 || micro_batches > 0; }
};

struct ChainCandidate {
  ChainSetting setting;
  LayerChain chain;
  double at_least = 0;  // seconds of an iteration
  std::optional<ChainAnswer> answer = std::nullopt;
  const char* made_by = "layers";  // the part of the search that made the answer
  std::optional<base::Seconds> simulated = std::nullopt;
};

class ChainSearch {
 public:
  // All outlive the object.
  ChainSearch(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context, std::string name);

  // Each pair of stages and micro-batches that is costed, solved or simulated is a candidate of it.
  [[nodiscard]] Budget& budget() { return budget_; }
  [[nodiscard]] Confirmation& confirmation() { return confirmation_; }
  [[nodiscard]] std::size_t layers() const { return model_.layer_like.size(); }
  // A setting that is asked for and cannot be.
  [[nodiscard]] std::optional<Refusal> refusal() const;
  // Every number of stages that divides the devices, and of micro-batches that divides the batch, ascending; or the ones asked for.
  [[nodiscard]] const std::vector<int>& stages() const { return stages_; }
  [[nodiscard]] const std::vector<int>& micro_batches() const { return micro_batches_; }
  // Settings of pipelines of this many stages.
  [[nodiscard]] std::vector<ChainSetting> settings(int stages) const;
  // Each stage has a layer. nullopt: no such chain.
  [[nodiscard]] std::optional<ChainCandidate> candidate(const ChainSetting& setting, int micro_batches);
  // Finds the answer to a chain that takes least, and less than some seconds; nullopt: there is none, or the time is up.
  using Solve = std::function<std::optional<ChainAnswer>(const LayerChain& chain, double to_beat)>;
  // Simulates the plans of the quickest answers, as many as are asked for: by their estimates, as sums do not see what overlaps; in the
  // published space by their sums. Memory is the simulator's: where a plan needs more, `solve` is asked again with less.
  // Returns: whether one fits.
  bool confirm_best(const std::vector<ChainCandidate>& candidates, const Solve& solve);
  // Balances the stages of the plans that came out nearly as quick as the best, by their estimates.
  void confirm_balanced();
  // Where nothing fits: of these, the plan that needs least memory, which says by how much.
  void confirm_minimum_memory(const std::vector<ChainCandidate>& candidates, const Solve& solve);
  // `bound`: of the objective; nullopt: not known.
  [[nodiscard]] SearchResult result(std::optional<double> bound) &&;

 private:
  // Those that have an answer, in the order in which they are simulated.
  [[nodiscard]] std::vector<const ChainCandidate*> ordered(const std::vector<ChainCandidate>& candidates) const;
  [[nodiscard]] pcg::Plan plan_of(const ChainCandidate& candidate) const;
  // Sets its simulated time. Returns: bytes that a device lacks.
  double confirm_answer(ChainCandidate& candidate);
  // Returns: the answer that fits.
  std::optional<ChainCandidate> confirm(ChainCandidate candidate, const Solve& solve);
  // Layers are moved between the stages, each in its strategy. nullopt: they stay.
  [[nodiscard]] std::optional<ChainCandidate> balanced(const ChainCandidate& candidate) const;

  const Problem& problem_;
  ChainSearchConfig config_;
  Budget budget_;
  Confirmation confirmation_;
  ShortModel model_;
  OperatorCatalog catalog_;
  std::vector<int> stages_, micro_batches_;
  std::map<int, std::unique_ptr<ChainCosts>> costs_;          // by micro-batches
  std::vector<std::pair<base::Seconds, double>> objectives_;  // of simulated plans, by their simulated time
  std::vector<ChainCandidate> fitting_;                       // those that were simulated
  bool keeps_scores_ = false;                                 // some attention of the model: they may be computed again instead
  bool has_candidate_ = false, has_long_edges_ = false;
  std::size_t layers_skipped_ = 0;  // tensors that are read after the next layer
};

// The options of both planners that search chains of layers.
[[nodiscard]] std::vector<Option> chain_search_options();
[[nodiscard]] ChainSearchConfig chain_search_config(const OptionValues& values);

}  // namespace search
