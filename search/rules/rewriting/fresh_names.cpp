#include "search/rules/rewriting/fresh_names.hpp"

#include <fmt/core.h>

#include <set>
#include <string_view>

namespace rules {
namespace {

bool is_operator(const FreshNode& n) { return n.op.index() == 0; }
std::string_view kind_name(const FreshNode& n) {
  return std::visit([](const auto& op) { return pcg::kind_name(op); }, n.op);
}

std::string free_name(const std::string& wish, std::set<std::string>& taken) {
  std::string name = wish;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}{}", wish, n);
  return name;
}

}  // namespace

std::vector<std::string> fresh_names(const Target& target, const Match& match, const pcg::Pcg& graph, const Redirections& redirections,
                                     const std::vector<bool>& gone) {
  std::set<std::string> taken;
  for (std::size_t n = 0; n < gone.size(); ++n)
    if (!gone[n]) taken.insert(graph.nodes()[n].name);
  std::vector<std::string> result(target.nodes.size());
  const auto take = [&](std::size_t n, pcg::NodeId old) {
    const std::string& name = graph.node(old).name;
    if (result[n].empty() && gone[old.value] && taken.insert(name).second) result[n] = name;
  };
  for (std::size_t n = 0; n < result.size(); ++n)
    for (pcg::NodeId m : match.nodes)
      if (const pcg::Operator* was = graph.node(m).operation();
          was && is_operator(target.nodes[n]) && pcg::kind_name(*was) == kind_name(target.nodes[n]))
        take(n, m);
  for (const auto& [old, now] : redirections.now) {
    Wire w = now;
    while (w.fresh && !is_operator(target.nodes[w.node])) w = target.nodes[w.node].inputs[0];
    if (w.fresh) take(w.node, old.node);
  }
  for (std::size_t n = 0; n < result.size(); ++n) {
    if (!result[n].empty()) continue;
    const Wire& w = target.nodes[n].inputs[0];
    const std::string& read = w.fresh ? result[w.node] : graph.nodes()[w.node].name;
    const std::string wish = fmt::format("{}.{}", w.output == 0 ? read : fmt::format("{}:{}", read, w.output), kind_name(target.nodes[n]));
    result[n] = free_name(wish, taken);
  }
  return result;
}

}  // namespace rules
