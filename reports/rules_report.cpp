#include "reports/rules_report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/numbers.hpp"
#include "search/rules/language/text.hpp"

namespace reports {

using nlohmann::ordered_json;
using rules::Census;
using rules::Match;
using rules::Rule;
using rules::Verdict;

namespace {

std::int64_t count(const std::vector<rules::Proof>& proofs, Verdict v) { return std::ranges::count(proofs, v, &rules::Proof::verdict); }

std::vector<std::string> variables_of(const rules::Equation& e) {
  std::vector<std::string> texts;
  for (const rules::Variable& v : e.variables) texts.push_back(rules::to_text(v));
  return texts;
}

// The two sides and their variables, a line each.
std::string sides_text(const Rule& r) {
  return fmt::format("  {}\n  = {}\n  of {}\n", to_text(r.source(), r.equation.variables()), to_text(r.target(), r.equation.variables()),
                     fmt::join(variables_of(r.equation), ", "));
}

ordered_json to_json(const rules::Rule& r) {
  return {{"name", r.name},
          {"kind", name_of(kind_of(r.equation))},
          {"proved", true},
          {"variables", variables_of(r.equation)},
          {"source", to_text(r.source(), r.equation.variables())},
          {"target", to_text(r.target(), r.equation.variables())},
          {"conditions", rules::side_conditions(r)},
          {"axioms", r.axioms},
          {"proof_s", r.proof_s}};
}
std::string to_text(const rules::Rule& r) {
  std::string text = fmt::format("{} ({})\n{}", r.name, name_of(kind_of(r.equation)), sides_text(r));
  for (bool first = true; const std::string& c : rules::side_conditions(r)) {
    text += fmt::format("  {} {}\n", first ? "where" : "     ", c);
    first = false;
  }
  return text;
}
// Requires: it is one of these axioms.
std::string statement(const rules::Axioms& axioms, const std::string& name) {
  const auto entry = std::ranges::find(axioms.entries, name, &rules::AxiomEntry::name);
  return fmt::format("    {:<30} {}  ({})\n", name, entry->statement, entry->source);
}

constexpr std::size_t kShownPlaces = 3;  // of a rule: enough to see where it occurs, the JSON has them all

std::vector<std::string> operators_of(const Match& m, const pcg::Pcg& graph) {
  std::vector<std::string> names;
  for (const pcg::NodeId n : rules::place_of(m)) names.push_back(graph.node(n).name);
  return names;
}

// "at a, b", a line for each of the first places.
std::string places_text(const Census& c, const rules::RuleOccurrences& o, const pcg::Pcg& graph) {
  std::string text;
  std::set<std::vector<pcg::NodeId>> shown;
  for (std::size_t i = o.first; i < o.first + o.count && shown.size() < kShownPlaces; ++i)
    if (shown.insert(rules::place_of(c.matches[i])).second)
      text += fmt::format("  {} {}\n", shown.size() == 1 ? "at" : "  ", fmt::join(operators_of(c.matches[i], graph), ", "));
  return text + (o.places > kShownPlaces ? fmt::format("     and {} more\n", o.places - kShownPlaces) : "");
}

ordered_json to_json(const Match& m, const Rule& r, const pcg::Pcg& graph) {
  ordered_json tensors = ordered_json::object(), degrees = ordered_json::object(), sizes = ordered_json::object();
  for (std::size_t v = 0; v < m.variables.size(); ++v)
    if (uses(r.source(), v)) {
      const pcg::TensorRef t = m.variables[v];
      tensors[r.equation.variables()[v].name] = {{"operator", graph.node(t.node).name}, {"output", t.output}};
    }
  for (std::size_t d = 0; d < m.degrees.size(); ++d)
    if (m.degrees[d] != 0) degrees[std::string(1, static_cast<char>('d' + d))] = m.degrees[d];
  for (std::size_t i = 0; i < m.sizes.size(); ++i)
    if (m.sizes[i] != 0) sizes[std::string(1, static_cast<char>('a' + i))] = m.sizes[i];
  ordered_json j{{"operators", operators_of(m, graph)},
                 {"variables", std::move(tensors)},
                 {"row", m.row},
                 {"degrees", std::move(degrees)},
                 {"sizes", std::move(sizes)}};
  for (const rules::ConcatAsTwo& view : m.views)
    j["concats"].push_back({{"operator", graph.node(m.nodes[view.at]).name}, {"begin", view.begin}, {"cut", view.cut}, {"end", view.end}});
  return j;
}

}  // namespace

ordered_json to_json(const std::vector<rules::Rule>& rules) {
  ordered_json list = ordered_json::array();
  for (const rules::Rule& r : rules) list.push_back(to_json(r));
  return {{"rules", std::move(list)}};
}
std::string to_text(const std::vector<rules::Rule>& rules, const rules::Axioms& axioms, AxiomDetail detail) {
  std::string text;
  for (const rules::Rule& r : rules) {
    text += to_text(r);
    if (detail == AxiomDetail::names) {
      text += fmt::format("  from {}; proved in {:.1f} ms\n", fmt::join(r.axioms, ", "), 1e3 * r.proof_s);
      continue;
    }
    text += fmt::format("  proved in {:.1f} ms from\n", 1e3 * r.proof_s);
    for (const std::string& a : r.axioms) text += statement(axioms, a);
  }
  return text;
}

ordered_json to_json(const rules::Generated& g) {
  ordered_json rules = ordered_json::array();
  for (const rules::Rule& r : g.rules) rules.push_back(to_json(r));
  ordered_json open = ordered_json::array();
  for (const rules::Equation& e : g.unproved)
    open.push_back({{"variables", variables_of(e)}, {"left", to_text(e.left, e.variables)}, {"right", to_text(e.right, e.variables)}});
  const rules::GenerateStatistics& s = g.statistics;
  return {{"rules", std::move(rules)},
          {"unproved", s.unproved},
          {"open", std::move(open)},
          {"refuted", s.refuted},
          {"statistics",
           {{"graphs", s.graphs},
            {"classes", s.classes},
            {"pairs", s.pairs},
            {"renamed", s.renamed},
            {"common", s.common},
            {"implied", s.implied},
            {"enumerate_s", s.enumerate_s},
            {"prove_s", s.prove_s}}}};
}
std::string to_text(const rules::Generated& g) {
  const rules::GenerateStatistics& s = g.statistics;
  std::array<std::int64_t, 3> kinds{};
  for (const rules::Rule& r : g.rules) ++kinds[static_cast<std::size_t>(kind_of(r.equation))];
  // Equations that were neither proved nor refuted come first: they are what a reader must look at.
  std::string open;
  for (const rules::Equation& e : g.unproved)
    open += fmt::format("not proved, not kept: {} = {} of {}\n", to_text(e.left, e.variables), to_text(e.right, e.variables),
                        fmt::join(variables_of(e), ", "));
  return open + fmt::format(
                    "{} graphs, {} classes of equal ones, {} pairs; dropped: {} renamed, {} on common parts, {} implied ({:.1f} s)\n"
                    "{} rules kept, all proved ({:.1f} s): {} algebraic, {} parallel, {} hybrid; {} candidates refuted, {} not proved\n",
                    s.graphs, s.classes, s.pairs, s.renamed, s.common, s.implied, s.enumerate_s, g.rules.size(), s.prove_s, kinds[0],
                    kinds[1], kinds[2], s.refuted, s.unproved);
}

ordered_json to_json(const rules::RuleFile& file, const std::vector<rules::Proof>& proofs, const std::string& reason) {
  ordered_json failures = ordered_json::object();
  double seconds = 0;
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    seconds += proofs[i].seconds;
    if (proofs[i].verdict != Verdict::proved) failures[file.rules[i].name] = why_not_proved(proofs[i]);
  }
  return {{"proved", count(proofs, Verdict::proved)},
          {"refuted", count(proofs, Verdict::refuted)},
          {"unproved", count(proofs, Verdict::open)},
          {"failures", std::move(failures)},
          {"generator", file.generator},
          {"axioms", file.axioms},
          {"as_written", reason.empty()},
          {"not_as_written_because", reason},
          {"proof_s", seconds}};
}
std::string to_text(const rules::RuleFile& file, const std::vector<rules::Proof>& proofs, const std::string& reason) {
  std::string text;
  double seconds = 0;
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    seconds += proofs[i].seconds;
    if (proofs[i].verdict == Verdict::proved) continue;
    const base::Mark& at = file.marks[i];  // the place of the rule, in the form that editors jump to
    text += fmt::format("{}:{}:{}: {}", at.source ? at.source->name : "", at.line, at.column, to_text(file.rules[i]));
    text += fmt::format("  {}\n", why_not_proved(proofs[i]));
  }
  if (!reason.empty()) text += fmt::format("of the file: {}\n", reason);
  return text + fmt::format("{} rules proved ({:.1f} s), {} refuted, {} not proved\n", count(proofs, Verdict::proved), seconds,
                            count(proofs, Verdict::refuted), count(proofs, Verdict::open));
}

