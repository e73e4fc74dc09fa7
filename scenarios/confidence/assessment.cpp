#include "scenarios/confidence/assessment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/numbers.hpp"

namespace confidence {
namespace {

// A closed formula, fitted to the same rows: iteration time = model FLOPs / (GPUs x peak x u). Its one constant u, the share of peak that
// is reached, is fitted to the rows that remain when a group is left out whole: the median over their groups of each group's median, of
// rows of the same GPU generation and precision; where none remains, or this median is less than 2 % of the peak (small runs, which wait
// for their hosts), of the same precision; else of all. A simulator that such a formula beats has something to learn. Shares of peak of
// rows, by their group.
using SharesOfGroups = std::map<std::string, std::vector<double>>;

// A group counts once, whatever its rows; a median is not led away by groups of small models, which reach a hundredth of the peak.
double middle(const SharesOfGroups& shares) {
  std::vector<double> of_groups;
  for (const auto& [group, of_rows] : shares) of_groups.push_back(median(of_rows));
  return median(std::move(of_groups));
}

// The shares of the rows that remain, under each name that a row is looked up by: generation and precision, precision, all.
using Remaining = std::map<std::pair<std::string, std::string>, SharesOfGroups>;

std::array<std::pair<std::string, std::string>, 3> names_of(const IterationFacts& f) {
  return {std::pair{f.machine, f.precision}, std::pair{std::string(), f.precision}, std::pair{std::string(), std::string()}};
}

// Runs that reach less of the peak wait for their hosts, and show nothing of it.
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

Remaining without(const std::vector<Item>& items, const std::string& group) {
  Remaining remaining;
  for (const Item& i : items) {
    if (!i.facts || i.group == group) continue;
    for (const auto& name : names_of(*i.facts)) remaining[name][i.group].push_back(i.facts->at_peak / i.measured);
  }
  return remaining;
}

// Returns |T / measured - 1| of the formula's time T per item, fitted without the item's group; nullopt for items without facts and where
// no row remains. Cost: O(items x groups).
std::vector<std::optional<double>> formula_errors(const std::vector<Item>& items) {
  std::vector<std::optional<double>> errors(items.size());
  std::map<std::string, Remaining> fits;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].facts) continue;
    const std::string& group = items[i].group;
    if (!fits.contains(group)) fits[group] = without(items, group);
    if (const auto share = share_for(*items[i].facts, fits.at(group)))
      errors[i] = std::abs(items[i].facts->at_peak / items[i].measured / *share - 1);
  }
  return errors;
}

// By question, then by plan: the runs of each.
using Runs = std::map<std::string, std::map<std::string, std::vector<Pair>>>;

Runs runs_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  Runs runs;
  for (const std::size_t m : members) {
    const Item& i = items[m];
    if (i.failure.empty() && i.facts) runs[i.facts->question][i.facts->plan].push_back({i.measured.value(), i.predicted.value()});
  }
  return runs;
}

// Mean measured time of the plans with the least forecast over the least measured time, less 1. Several have the least where what tells
// them apart is nothing to the forecast.
double regret_of(const std::vector<Pair>& plans) {
  const double least = std::ranges::min_element(plans, {}, &Pair::predicted)->predicted;
  double sum = 0, favourites = 0;
  for (const Pair& p : plans) {
    if (p.predicted > least) continue;
    sum += p.measured;
    favourites += 1;
  }
  return sum / favourites / std::ranges::min_element(plans, {}, &Pair::measured)->measured - 1;
}

// A plan that was measured again, by another release or on another day, is no second plan.
std::vector<Pair> plans_of(const std::map<std::string, std::vector<Pair>>& runs) {
  std::vector<Pair> plans;
  for (const auto& [plan, pairs] : runs) {
    std::vector<double> measured;
    for (const Pair& p : pairs) measured.push_back(p.measured);
    plans.push_back({median(std::move(measured)), pairs.front().predicted});
  }
  return plans;
}

// Returns how much runs of one plan scatter; nullopt where fewer than kLeastRepeats were measured again. Cost: O(n log n).
std::optional<Repeats> repeats_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  Repeats r;
  double squares = 0;
  for (const auto& [question, plans] : runs_of(items, members))
    for (const auto& [plan, runs] : plans) {
      double mean = 0;
      for (const Pair& p : runs) mean += std::log(p.measured) / static_cast<double>(runs.size());
      for (const Pair& p : runs) squares += (std::log(p.measured) - mean) * (std::log(p.measured) - mean);
      r.runs += runs.size() - 1;
    }
  if (r.runs < kLeastRepeats) return std::nullopt;
  r.scatter = std::sqrt(squares / static_cast<double>(r.runs));
  return r;
}

