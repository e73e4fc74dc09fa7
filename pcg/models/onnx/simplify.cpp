#include "pcg/models/onnx/simplify.hpp"

#include <algorithm>

#include "pcg/models/onnx/folding.hpp"

namespace pcg::models::onnx {
namespace {

// The kind of numbers of every value, as far as it matters for casts.
class Elements {
 public:
  explicit Elements(const Model& model) {
    for (const Value& v : model.inputs) of_[v.name] = v.element;
    for (const auto& [name, tensor] : model.initializers) of_[name] = tensor.element;
    for (const Node& n : model.nodes)
      for (const std::string& output : n.outputs) of_[output] = made_by(n);
  }
  [[nodiscard]] Element of(const std::string& value) const {
    const auto at = of_.find(value);
    return at == of_.end() ? Element::real : at->second;
  }

 private:
  [[nodiscard]] Element made_by(const Node& n) const {
    static const std::set<std::string> kTruths = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
                                                  "And",   "Or",   "Xor",         "Not",     "IsNaN"};
    if (n.type == "Cast") return element_of(n.integer("to", 1));
    if (n.type == "Shape" || n.type == "ArgMax" || n.type == "NonZero" || n.type == "Size") return Element::integer;
    if (kTruths.contains(n.type)) return Element::boolean;
    return n.inputs.empty() ? Element::real : of(n.inputs[n.type == "Where" && n.inputs.size() > 1 ? 1 : 0]);
  }
  std::map<std::string, Element> of_;
};

// A value is forgotten once all that read it are evaluated: masks are large.
void evaluate(Model& model) {
  std::map<std::string, std::size_t> readers;
  for (const Value& v : model.outputs) ++readers[v.name];
  for (const Node& n : model.nodes)
    for (const std::string& input : n.inputs) ++readers[input];
  std::vector<Node> left;
  for (Node& n : model.nodes) {
    std::vector<const Tensor*> inputs;
    bool known = n.outputs.size() == 1;
    for (const std::string& input : n.inputs) {
      const auto at = model.initializers.find(input);
      inputs.push_back(input.empty() || at == model.initializers.end() ? nullptr : &at->second);
      known = known && (input.empty() || (inputs.back() != nullptr && inputs.back()->is_known() && !inputs.back()->trained));
    }
    // Refused here, the node is met again as a part of the graph, which says what is wrong with it.
    auto result = known ? folded(n, inputs) : base::Attempt<std::optional<Tensor>>(std::optional<Tensor>());
    if (!result || !*result) {
      left.push_back(std::move(n));
      continue;
    }
    for (const std::string& input : n.inputs)
      if (--readers[input] == 0) model.initializers.erase(input);
    model.initializers.insert_or_assign(n.outputs[0], std::move(**result));
  }
  model.nodes = std::move(left);
}

bool trains(const Node& n, const Model& model) {
  if (!n.has_input(2)) return false;
  const auto at = model.initializers.find(n.inputs[2]);
  return at != model.initializers.end() && at->second.scalar().value_or(0) != 0;
}

// Files whose weights were taken out make them of their shapes: what products and norms alone read as a weight becomes one again.
void restore_weights(Model& model) {
  static const std::set<std::string> kReaders{"BatchNormalization", "Conv", "Gemm", "LayerNormalization", "MatMul"};
  const Wiring wiring(model);
  const auto is_weight = [&](const Node& n, const Tensor& weight) {
    return n.outputs.size() == 1 && weight.count() > 1 && !wiring.is_output(n.outputs[0]) &&
           std::ranges::none_of(weight.sizes, [](std::int64_t s) { return s < 1; }) &&
           std::ranges::all_of(wiring.readers(n.outputs[0]),
                               [&](const Node* r) { return kReaders.contains(r->type) && r->inputs[0] != n.outputs[0]; });
  };
  std::vector<Node> left;
  for (const Node& n : model.nodes) {
    const auto shape = n.type == "ConstantOfShape" && n.has_input(0) ? model.initializers.find(n.inputs[0]) : model.initializers.end();
    const auto* value = n.attribute<Tensor>("value");
    const bool of_reals = shape != model.initializers.end() && shape->second.integers && (!value || value->element == Element::real);
    Tensor weight{.sizes = of_reals ? *shape->second.integers : Sizes{}, .trained = true};
    if (of_reals && is_weight(n, weight)) model.initializers.emplace(n.outputs[0], std::move(weight));
    else left.push_back(n);
  }
  model.nodes = std::move(left);
}

// Readers of a node that changes nothing read its input. One that makes an output stays.
void bypass(Model& model) {
  const Elements elements(model);
  std::set<std::string> outputs;
  for (const Value& v : model.outputs) outputs.insert(v.name);
  std::map<std::string, std::string> instead;
  std::vector<Node> left;
  for (Node& n : model.nodes) {
    for (std::string& input : n.inputs)
      if (const auto at = instead.find(input); at != instead.end()) input = at->second;
    const bool same = n.type == "Identity" || (n.type == "Dropout" && !trains(n, model)) ||
                      (n.type == "Cast" && n.has_input(0) && elements.of(n.inputs[0]) == element_of(n.integer("to", 1)));
    const bool gone = same && n.has_input(0) && !n.outputs.empty() && !outputs.contains(n.outputs[0]);
    if (gone) instead[n.outputs[0]] = n.inputs[0];
    else left.push_back(std::move(n));
  }
  model.nodes = std::move(left);
}

void drop_unread(Model& model) {
  std::set<std::string> read;
  for (const Value& v : model.outputs) read.insert(v.name);
  std::vector<Node> left;
  for (auto n = model.nodes.rbegin(); n != model.nodes.rend(); ++n) {
    if (std::ranges::none_of(n->outputs, [&](const std::string& o) { return read.contains(o); })) continue;
    read.insert(n->inputs.begin(), n->inputs.end());
    left.push_back(std::move(*n));
  }
  std::ranges::reverse(left);
  model.nodes = std::move(left);
  std::erase_if(model.initializers, [&](const auto& i) { return !read.contains(i.first); });
  std::erase_if(model.inputs, [&](const Value& v) { return !read.contains(v.name); });
}

}  // namespace

