#include "scenarios/confidence/assessment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.hpp"
#include "scenarios/confidence/choices.hpp"
#include "scenarios/confidence/closed_formula.hpp"

namespace confidence {
namespace {

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

std::optional<double> of_source(const std::optional<confidence::UnseenFigures>& unseen, const std::string& source) {
  if (!unseen) return std::nullopt;
  const auto at = unseen->coverage_by_source.find(source);
  return at == unseen->coverage_by_source.end() ? std::nullopt : std::optional(at->second);
}

[[noreturn]] void refuse(std::string path, std::string message, std::string hint) {
  throw base::InputError(std::vector<base::Diagnostic>{{{}, std::move(path), std::move(message), std::move(hint)}});
}

bool applies(const Limit& limit, const GroupAssessment& g) {
  if (limit.group.ends_with('*')) return g.name.starts_with(limit.group.substr(0, limit.group.size() - 1));
  return g.name == limit.group;
}

constexpr std::pair<std::string_view, Limit::Figure> kFigures[] = {{"error", Limit::Figure::error},
                                                                   {"peak", Limit::Figure::peak},
                                                                   {"reserved", Limit::Figure::reserved},
                                                                   {"tau", Limit::Figure::tau},
                                                                   {"coverage", Limit::Figure::coverage}};

std::optional<double> figure_of(const GroupAssessment& g, Limit::Figure f) {
  switch (f) {
    case Limit::Figure::error: return g.time.n > 0 ? std::optional(g.time.mean) : std::nullopt;
    case Limit::Figure::peak: return g.peak ? std::optional(g.peak->mean) : std::nullopt;
    case Limit::Figure::reserved: return g.reserved ? std::optional(g.reserved->mean) : std::nullopt;
    case Limit::Figure::tau: return g.time.n > 0 ? std::optional(g.time.tau) : std::nullopt;
    case Limit::Figure::coverage: return g.coverage;
  }
  return std::nullopt;
}

// A group in which a point failed misses every limit: its figures are those of the points that were easy enough.
std::string miss(const GroupAssessment& g, const Limit& limit) {
  const auto& [name, figure] = *std::ranges::find(kFigures, limit.figure, &std::pair<std::string_view, Limit::Figure>::second);
  if (g.failed > 0) return fmt::format("{}: {} of {} points have no forecast", g.name, g.failed, g.points);
  const auto found = figure_of(g, figure);
  if (!found) return fmt::format("{}: has no {}", g.name, name);
  // Errors are to stay below a limit, correlation and coverage above.
  const bool at_most = figure == Limit::Figure::error || figure == Limit::Figure::peak || figure == Limit::Figure::reserved;
  if (at_most ? *found <= limit.value : *found >= limit.value) return {};
  return fmt::format("{}: {} is {:.4g}, {} {:.4g} was asked for", g.name, name, *found, at_most ? "at most" : "at least", limit.value);
}

}  // namespace

std::string_view to_text(Subject s) {
  switch (s) {
    case Subject::iteration: return "iteration";
    case Subject::memory: return "memory";
    case Subject::kernel: return "kernel";
    case Subject::collective: return "collective";
  }
  return "";
}

Assessment assess(std::vector<Item> items, std::optional<confidence::UnseenCoverage> unseen, std::vector<std::string> notes) {
  Assessment a{std::move(items), {}, std::move(unseen), std::move(notes)};
  std::vector<std::pair<Subject, std::string>> order;
  std::map<std::pair<Subject, std::string>, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    const std::pair key(a.items[i].subject, a.items[i].group);
    auto& group = members[key];
    if (group.empty()) order.push_back(key);
    group.push_back(i);
  }
  std::ranges::stable_sort(order, {}, &std::pair<Subject, std::string>::first);
  const auto without_group = formula_errors(a.items, LeftOut::group), without_machine = formula_errors(a.items, LeftOut::machine),
             without_family = formula_errors(a.items, LeftOut::family);
  for (const auto& key : order) {
    const auto& of_group = members[key];
    a.groups.push_back(assess_group(a.items, of_group));
    a.groups.back().formula = {mean_of(without_group, of_group), mean_of(without_machine, of_group), mean_of(without_family, of_group)};
    a.groups.back().repeats = repeats_of(a.items, of_group);
    a.groups.back().choices = choices_of(a.items, of_group, a.groups.back().repeats);
    if (!a.unseen || key.first != Subject::iteration) continue;
    a.groups.back().split_half = of_source(a.unseen->half, key.second);
    a.groups.back().leave_one_group_out = of_source(a.unseen->source, key.second);
  }
  return a;
}

Limit read_limit(const std::string& text) {
  constexpr const char* kExample = "write e.g. --limit mpt-fsdp=8%, or --limit mpt-fsdp:tau=0.85 (also peak, reserved, coverage)";
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) refuse("--limit", fmt::format("\"{}\" names no group and value", text), kExample);
  Limit limit;
  limit.group = text.substr(0, equals);
  if (const std::size_t colon = limit.group.rfind(':'); colon != std::string::npos) {
    const std::string word = limit.group.substr(colon + 1);
    const auto at = std::ranges::find(kFigures, word, &std::pair<std::string_view, Limit::Figure>::first);
    if (at == std::end(kFigures)) refuse("--limit", fmt::format("unknown figure \"{}\"", word), kExample);
    limit.figure = at->second;
    limit.group.resize(colon);
  }
  std::string_view number = std::string_view(text).substr(equals + 1);
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  const auto value = base::parse_number(number);
  if (!value || *value < 0) refuse("--limit", fmt::format("\"{}\" is no number", text.substr(equals + 1)), kExample);
  limit.value = *value;
  if (percent) limit.value /= 100;
  else if (limit.figure != Limit::Figure::tau)  // a bare 7 could be 7 % or a factor of 7; a correlation has no unit
    refuse("--limit", fmt::format("\"{}\" has no unit", text.substr(equals + 1)), kExample);
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
    if (!known) refuse("--limit", fmt::format("no group is called \"{}\"", limit.group), base::suggest(limit.group, names));
  }
  return sentences;
}

}  // namespace confidence
