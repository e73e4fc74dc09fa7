#include "pcg/evaluator/equivalence.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "pcg/evaluator/evaluator.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/graph/stored_weights.hpp"
#include "pcg/resizing/draw_sizes.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {
namespace {

// A plan runs every micro-batch alike: two of them show that it does.
constexpr int kMicroBatches = 2;

// A draw may give sizes that were there already: several are tried for each that is wanted. Some plans have fewer.
constexpr int kDrawsPerSize = 8;

// Inputs and weights by name, with what is fed.
std::map<std::string, TensorShape> sources(const Graph& g) {
  std::map<std::string, TensorShape> result;
  for (const GraphNode& n : g.nodes())
    if (is_source(n.op)) result.emplace(n.name, n.outputs[0]);
  return result;
}

std::optional<std::string> source_difference(const Graph& model, const Graph& plan) {
  const auto wanted = sources(model), found = sources(plan);
  for (const auto& [name, shape] : wanted) {
    const auto it = found.find(name);
    if (it == found.end()) return fmt::format("the plan has no \"{}\", which the model reads", name);
    if (it->second != shape) return fmt::format("\"{}\" is {} in the plan and {} in the model", name, to_text(it->second), to_text(shape));
  }
  for (const auto& [name, shape] : found)
    if (!wanted.contains(name)) return fmt::format("the plan reads \"{}\", which the model does not have", name);
  return std::nullopt;
}

std::string coordinates(const TensorShape& shape, std::size_t index) {
  std::string text;
  for (std::size_t d = shape.sizes.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape.sizes[d]);
    text = fmt::format("{}{}{}", index % size, text.empty() ? "" : ", ", text);
    index /= size;
  }
  return "[" + text + "]";
}

std::string sizes_text(const SizeMap& map) {
  std::string text;
  for (const auto& [from, to] : map)
    if (from != to) text += fmt::format("{}{} -> {}", text.empty() ? "" : ", ", from, to);
  return text.empty() ? "as they are" : text;
}

std::optional<std::string> difference(const Graph& model, const std::vector<FieldTensor>& wanted, const std::vector<FieldTensor>& found) {
  if (wanted.size() != found.size()) return fmt::format("the plan has {} results, the model {}", found.size(), wanted.size());
  const std::vector<GraphTensorRef> results = model.results();
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    const std::string& name = model.node(results[r].node).name;
    if (wanted[r].shape != found[r].shape)
      return fmt::format("\"{}\" is {} in the plan and {} in the model", name, to_text(found[r].shape), to_text(wanted[r].shape));
    const auto [a, b] = std::mismatch(wanted[r].values.begin(), wanted[r].values.end(), found[r].values.begin());
    if (a != wanted[r].values.end())
      return fmt::format("\"{}\"{} is {} in the plan and {} in the model", name,
                         coordinates(wanted[r].shape, static_cast<std::size_t>(a - wanted[r].values.begin())), *b, *a);
  }
  return std::nullopt;
}

// Which operators of a plan make what the operators of their names make in the model.
class Comparison {
 public:
  Comparison(const Graph& model, const Pcg& plan, int micro_batch, std::uint64_t seed) : plan_(plan), states_(plan.nodes().size()) {
    const Pcg whole = parallelize(model, unsharded(model));
    const auto wanted = evaluate_all(whole, micro_batch, seed), found = evaluate_all(plan, micro_batch, seed);
    std::map<std::string_view, std::size_t> by_name;
    for (std::size_t n = 0; n < whole.nodes().size(); ++n) by_name.emplace(whole.nodes()[n].name, n);
    for (std::size_t n = 0; n < states_.size(); ++n) {
      const PcgNode& node = plan.nodes()[n];
      const auto it = by_name.find(node.name);
      if (node.parallel_operator()) states_[n] = states_[node.inputs[0].node.value];  // moves values, makes none
      else if (it != by_name.end() && std::ranges::equal(wanted[it->second], found[n], {}, &FieldTensor::shape, &FieldTensor::shape))
        states_[n] = wanted[it->second] == found[n] ? State::same : State::differs;
    }
  }