Wiring::Wiring(const Model& model) : model_(model) {
  for (const Node& n : model.nodes) {
    for (const std::string& output : n.outputs) makers_[output] = &n;
    for (const std::string& input : n.inputs) readers_[input].push_back(&n);
  }
}

const Node* Wiring::maker(const std::string& value) const {
  const auto at = makers_.find(value);
  return at == makers_.end() ? nullptr : at->second;
}

const std::vector<const Node*>& Wiring::readers(const std::string& value) const {
  static const std::vector<const Node*> kNone;
  const auto at = readers_.find(value);
  return at == readers_.end() ? kNone : at->second;
}

bool Wiring::is_output(const std::string& value) const {
  return std::ranges::any_of(model_.outputs, [&](const Value& v) { return v.name == value; });
}

const Node* Wiring::only_reader(const std::string& value) const {
  const auto& all = readers(value);
  return all.size() == 1 && !is_output(value) ? all.front() : nullptr;
}

bool Wiring::read_inside_alone(const std::set<const Node*>& nodes, const Node& last) const {
  return std::ranges::all_of(nodes, [&](const Node* n) {
    if (n == &last) return true;
    const std::string& value = n->outputs[0];
    return !is_output(value) && std::ranges::all_of(readers(value), [&](const Node* r) { return nodes.contains(r); });
  });
}

std::optional<double> Wiring::number(const std::string& value) const {
  const auto at = model_.initializers.find(value);
  return at == model_.initializers.end() ? std::nullopt : at->second.scalar();
}

void simplify(Model& model) {
  restore_weights(model);
  evaluate(model);
  bypass(model);
  evaluate(model);
  drop_unread(model);
}

void join(Model& model, Order order, const std::function<std::optional<Joined>(const Node&)>& at) {
  std::map<std::vector<std::string>, Node> made;  // by its outputs
  std::set<const Node*> old;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[order == Order::forwards ? n : model.nodes.size() - 1 - n];
    std::optional<Joined> joined = old.contains(&node) ? std::nullopt : at(node);
    if (!joined || std::ranges::any_of(joined->old, [&](const Node* o) { return old.contains(o); })) continue;
    old.insert(joined->old.begin(), joined->old.end());
    made[joined->node.outputs] = std::move(joined->node);
  }
  std::vector<Node> left;
  for (Node& n : model.nodes) {
    const auto found = made.find(n.outputs);
    if (found != made.end()) left.push_back(found->second);
    else if (!old.contains(&n)) left.push_back(std::move(n));
  }
  model.nodes = std::move(left);
}

}  // namespace pcg::models::onnx