ordered_json to_json(const rules::Axioms& axioms, const std::vector<std::string>& redundant) {
  ordered_json list = ordered_json::array();
  for (const rules::AxiomEntry& e : axioms.entries)
    list.push_back(
        {{"name", e.name}, {"statement", e.statement}, {"source", e.source}, {"conditions", e.conditions}, {"instances", e.count}});
  return {{"axioms", std::move(list)}, {"hash", axioms.hash}, {"redundant", redundant}};
}
std::string to_text(const rules::Axioms& axioms, const std::vector<std::string>& redundant) {
  std::string text;
  for (const rules::AxiomEntry& e : axioms.entries)
    text += fmt::format("{:<32} {}{}\n{:<32} {}\n", e.name, e.statement,
                        e.conditions.empty() ? "" : fmt::format(" ({})", fmt::join(e.conditions, "; ")), "", e.source);
  text += fmt::format("{} axioms ({} instances)\n", axioms.entries.size(), axioms.all.size());
  if (!redundant.empty()) text += fmt::format("each of these follows from the others: {}\n", fmt::join(redundant, ", "));
  return text;
}

std::string to_text(const Census& c, std::span<const Rule> rules, const pcg::Pcg& graph) {
  std::string text;
  for (const rules::RuleOccurrences& o : c.rules) {
    const Rule& r = rules[o.rule];
    const std::string places = o.places == o.count ? "" : " at " + base::counted(static_cast<std::int64_t>(o.places), "place");
    text += fmt::format("{} ({}): {}{}\n{}{}", r.name, name_of(kind_of(r.equation)),
                        base::counted(static_cast<std::int64_t>(o.count), "occurrence"), places, sides_text(r), places_text(c, o, graph));
  }
  std::map<std::string_view, int> kinds;
  for (const pcg::NodeId n : c.untouched) ++kinds[kind_name(graph.node(n))];
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(fmt::format("{} {}", count, kind));
  return text + fmt::format("{} of {} rules occur in {}, {} times; {} of its {} operators are in no occurrence{}{}\n", c.rules.size(),
                            rules.size(), graph.name(), c.matches.size(), c.untouched.size(), c.operators.size(),
                            counts.empty() ? "" : ": ", fmt::join(counts, ", "));
}

