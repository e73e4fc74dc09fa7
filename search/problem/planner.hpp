#pragma once
// The interface of planners, and the door of search/problem. Start here:
//   problem.hpp        Problem: the question; SearchContext: clock, seed and progress around it
//   planner.hpp        Planner: kind, options, and the function that plans
//   options.hpp        Option: an option described once; OptionValues: what a file gives; read_options(), with_limits()
//   budget.hpp         Budget: seconds and candidates, which every step asks for
//   confirmation.hpp   Confirmation: simulates the best candidates and makes the answer
//   search_result.hpp  SearchResult and Termination: a plan, or why there is none; to_text()
//   refusal.hpp        Refusal, Attempt: why a plan cannot be made, as a value
// A planner is a folder under search/planners with a function that returns its Planner; nothing above search/ knows a planner by name.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/problem/options.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/search_result.hpp"

namespace search {

struct Planner {
  std::string kind;   // the word that asks for it in a scenario: "fsdp"
  std::string form;   // distinguishes planners of one kind: "search" of `megatron: search`; empty: the kind's plain form
  std::string about;  // one sentence: what plans it makes
  // Options that must be given with the bare word ("degrees"), where the word alone describes no plan; empty: all options have defaults.
  std::string needs;
  std::string example;    // options as a user writes them, where `needs` is set: "{tensor: 2}"
  bool searches = false;  // it chooses the best of many plans; false: it makes the one plan that its rule gives
  std::vector<Option> options;

  // The contradiction of the values, if there is one; may be empty.
  std::function<std::optional<OptionProblem>(const OptionValues&)> contradiction;
  // Requires: read_options() made the values from `options`, and they contradict nothing. Deterministic but for the context's clock.
  std::function<SearchResult(const Problem&, const OptionValues&, const SearchContext&)> plan;

  // "fsdp", "megatron: search".
  [[nodiscard]] std::string name() const { return form.empty() ? kind : kind + ": " + form; }
};

}  // namespace search