// Returns the figures over the questions for which `members` have two plans or more; nullopt if there is none. Items without a forecast
// or without facts take no part. Cost: O(n log n + pairs of plans of one question).
std::optional<Choices> choices_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  Choices c;
  Order order, apart;
  double regret = 0;
  for (const auto& [question, runs] : runs_of(items, members)) {
    const std::vector<Pair> plans = plans_of(runs);
    if (plans.size() < 2) continue;
    c.questions += 1;
    order += order_of(plans);
    apart += order_of(plans, kRepeats);
    regret += regret_of(plans);
  }
  if (c.questions == 0) return std::nullopt;
  c.tau = order.tau();
  if (apart.same + apart.opposite > 0) c.tau_apart = apart.tau();
  c.regret = regret / static_cast<double>(c.questions);
  return c;
}

double error_of(const Pair& p) { return std::abs(p.predicted / p.measured - 1); }

// A failed point is off by more than any other.
double error_of(const Item& i) {
  if (!i.failure.empty()) return std::numeric_limits<double>::infinity();
  if (i.subject == Subject::memory) return error_of(i.peak_bytes ? *i.peak_bytes : i.reserved_bytes.value_or(Pair{1, 1}));
  return std::abs(i.predicted / i.measured - 1);
}

// A failed point lies in no interval: the share is over all members, so that refusing hard questions does not raise it.
void add_coverage(GroupAssessment& g, const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  double inside = 0, width = 0, forecasts = 0;
  for (const std::size_t i : members) {
    const Item& item = items[i];
    if (!item.failure.empty() || !item.interval) continue;
    inside += item.interval->first <= item.measured && item.measured <= item.interval->second;
    width += (item.interval->second - item.interval->first) / item.predicted;
    forecasts += 1;
  }
  if (forecasts == 0) return;
  g.coverage = inside / static_cast<double>(members.size());
  g.interval_width = width / forecasts;
}

GroupAssessment assess_group(const std::vector<Item>& items, std::vector<std::size_t> members) {
  GroupAssessment g;
  g.subject = items[members[0]].subject;
  g.name = items[members[0]].group;
  g.points = members.size();
  std::vector<Pair> times, peaks, reserved;
  for (const std::size_t i : members) {
    g.failed += !items[i].failure.empty();
    g.out_of_memory += items[i].out_of_memory;
    if (!items[i].failure.empty()) continue;
    if (g.subject != Subject::memory) times.push_back({items[i].measured.value(), items[i].predicted.value()});
    if (items[i].peak_bytes) peaks.push_back(*items[i].peak_bytes);
    if (items[i].reserved_bytes) reserved.push_back(*items[i].reserved_bytes);
  }
  g.time = error_statistics(times);
  if (!peaks.empty()) g.peak = error_statistics(peaks);
  if (!reserved.empty()) g.reserved = error_statistics(reserved);
  add_coverage(g, items, members);
  std::ranges::stable_sort(members, std::ranges::greater{}, [&](std::size_t i) { return error_of(items[i]); });
  members.resize(std::min(members.size(), kWorst));
  g.worst = std::move(members);
  return g;
}

std::optional<double> mean_of(const std::vector<std::optional<double>>& values, const std::vector<std::size_t>& members) {
  double sum = 0, n = 0;
  for (const std::size_t m : members) {
    if (!values[m]) continue;
    sum += *values[m];
    n += 1;
  }
  return n == 0 ? std::nullopt : std::optional(sum / n);
}

bool applies(const Limit& limit, const GroupAssessment& g) {
  return limit.group.ends_with('*') ? g.name.starts_with(limit.group.substr(0, limit.group.size() - 1)) : g.name == limit.group;
}

std::optional<double> mean_of(const std::optional<ErrorStatistics>& e) { return e && e->n > 0 ? std::optional(e->mean) : std::nullopt; }

struct LimitedFigure {
  std::string_view word;
  bool at_most;  // errors are to stay below a limit, correlation and coverage above
  std::optional<double> (*of)(const GroupAssessment& g);
};
constexpr LimitedFigure kFigures[] = {  // as Limit::Figure has them
    {"error", true, [](const GroupAssessment& g) { return mean_of(g.time); }},
    {"peak", true, [](const GroupAssessment& g) { return mean_of(g.peak); }},
    {"reserved", true, [](const GroupAssessment& g) { return mean_of(g.reserved); }},
    {"tau", false, [](const GroupAssessment& g) { return g.time.n > 0 ? std::optional(g.time.tau) : std::nullopt; }},
    {"coverage", false, [](const GroupAssessment& g) { return g.coverage; }}};

