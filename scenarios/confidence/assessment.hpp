#pragma once
// Predicted against measured, group by group: what `foreshard validate` answers. reports/validation writes it as text, JSON and HTML.

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "scenarios/confidence/fit/interval_fit.hpp"
#include "scenarios/confidence/fit/pair_fit.hpp"
#include "scenarios/confidence/iteration_facts.hpp"
#include "scenarios/confidence/statistics.hpp"
#include "sim/results/simulation_result.hpp"

namespace confidence {

// The subject of a measurement: a whole iteration, memory of an iteration whose time is not known, a single kernel, a single collective,
// the kernels of one kind in a step, all kernels of a step.
enum class Subject { iteration, memory, kernel, collective, step_kernel, step };
[[nodiscard]] std::string_view to_text(Subject s);

// The kernels of a step by their kinds: where the sum of absolute differences is more than the difference of the whole, errors cancel.
struct StepDifferences {
  base::Seconds by_kind;  // the sum of absolute differences
  base::Seconds known;    // measured, of kernels whose kind is known
};

// One measurement and its forecast.
struct Item {
  Subject subject = Subject::iteration;
  std::string group, id;
  std::string where;                  // "FILE:LINE"
  base::Seconds measured, predicted;  // 0 of memory
  std::optional<std::pair<base::Seconds, base::Seconds>> interval;
  std::optional<Pair> peak_bytes, reserved_bytes;
  std::optional<sim::MemoryUse> memory;  // what a forecast peak is made of
  bool out_of_memory = false;            // the forecast says that what ran does not fit
  std::optional<IterationFacts> facts;   // of an iteration that has a forecast
  std::string failure;                   // why there is no forecast; empty: there is one
  std::string machine;                   // of a collective: "dgx-h100, 2 nodes"
  base::Bytes bytes;                     // of a collective
  std::optional<StepDifferences> step;   // of a step
};

// Over questions for which a group has several plans: how well forecasts choose among plans that answer the same question (one model,
// batch and machine). A plan that was measured several times counts once, with the median.
struct Choices {
  std::size_t questions = 0;
  double tau = 0;  // Kendall's, over pairs of plans of one question
  // The same over pairs that were measured over kRepeats apart; nullopt: there are none.
  std::optional<double> tau_apart;
  double regret = 0;  // mean of: measured time of the plan with the least forecast / least measured time - 1
};
// The difference of a plan that is measured again: 1 to 5 % in NeMo's tables (nemo_dgx_h100_2024.csv, 7 % in
// bigscience_bloom_a100_topologies.csv). Plans that lie closer have no order to forecast.
inline constexpr double kRepeats = 0.05;

// Runs of plans that were measured before, by another release or on another day.
struct Repeats {
  std::size_t runs = 0;  // beyond the first of each plan
  double scatter = 0;    // standard deviation of the logarithm of their times about each plan's mean
};
// With fewer the scatter is a guess.
inline constexpr std::size_t kLeastRepeats = 4;

struct GroupAssessment {
  Subject subject = Subject::iteration;
  std::string name;
  std::size_t points = 0, failed = 0, out_of_memory = 0;
  ErrorStatistics time;                       // of those that did not fail
  std::optional<ErrorStatistics> peak;        // of allocated memory, where it was measured
  std::optional<ErrorStatistics> reserved;    // of what allocators held, where it was measured
  std::optional<double> coverage;             // share of measured times inside the forecast's interval; failed ones are outside
  std::optional<double> leave_one_group_out;  // the same of intervals made without its source
  std::optional<double> formula_error;        // mean, of a closed formula that was fitted without the group, over points with a forecast
  std::optional<Choices> choices;             // nullopt: no two plans answer the same question
  std::optional<Repeats> repeats;             // nullopt: fewer than kLeastRepeats
  std::optional<double> interval_width;       // mean of (high - low) / predicted
  std::vector<std::size_t> worst;             // indices of items: failed ones first, then the largest errors; at most kWorst
};
inline constexpr std::size_t kWorst = 3;  // per group: enough to look a case up, few enough to read

struct Assessment {
  std::vector<Item> items;
  std::vector<GroupAssessment> groups;  // by subject, then in order of first appearance
  std::optional<confidence::UnseenCoverage> unseen;
  std::vector<LeftOutPairs> left_out_pairs;
  std::vector<std::string> notes;
};

[[nodiscard]] Assessment assess(std::vector<Item> items, std::optional<confidence::UnseenCoverage> unseen, std::vector<std::string> notes);

// A threshold that a group, or every group that begins with the name before a "*", must keep.
struct Limit {
  enum class Figure { error, peak, reserved, tau, coverage };
  std::string group;
  Figure figure = Figure::error;
  double value = 0;  // error, peak, reserved: at most; tau, coverage: at least
};
// Returns the limit that a text gives: "vtrain-single-node=7%", "mpt-*:tau=0.85", "mpt-*:coverage=85%", "simumax:peak=5%". Throws:
// base::InputError.
[[nodiscard]] Limit read_limit(const std::string& text);
// Returns one sentence per group that misses a limit; a group with a failed point misses every limit. Throws: base::InputError when no
// group has the name.
[[nodiscard]] std::vector<std::string> missed(const Assessment& a, const std::vector<Limit>& limits);

}  // namespace confidence
