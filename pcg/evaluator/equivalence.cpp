#include "pcg/evaluator/equivalence.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "pcg/evaluator/evaluator.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/graph/serial.hpp"
#include "pcg/resizing/draw_sizes.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {
namespace {

// A plan runs every micro-batch alike: two of them show that it does.
constexpr int kMicroBatches = 2;

// Inputs and weights by name, with what is fed.
std::map<std::string, TensorShape> sources(const Graph& g) {
  std::map<std::string, TensorShape> result;
  for (const GraphNode& n : g.nodes())
    if (std::holds_alternative<Input>(n.op) || std::holds_alternative<Weight>(n.op)) result.emplace(n.name, n.outputs[0]);
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
    if (auto d = source_difference(wanted, serial(plan.pcg))) return {false, *d};
    const int micro_batches = std::min(plan.micro_batches, kMicroBatches);
    std::string used;
    for (int s = 0; s < sizes; ++s) {
      const std::uint64_t draw = field::Hash(seed)(static_cast<std::uint64_t>(s)).value();
      const base::Attempt<SmallForms> small = draw_sizes(wanted, &plan.pcg, draw);
      if (!small) return {false, fmt::format("no small sizes were found at which the plan can be evaluated: {}", small.refusal().why)};
      for (int m = 0; m < micro_batches; ++m)
        if (auto d = difference(small->graph, evaluate_micro_batch(small->graph, m, draw), evaluate_micro_batch(*small->pcg, m, draw)))
          return {false, fmt::format("{} (micro-batch {}, sizes {})", *d, m, sizes_text(small->sizes))};
      used += fmt::format("{}{}", used.empty() ? "" : "; ", sizes_text(small->sizes));
    }
    return {true, fmt::format("equivalent at {} sizes: {}", sizes, used)};
  } catch (const ShapeError& e) { return {false, e.what()}; }
}

}  // namespace pcg
