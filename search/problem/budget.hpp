#pragma once
// The limits of a search: effort, in seconds of one core as steps are counted, and candidates. Both end it at the same place on every
// machine; the wall clock is a safety net far away (SearchContext::overdue).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "search/problem/problem.hpp"
#include "search/problem/search_result.hpp"

namespace search {

// Of planners whose options say none: a search then takes at most 10 s of one idle core on 1,024 GPUs.
inline constexpr base::Seconds kDefaultEffort(8);

struct Effort {
  base::Seconds least;
  int gpus_of_second = 0;  // a second more for as many; 0: it does not grow

  bool operator==(const Effort&) const = default;
  [[nodiscard]] base::Seconds on(int gpus) const { return least + base::Seconds(gpus_of_second > 0 ? 1.0 * gpus / gpus_of_second : 0.0); }
};

struct SearchLimits {
  static constexpr std::uint64_t kUncounted = std::numeric_limits<std::uint64_t>::max();

  // NOLINTNEXTLINE(google-explicit-constructor): seconds alone are limits
  SearchLimits(base::Seconds most_seconds, std::uint64_t most_candidates = kUncounted)
      : seconds(most_seconds), candidates(most_candidates) {}

  base::Seconds seconds;
  std::uint64_t candidates;  // steps of the planner's own kind, which its option names
};

// Starts when it is made. A step of a search asks for a candidate with take(); what works on a candidate asks for the time alone, so that
// candidates are evaluated whole.
// Requires: the context outlives it.
class Budget {
 public:
  Budget(const SearchContext& context, const SearchLimits& limits) : context_(context), limits_(limits) {
    if (context_.clock) start_ = context_.clock();
  }

  // Where there is no clock only by an interruption or the safety net.
  [[nodiscard]] bool time_is_up() const { return is_broken_off() || (context_.clock && context_.clock() - start_ > limits_.seconds); }
  // The share that is gone: of the candidates where they are limited, else of the seconds.
  [[nodiscard]] double gone() const {
    if (is_counted()) return static_cast<double>(counted_) / static_cast<double>(limits_.candidates);
    return context_.clock ? (context_.clock() - start_) / limits_.seconds : 0;
  }
  // All of it, where there is no clock.
  [[nodiscard]] base::Seconds left() const {
    return context_.clock ? base::Seconds(std::max(0.0, (limits_.seconds - (context_.clock() - start_)).value())) : limits_.seconds;
  }

  // Candidates are limited. What is then limited by seconds alone, as a solver's effort, is not to be asked: the plan would depend on it.
  [[nodiscard]] bool is_counted() const { return limits_.candidates != SearchLimits::kUncounted; }
  [[nodiscard]] std::uint64_t candidates_left() const { return limits_.candidates - std::min(limits_.candidates, counted_); }
  // Whether no other candidate may be evaluated; the limit that ended the search is kept.
  [[nodiscard]] bool is_spent() {
    if (time_is_up()) end(by_now());
    else if (candidates_left() == 0) end(Limit::candidates);
    else return false;
    return true;
  }
  // Whether another candidate may be evaluated, which then counts.
  [[nodiscard]] bool take() {
    if (is_spent()) return false;
    count(1);
    return true;
  }
  // A step of a solver of known cost (sim/effort.hpp).
  void spend(base::Seconds effort) const {
    if (context_.spend) context_.spend(effort);
  }
  void count(std::uint64_t candidates) { counted_ += candidates; }

  // The limits of a part of the search: of its seconds, or, where candidates are counted, of these, and then all the seconds that are
  // left. One candidate at least.
  [[nodiscard]] SearchLimits part(double of_seconds, double of_candidates) const {
    if (!is_counted()) return std::min(limits_.seconds * of_seconds, left());
    const auto share = static_cast<std::uint64_t>(static_cast<double>(limits_.candidates) * of_candidates);
    return {left(), std::max<std::uint64_t>(1, std::min(share, candidates_left()))};
  }
  [[nodiscard]] SearchLimits part(double share) const { return part(share, share); }
  // The count of such a part, and the limit that ended it.
  void add_part(std::uint64_t counted, std::optional<Limit> ended_by) {
    count(counted);
    if (ended_by && ended_by != Limit::options) end(*ended_by);
  }
  void end(Limit by) {
    if (by == Limit::candidates) is_out_of_candidates_ = true;
    else if (!out_of_ || by == Limit::time) out_of_ = by;
  }

  [[nodiscard]] std::uint64_t counted() const { return counted_; }
  // The limit that ended the search, or left something out of it, time first, because the plan then depends on it; nullopt: none.
  [[nodiscard]] std::optional<Limit> ended_by() const {
    if (out_of_) return out_of_;
    return time_is_up() ? by_now() : is_out_of_candidates_ ? std::optional(Limit::candidates) : std::nullopt;
  }

 private:
  [[nodiscard]] bool is_broken_off() const {
    return (context_.interrupted && context_.interrupted()) || (context_.overdue && context_.overdue());
  }
  [[nodiscard]] Limit by_now() const { return is_broken_off() ? Limit::time : Limit::effort; }

  const SearchContext& context_;
  SearchLimits limits_;
  base::Seconds start_;
  std::uint64_t counted_ = 0;
  std::optional<Limit> out_of_;  // effort, or time
  bool is_out_of_candidates_ = false;
};

}  // namespace search