// A group in which a point failed misses every limit: its figures are those of the points that were easy enough.
std::string miss(const GroupAssessment& g, const Limit& limit) {
  const auto& [name, at_most, of] = kFigures[static_cast<std::size_t>(limit.figure)];
  if (g.failed > 0) return fmt::format("{}: {} of {} points have no forecast", g.name, g.failed, g.points);
  const auto found = of(g);
  if (!found) return fmt::format("{}: has no {}", g.name, name);
  if (at_most ? *found <= limit.value : *found >= limit.value) return {};
  return fmt::format("{}: {} is {:.4g}, {} {:.4g} was asked for", g.name, name, *found, at_most ? "at most" : "at least", limit.value);
}

}  // namespace

std::string_view to_text(Subject s) {
  constexpr std::array kWords = {"iteration", "memory", "kernel", "collective", "step kernel", "step"};  // as Subject has them
  return kWords[static_cast<std::size_t>(s)];
}

Assessment assess(std::vector<Item> items, std::optional<confidence::UnseenCoverage> unseen, std::vector<std::string> notes) {
  Assessment a{.items = std::move(items), .unseen = std::move(unseen), .notes = std::move(notes)};
  std::vector<std::pair<Subject, std::string>> order;
  std::map<std::pair<Subject, std::string>, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    const std::pair key(a.items[i].subject, a.items[i].group);
    auto& group = members[key];
    if (group.empty()) order.push_back(key);
    group.push_back(i);
  }
  std::ranges::stable_sort(order, {}, &std::pair<Subject, std::string>::first);
  const auto formula = formula_errors(a.items);
  for (const auto& key : order) {
    const auto& of_group = members[key];
    a.groups.push_back(assess_group(a.items, of_group));
    a.groups.back().formula_error = mean_of(formula, of_group);
    a.groups.back().repeats = repeats_of(a.items, of_group);
    a.groups.back().choices = choices_of(a.items, of_group);
    if (!a.unseen || key.first != Subject::iteration) continue;
    if (const auto at = a.unseen->by_group.find(key.second); at != a.unseen->by_group.end())
      a.groups.back().leave_one_group_out = at->second;
  }
  return a;
}

Limit read_limit(const std::string& text) {
  constexpr const char* kExample = "write e.g. --limit mpt-fsdp=8%, or --limit mpt-fsdp:tau=0.85 (also peak, reserved, coverage)";
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) base::refuse("--limit", fmt::format("\"{}\" names no group and value", text), kExample);
  Limit limit;
  limit.group = text.substr(0, equals);
  if (const std::size_t colon = limit.group.rfind(':'); colon != std::string::npos) {
    const std::string word = limit.group.substr(colon + 1);
    const auto at = std::ranges::find(kFigures, word, &LimitedFigure::word);
    if (at == std::end(kFigures)) base::refuse("--limit", fmt::format("unknown figure \"{}\"", word), kExample);
    limit.figure = static_cast<Limit::Figure>(at - std::begin(kFigures));
    limit.group.resize(colon);
  }
  std::string_view number = std::string_view(text).substr(equals + 1);
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  const auto value = base::parse_number(number);
  if (!value || *value < 0) base::refuse("--limit", fmt::format("\"{}\" is no number", text.substr(equals + 1)), kExample);
  limit.value = *value;
  if (percent) limit.value /= 100;
  else if (limit.figure != Limit::Figure::tau)  // a bare 7 could be 7 % or a factor of 7; a correlation has no unit
    base::refuse("--limit", fmt::format("\"{}\" has no unit", text.substr(equals + 1)), kExample);
  return limit;
}

std::vector<std::string> missed(const Assessment& a, const std::vector<Limit>& limits) {
  std::vector<std::string> sentences;
  for (const Limit& limit : limits) {
    bool known = false;
    for (const GroupAssessment& g : a.groups) {
      if (!applies(limit, g)) continue;
      known = true;
      if (std::string sentence = miss(g, limit); !sentence.empty()) sentences.push_back(std::move(sentence));
    }
    std::vector<std::string> names;
    for (const GroupAssessment& g : a.groups) names.push_back(g.name);
    if (!known) base::refuse("--limit", fmt::format("no group is called \"{}\"", limit.group), base::suggest(limit.group, names));
  }
  return sentences;
}

}  // namespace confidence
