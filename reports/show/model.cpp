#include "reports/show/show.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/numbers.hpp"
#include "pcg/work/work.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// One operator's share: the elements of the weights that no operator before it read, and forward FLOPs per sample.
struct Work {
  std::int64_t parameters = 0;
  double flops = 0;
};

// A weight that several operators read (a tied embedding) counts for the first of them, so that the column adds up to the model.
std::vector<Work> work_of_nodes(const pcg::Graph& g) {
  std::vector<Work> work(g.nodes().size());
  std::vector<bool> counted(g.nodes().size(), false);
  const auto batch = static_cast<double>(g.batch());
  const std::vector<base::Flops> flops = g.flops_by_node();
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    for (pcg::GraphTensorRef t : g.nodes()[n].inputs) {
      if (!std::holds_alternative<pcg::Weight>(g.node(t.node).op) || counted[t.node.value]) continue;
      counted[t.node.value] = true;
      work[n].parameters += g.shape(t).elements();
    }
    work[n].flops = flops[n].value() / batch;
  }
  return work;
}

bool computes(const pcg::GraphNode& n) { return !pcg::is_source(n.op); }

std::int64_t operator_count(const pcg::Graph& g) { return std::ranges::count_if(g.nodes(), computes); }

// Forward and backward, which is twice the forward pass; 0 where samples are no sequences. This is how training rates in FLOP/s are
// published today (Megatron-LM's and Megatron-Bridge's formulas): 6 per weight that a token meets, and half of each causal square.
double training_flops_per_token(const pcg::Graph& g) {
  const auto tokens = static_cast<double>(g.tokens_per_sample() * g.batch());
  return tokens == 0 ? 0 : (g.iteration_flops() - 3 * g.masked_flops()).value() / tokens;
}

std::string short_number(double x) {
  constexpr std::pair<double, const char*> kPrefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [size, prefix] : kPrefixes)
    if (x >= size) return fmt::format("{:.4g} {}", x / size, prefix);
  return fmt::format("{:.4g}", x);
}

struct BlockRow {
  std::string first, last;  // names of a run of equal blocks
  int blocks = 0, operators = 0;
  Work each;
};

// Blocks in order; neighbours that do the same work are one row.
std::vector<BlockRow> block_rows(const pcg::Graph& g, const std::vector<Work>& work) {
  std::vector<BlockRow> blocks(g.blocks().size());
  for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b] = {g.blocks()[b].name, g.blocks()[b].name, 1, 0, {}};
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::GraphNode& node = g.nodes()[n];
    BlockRow& b = blocks[static_cast<std::size_t>(node.block)];
    b.each.parameters += work[n].parameters;
    b.each.flops += work[n].flops;
    if (computes(node)) ++b.operators;
  }
  std::vector<BlockRow> rows;
  for (BlockRow& b : blocks) {
    if (!rows.empty() && rows.back().operators == b.operators && rows.back().each.parameters == b.each.parameters &&
        rows.back().each.flops == b.each.flops) {
      rows.back().last = b.last;
      ++rows.back().blocks;
    } else {
      rows.push_back(std::move(b));
    }
  }
  return rows;
}

}  // namespace

std::string model_text(const pcg::Graph& g, std::span<const std::string> notes) {
  const std::vector<Work> work = work_of_nodes(g);
  const std::int64_t parameters = g.parameters() - g.auxiliary_parameters();
  std::string out = fmt::format("{}: {}, {} ({}) parameters, {}FLOP forward per sample\n", g.name(),
                                base::counted(operator_count(g), "operator"), parameters, short_number(static_cast<double>(parameters)),
                                short_number(g.forward_flops().value() / static_cast<double>(g.batch())));
  if (const double flops = training_flops_per_token(g); flops > 0)
    out += fmt::format("{}FLOP per token in training: 3 x forward, {}without the masked part of attention\n", short_number(flops),
                       g.frozen_parameters() > 0 ? "2 x that of frozen weights, " : "");
  if (const std::int64_t frozen = g.frozen_parameters(); frozen > 0)
    out += fmt::format("{} ({}) parameters are trained, the others frozen\n", g.parameters() - frozen,
                       short_number(static_cast<double>(g.parameters() - frozen)));
  if (g.auxiliary_parameters() > 0)
    out += fmt::format("{} ({}) parameters more serve training alone\n", g.auxiliary_parameters(),
                       short_number(static_cast<double>(g.auxiliary_parameters())));
  for (const std::string& note : notes) out += fmt::format("note: {}\n", note);
  out += "\n";
  Table table({left("block"), right("times"), right("operators"), right("parameters"), right("FLOP per sample")});
  for (const BlockRow& r : block_rows(g, work))
    table.row({r.first == r.last ? r.first : r.first + " .. " + r.last, fmt::format("{}", r.blocks), fmt::format("{}", r.operators),
               fmt::format("{}", r.each.parameters), short_number(r.each.flops)});
  return out + table.text();
}

std::string model_json(const pcg::Graph& g, std::span<const std::string> notes) {
  const std::vector<Work> work = work_of_nodes(g);
  Json j = {{"name", g.name()}, {"operators", operator_count(g)}, {"parameters", g.parameters() - g.auxiliary_parameters()}};
  if (g.auxiliary_parameters() > 0) j["auxiliary_parameters"] = g.auxiliary_parameters();
  if (g.frozen_parameters() > 0) j["frozen_parameters"] = g.frozen_parameters();
  j["forward_flops_per_sample"] = g.forward_flops().value() / static_cast<double>(g.batch());
  if (const double flops = training_flops_per_token(g); flops > 0) j["training_flops_per_token"] = flops;
  j["notes"] = notes;
  j["layers"] = Json::array();
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::GraphNode& node = g.nodes()[n];
    if (!computes(node)) continue;
    Json outputs = Json::array();
    for (const pcg::TensorShape& s : node.outputs) outputs.push_back(s.sizes);
    j["layers"].push_back({{"name", node.name},
                           {"operator", pcg::kind_name(node.op)},
                           {"block", g.blocks()[static_cast<std::size_t>(node.block)].name},
                           {"outputs", std::move(outputs)},
                           {"parameters", work[n].parameters},
                           {"forward_flops_per_sample", work[n].flops}});
  }
  return j.dump(1) + "\n";
}

}  // namespace reports
