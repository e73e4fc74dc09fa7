#include "search/solve/operators/summary.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

namespace search {
namespace {

constexpr std::size_t kMostSummarised = 4;  // kinds of cuts that a summary names

}  // namespace

std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& s) {
  std::vector<std::string> parts;
  for (std::size_t l = 0; l < s.degrees.size(); ++l)
    if (s.degrees[l] > 1) parts.push_back(fmt::format("{} {}", space.loops[l].name, s.degrees[l]));
  if (s.copies > 1) parts.push_back(fmt::format("copies {}", s.copies));
  if (s.sums > 1) parts.push_back(fmt::format("sums {}", s.sums) + (s.through >= 0 ? fmt::format(" of input {}", s.through) : ""));
  return parts.empty() ? "whole" : fmt::format("{}", fmt::join(parts, " x "));
}

std::string summary_of_cuts(const pcg::Plan& plan) {
  std::map<std::string, int> count;
  for (const pcg::PcgNode& n : plan.pcg.nodes())
    if (n.computes()) ++count[cut_text(*n.space, n.sharding)];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostSummarised); ++i)
    text += fmt::format("{}{} operator{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].second == 1 ? "" : "s", sorted[i].first);
  if (sorted.size() > kMostSummarised)
    text += fmt::format(", {} other cut{}", sorted.size() - kMostSummarised, sorted.size() == kMostSummarised + 1 ? "" : "s");
  return text;
}

}  // namespace search
