#include "reports/census_report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "search/rules/language/text.hpp"

namespace reports {

using nlohmann::ordered_json;
using rules::Census;
using rules::Match;
using rules::Rule;

namespace {

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

std::string counted(std::size_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string_view kind_of_node(const pcg::PcgNode& n) {
  return n.operation() ? pcg::kind_name(*n.operation()) : pcg::kind_name(*n.parallel_operator());
}

std::vector<std::string> variable_texts(const Rule& r) {
  std::vector<std::string> texts;
  for (const rules::Variable& v : r.equation.variables()) texts.push_back(to_text(v));
  return texts;
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

std::string to_text(const Census& c, std::span<const Rule> rules, const pcg::Pcg& graph) {
  std::string text;
  for (const rules::RuleOccurrences& o : c.rules) {
    const Rule& r = rules[o.rule];
    text += fmt::format("{} ({}): {}{}\n  {}\n  = {}\n  of {}\n", r.name, name_of(kind_of(r.equation)), counted(o.count, "occurrence"),
                        o.places == o.count ? "" : " at " + counted(o.places, "place"), to_text(r.source(), r.equation.variables()),
                        to_text(r.target(), r.equation.variables()), fmt::join(variable_texts(r), ", "));
    text += places_text(c, o, graph);
  }
  std::map<std::string_view, int> kinds;
  for (const pcg::NodeId n : c.untouched) ++kinds[kind_of_node(graph.node(n))];
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
                    {"variables", variable_texts(r)},
                    {"source", to_text(r.source(), r.equation.variables())},
                    {"target", to_text(r.target(), r.equation.variables())},
                    {"count", o.count},
                    {"places", o.places},
                    {"occurrences", std::move(occurrences)}});
  }
  for (const pcg::NodeId n : c.untouched) untouched.push_back({{"name", graph.node(n).name}, {"kind", kind_of_node(graph.node(n))}});
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
