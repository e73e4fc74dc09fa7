#pragma once
// The interface of planners. A planner is a folder under search/ with a function that returns its Planner; search/planners.cpp lists them
// all. Nothing above search/ knows a planner by name.

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
  std::string form;   // tells planners of one kind apart: "search" of `megatron: search`; empty: the kind's plain form
  std::string about;  // one sentence: what plans it makes
  // What must be given beside the bare word ("degrees"), where the word alone describes no plan; empty: all options have defaults.
  std::string needs;
  std::string example;    // options as a user writes them, where `needs` is set: "{tensor: 2}"
  bool searches = false;  // it chooses the best of many plans; false: it makes the one plan that its rule gives
  std::vector<Option> options;

  // What the values contradict, if anything; may be empty.
  std::function<std::optional<OptionProblem>(const OptionValues&)> contradiction;
  // Requires: read_options() made the values from `options`, and they contradict nothing. Deterministic but for the context's clock.
  std::function<SearchResult(const Problem&, const OptionValues&, const SearchContext&)> plan;

  // "fsdp", "megatron: search".
  [[nodiscard]] std::string name() const { return form.empty() ? kind : kind + ": " + form; }
};

}  // namespace search