ordered_json to_json(const Census& c, std::span<const Rule> rules, const pcg::Pcg& graph) {
  ordered_json list = ordered_json::array(), untouched = ordered_json::array();
  for (const rules::RuleOccurrences& o : c.rules) {
    const Rule& r = rules[o.rule];
    ordered_json occurrences = ordered_json::array();
    for (std::size_t i = o.first; i < o.first + o.count; ++i) occurrences.push_back(to_json(c.matches[i], r, graph));
    list.push_back({{"name", r.name},
                    {"kind", name_of(kind_of(r.equation))},
                    {"variables", variables_of(r.equation)},
                    {"source", to_text(r.source(), r.equation.variables())},
                    {"target", to_text(r.target(), r.equation.variables())},
                    {"count", o.count},
                    {"places", o.places},
                    {"occurrences", std::move(occurrences)}});
  }
  for (const pcg::NodeId n : c.untouched) untouched.push_back({{"name", graph.node(n).name}, {"kind", kind_name(graph.node(n))}});
  return {{"graph", graph.name()},
          {"rules", std::move(list)},
          {"totals",
           {{"rules", rules.size()},
            {"occurring", c.rules.size()},
            {"occurrences", c.matches.size()},
            {"operators", c.operators.size()},
            {"untouched", c.untouched.size()}}},
          {"untouched", std::move(untouched)}};
}

ordered_json left_out_json(const rules::Selection& s) {
  ordered_json j = ordered_json::object();
  for (std::size_t i = 1; i < s.count.size(); ++i) j[std::string(name_of(static_cast<rules::LeftOut>(i)))] = s.count[i];
  return j;
}

}  // namespace reports
