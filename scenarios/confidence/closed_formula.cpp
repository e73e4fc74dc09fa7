#include "scenarios/confidence/closed_formula.hpp"

#include <array>
#include <cmath>
#include <map>

namespace confidence {
namespace {

const std::string& part_of(const Item& i, LeftOut left_out) {
  switch (left_out) {
    case LeftOut::machine: return i.facts->machine;
    case LeftOut::family: return i.facts->family;
    case LeftOut::group: break;
  }
  return i.group;
}

// Shares of peak of rows, by their group.
using Shares = std::map<std::string, std::vector<double>>;

// A group counts once, whatever its rows; a median is not led away by groups of small models, which reach a hundredth of the peak.
double middle(const Shares& shares) {
  std::vector<double> of_groups;
  for (const auto& [group, of_rows] : shares) of_groups.push_back(median(of_rows));
  return median(std::move(of_groups));
}

// The shares of the rows that remain, under each name that a row is looked up by: generation and precision, precision, all.
using Remaining = std::map<std::pair<std::string, std::string>, Shares>;

std::array<std::pair<std::string, std::string>, 3> names_of(const IterationFacts& f) {
  return {std::pair{f.machine, f.precision}, std::pair{std::string(), f.precision}, std::pair{std::string(), std::string()}};
}

// Runs that reach less of the peak wait for their hosts, and tell nothing of it.
constexpr double kLeastShare = 0.02;

// The share of the first name that has rows bound by their devices, not by their hosts; where none has, of the first that has any rows.
std::optional<double> share_for(const IterationFacts& facts, const Remaining& remaining) {
  std::optional<double> first;
  for (const auto& name : names_of(facts)) {
    const auto at = remaining.find(name);
    if (at == remaining.end()) continue;
    const double share = middle(at->second);
    if (share >= kLeastShare) return share;
    if (!first) first = share;
  }
  return first;
}

Remaining without(const std::vector<Item>& items, const std::string& part, LeftOut left_out) {
  Remaining remaining;
  for (const Item& i : items) {
    if (!i.facts || part_of(i, left_out) == part) continue;
    for (const auto& name : names_of(*i.facts)) remaining[name][i.group].push_back(i.facts->at_peak / i.measured);
  }
  return remaining;
}

}  // namespace

std::vector<std::optional<double>> formula_errors(const std::vector<Item>& items, LeftOut left_out) {
  std::vector<std::optional<double>> errors(items.size());
  std::map<std::string, Remaining> fits;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].facts) continue;
    const std::string& part = part_of(items[i], left_out);
    if (!fits.contains(part)) fits[part] = without(items, part, left_out);
    if (const auto share = share_for(*items[i].facts, fits.at(part)))
      errors[i] = std::abs(items[i].facts->at_peak / items[i].measured / *share - 1);
  }
  return errors;
}

}  // namespace confidence