  // Returns the first operator that differs, and does so on a way to a result on which nothing agrees again: an operator that a rewrite has
  // named after another one need not make the same. What the model has no operator for is named where that reads it. "": none differs.
  [[nodiscard]] std::string first() const {
    const auto readers = plan_.consumers();
    std::vector<bool> open(states_.size(), false);
    for (std::size_t n = states_.size(); n-- > 0;) {
      const bool leads = readers[n].empty() || std::ranges::any_of(readers[n], [&](NodeId r) { return open[r.value]; });
      open[n] = states_[n] != State::same && leads;
    }
    for (std::size_t n = 0; n < states_.size(); ++n)
      if (states_[n] == State::differs && open[n] && plan_.nodes()[n].computes())
        return fmt::format("; \"{}\" is the first to differ on the way{}", plan_.nodes()[n].name, after(plan_.nodes()[n]));
    return "";
  }

 private:
  enum class State { unknown, same, differs };
  // Operators that the model does not have.
  [[nodiscard]] std::string after(const PcgNode& node) const {
    for (TensorRef t : node.inputs) {
      while (plan_.node(t.node).parallel_operator()) t = plan_.node(t.node).inputs[0];
      if (states_[t.node.value] == State::unknown) return fmt::format(", after \"{}\"", plan_.node(t.node).name);
    }
    return "";
  }

  const Pcg& plan_;
  std::vector<State> states_;
};

// Samples in one micro-batch of the plan; nullopt where it has no input.
std::optional<std::int64_t> batch_of(const Pcg& pcg) {
  for (const PcgNode& n : pcg.nodes())
    if (n.is_input() && !n.outputs[0].dims.empty()) return n.outputs[0].dims[0].size;
  return std::nullopt;
}

}  // namespace

EquivalenceResult check_equivalence(const Plan& plan, const Graph& model, int sizes, std::uint64_t seed) {
  BASE_CHECK(sizes >= 1, "{} sizes to check at", sizes);
  try {
    const auto batch = batch_of(plan.pcg);
    const Graph wanted = padded(batch ? with_batch(model, *batch) : model, plan.padding);
    if (auto fault = storage_fault(plan.pcg)) return {false, *fault};
    const Pcg pcg = with_model_weights(plan.pcg);
    if (auto d = source_difference(wanted, serial(pcg))) return {false, *d};
    const int micro_batches = std::min(plan.micro_batches, kMicroBatches);
    std::vector<std::uint64_t> seeds;
    for (int s = 0; s < sizes * kDrawsPerSize; ++s) seeds.push_back(field::Hash(seed)(static_cast<std::uint64_t>(s)).value());
    const DrawnSizes different = draw_sizes(wanted, &pcg, seeds, static_cast<std::size_t>(sizes));
    std::vector<std::string> used;
    for (const auto& [draw, small] : different.draws) {
      used.push_back(sizes_text(small.sizes));
      for (int m = 0; m < micro_batches; ++m)
        if (auto d = difference(small.graph, evaluate_micro_batch(small.graph, m, draw), evaluate_micro_batch(*small.pcg, m, draw)))
          return {false,
                  fmt::format("{} (micro-batch {}, sizes {}){}", *d, m, used.back(), Comparison(small.graph, *small.pcg, m, draw).first())};
    }
    if (different.refusal)
      return {false, fmt::format("no small sizes were found at which the plan can be evaluated: {}", different.refusal->why)};
    return {true, fmt::format("equivalent at {} size{}: {}", used.size(), used.size() == 1 ? "" : "s", fmt::join(used, "; "))};
  } catch (const ShapeError& e) { return {false, e.what()}; }
}

}  // namespace pcg
