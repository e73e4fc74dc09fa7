#pragma once
// Plans of Megatron's grid as far as the search has come with them: estimated, held against memory, simulated.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "search/grid/grid_plan.hpp"
#include "search/planners/megatron/ranking.hpp"
#include "search/problem/confirmation.hpp"

namespace search {

class Candidates {
 public:
  // All outlive the object.
  Candidates(const Problem& problem, PlanBounds& bounds, Budget& budget, const SearchContext& context);

  // The estimates of a family.
  struct Evaluation {
    bool is_refused = false;                   // it cannot be built
    std::size_t estimated = 0, dominated = 0;  // variants; the latter cannot be better than what was simulated, or than another of them
    std::optional<std::size_t> best;           // number of the best candidate that fits, if one is near the best of the search or asked for
  };
  // Estimates the variants of a family that was not evaluated before.
  // `asked_for`: its best variant that fits is a candidate however slow it is.
  Evaluation evaluate(const Family& family, bool asked_for);
  // nullopt: it was not evaluated.
  [[nodiscard]] std::optional<Evaluation> evaluation_of(const GridConfig& family) const;

  [[nodiscard]] const GridConfig& config(std::size_t candidate) const { return all_[candidate].config; }
  [[nodiscard]] double estimate(std::size_t candidate) const { return all_[candidate].estimate; }

  // `by`: the part of the search that does. Returns: whether it is now the best.
  bool simulate(std::size_t candidate, const std::string& by);
  // The best `most` that are not simulated yet: of each family one without and one with ZeRO 3 first, so that plans that hardly differ do
  // not crowd out all others.
  void simulate_best(std::size_t most, const std::string& by);

  // Seconds of what was simulated, infinite where nothing was. A plan that takes at least `seconds` need not be evaluated, and one whose
  // estimate is far above need not be simulated.
  [[nodiscard]] double best() const;
  [[nodiscard]] bool is_dominated(double seconds) const;
  [[nodiscard]] bool is_far(std::size_t candidate) const { return is_far(all_[candidate]); }
  // The candidate that is the best of what was simulated; nullopt: none, or another plan is.
  [[nodiscard]] std::optional<std::size_t> best_candidate() const { return best_candidate_; }
  // Whether something that fits was left aside because of its estimate, or because enough was simulated.
  [[nodiscard]] bool has_left_out() const { return has_left_out_; }
  // Why the last family that was refused cannot be built.
  // Requires: one was.
  [[nodiscard]] const Refusal& refusal() const { return refusal_.value(); }
  [[nodiscard]] Confirmation& confirmation() { return confirmation_; }

 private:
  struct Candidate {
    GridConfig config;
    double estimate = 0;
    bool is_rough = false;    // its list of layers is
    bool is_variant = false;  // a quicker variant of its family is a candidate, too: of those with ZeRO 3, or of those without, as it is
    bool is_simulated = false;
  };
  [[nodiscard]] bool is_far(const Candidate& c) const;
  [[nodiscard]] std::vector<Candidate> estimated(const Family& family, const pcg::Plan& plan, Evaluation& evaluation);
  [[nodiscard]] bool fits(pcg::Plan plan, const GridConfig& config);

  const Problem& problem_;
  PlanBounds& bounds_;
  Budget& budget_;
  const SearchContext& context_;
  bool bounds_hold_;
  GridPlanner planner_;
  Confirmation confirmation_;
  std::optional<Refusal> refusal_;
  bool has_left_out_ = false;
  std::optional<std::size_t> best_candidate_;
  std::vector<Candidate> all_;
  std::vector<std::pair<GridConfig, Evaluation>> evaluations_;
};

// A local search through the grid (moves.hpp). Starts from the best of each kind of plan by its bound: with or without tensor ranks,
// context, pipeline, and experts within a domain or over as many ranks as can be. A step is a neighbour or another choice with a better
// estimate; where there is none, the plan is simulated. Ends when the budget is spent. Returns: the number of steps that were estimated.
std::size_t search_locally(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds, Candidates& candidates,
                           Budget& budget);
// Goes on from the best candidate that was simulated by what simulations say: estimates are blind to contention. Returns: as above.
std::size_t search_by_simulation(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds,
                                 Candidates& candidates, Budget& budget);

}  // namespace search
