#include "pcg/models/onnx/importer.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace pcg::models::onnx {
namespace {

const Held kNothing;

std::string with_points(std::string name) {
  std::ranges::replace(name, '/', '.');
  std::ranges::replace(name, ':', '.');  // "name:1" is an output of a node in graph files
  name.erase(0, name.find_first_not_of('.') == std::string::npos ? name.size() : name.find_first_not_of('.'));
  return name;
}

// The values that indices of an embedding come from, through nodes that move or cast them.
std::set<std::string> looked_up(const Model& model) {
  static const std::set<std::string> kPass = {"Reshape",  "Unsqueeze", "Squeeze", "Cast",  "Slice",  "Transpose",
                                              "Identity", "Flatten",   "Expand",  "Split", "Gather", "Concat"};
  std::set<std::string> values;
  for (auto n = model.nodes.rbegin(); n != model.nodes.rend(); ++n) {
    if (n->type == "Gather" && n->has_input(1)) values.insert(n->inputs[1]);
    if (kPass.contains(n->type) && n->has_input(0) &&
        std::ranges::any_of(n->outputs, [&](const std::string& o) { return values.contains(o); }))
      values.insert(n->inputs[0]);
  }
  return values;
}

}  // namespace

std::string scope_of(const std::string& node_name) {
  const std::size_t end = node_name.rfind('/');
  return end == std::string::npos ? "" : with_points(node_name.substr(0, end));
}

Importer::Importer(const Model& model, std::int64_t samples, const std::map<std::string, std::int64_t>& sizes)
    : model_(model), wiring_(model), samples_(samples), free_sizes_(sizes) {}

void Importer::run() {
  for (const auto& [name, t] : model_.initializers) {
    const Held::Kind kind = t.trained ? Held::Kind::weight : Held::Kind::constant;
    held_.emplace(name, Held{.kind = kind, .constant = t, .weight = name, .from_data = !t.trained});
  }
  read_inputs();
  if (problems_.empty())
    for (const Node& n : model_.nodes) take(n);
}

// Dim 0 of every input holds the samples. Inputs that are looked up hold indices, others numbers.
void Importer::read_inputs() {
  const std::set<std::string> indices = looked_up(model_);
  std::set<std::string> used;
  for (const Value& v : model_.inputs) {
    if (!v.sizes || v.element == Element::other) {
      problems_.push_back(
          {v.name, "this input has no sizes, or is no tensor of numbers", "export the model with the shapes of its inputs"});
      continue;
    }
    Sizes sizes;
    for (std::size_t d = 0; d < v.sizes->size(); ++d) {
      const Size& size = (*v.sizes)[d];
      if (const auto* fixed = std::get_if<std::int64_t>(&size)) {
        sizes.push_back(*fixed);
        continue;
      }
      const std::string& name = std::get<std::string>(size);
      const auto given = free_sizes_.find(name);
      if (d == 0 && given == free_sizes_.end()) {
        sizes.push_back(samples_);
        continue;
      }
      if (given == free_sizes_.end()) {
        problems_.push_back(
            {v.name, fmt::format("dim {} of this input is free: \"{}\"", d, name),
             name.empty() ? "export the model with a fixed size there" : fmt::format("write e.g. sizes: {{{}: 128}} beside onnx", name)});
        sizes.push_back(1);
        continue;
      }
      used.insert(name);
      sizes.push_back(given->second);
    }
    if (sizes.empty() || std::ranges::any_of(sizes, [](std::int64_t s) { return s < 1; })) {
      problems_.push_back(
          {v.name, fmt::format("this input is [{}]", fmt::join(sizes, ", ")), "an input holds samples along its first dim"});
      continue;
    }
    if (batch_ == 0) batch_ = sizes[0];
    if (sizes[0] != batch_) {
      problems_.push_back({v.name, fmt::format("this input begins with {}, others with {}", sizes[0], batch_),
                           "the first dim of every input holds the samples; make what is no sample a constant of the model"});
      continue;
    }
    const bool index = v.element != Element::real && indices.contains(v.name);
    const auto made = draft_.add(with_points(v.name), Input{{sizes, index ? pcg::Element::index : pcg::Element::real}}, {}, "");
    if (!made) {
      problems_.push_back({v.name, made.refusal().why, ""});
      continue;
    }
    samples_of_[made->front()] = {.dim = 0};
    held_[v.name] = {.kind = Held::Kind::tensor, .tensor = made->front(), .from_data = true};
  }
  if (model_.inputs.empty()) problems_.push_back({"", "the model reads no input", ""});
  for (const auto& [name, size] : free_sizes_)
    if (!used.contains(name))
      problems_.push_back({"", fmt::format("no input has a free size \"{}\" after its first dim", name), "leave it out of sizes"});
}

const Held& Importer::held(const std::string& value) const {
  const auto at = held_.find(value);
  return at == held_.end() ? kNothing : at->second;
}

const Held& Importer::input(const Node& node, std::size_t i) const {
  if (!node.has_input(i)) throw Refused{fmt::format("has no input {}", i), ""};
  const Held& h = held(node.inputs[i]);
  if (h.kind == Held::Kind::unmodelled) throw h.refused;
  return h;
}

bool Importer::is_weight(const Node& node, std::size_t i) const {
  return node.has_input(i) && held(node.inputs[i]).kind == Held::Kind::weight;
}

const Tensor* Importer::constant(const Node& node, std::size_t i) const {
  if (!node.has_input(i)) return nullptr;
  const Held& h = held(node.inputs[i]);
  const bool known = (h.kind == Held::Kind::constant || h.kind == Held::Kind::weight) && !h.transposed && h.constant.is_known();
  return known ? &h.constant : nullptr;
}

std::optional<double> Importer::number(const Node& node, std::size_t i) const {
  const Tensor* t = constant(node, i);
  return t == nullptr ? std::nullopt : t->scalar();
}

GraphTensorRef Importer::source(const std::string& name, Operator op) {
  const auto made = draft_.add(name, std::move(op), {}, scope_);
  if (!made) throw Refused{made.refusal().why, ""};
  return made->front();
}

bool Importer::reads_data(const Node& node) const {
  return std::ranges::all_of(node.inputs, [&](const std::string& i) { return i.empty() || held(i).from_data; });
}

GraphTensorRef Importer::weight(const std::string& initializer, bool transposed) {
  const auto known = weights_.find({initializer, transposed});
  if (known != weights_.end()) return known->second;
  Sizes sizes = held(initializer).constant.sizes;
  if (transposed) std::swap(sizes[0], sizes[1]);
  if (std::ranges::any_of(sizes, [](std::int64_t s) { return s < 1; }))
    throw Refused{fmt::format("its weight \"{}\" is [{}]", initializer, fmt::join(sizes, ", ")), ""};
  return weights_[{initializer, transposed}] = source(with_points(initializer), Weight{{.sizes = sizes}});
}

GraphTensorRef Importer::tensor(const Held& h) {
  if (h.kind == Held::Kind::tensor) return h.tensor;
  if (h.kind == Held::Kind::weight) {
    const GraphTensorRef w = weight(h.weight, false);
    return h.transposed ? add(with_points(h.weight) + ".transposed", Transpose{.permutation = {1, 0}}, {w}) : w;
  }
  // Numbers that an operator reads as a tensor.
  if (h.constant.element != Element::real)
    throw Refused{"it computes with a constant of integers that is no shape, axis or mask", "make it an input or floats"};
  const std::string name = h.weight.empty() ? "constant" : with_points(h.weight);
  const GraphTensorRef made = source(name, Weight{{.sizes = h.constant.sizes}});
  if (h.weight.empty()) note(fmt::format("the constant \"{}\" [{}] counts as a trained weight", name, fmt::join(h.constant.sizes, ", ")));
  return made;
}

GraphTensorRef Importer::tensor(const Node& node, std::size_t i) { return tensor(input(node, i)); }

Samples Importer::samples_of(GraphTensorRef t) const {
  const auto at = samples_of_.find(t);
  return at == samples_of_.end() ? Samples{} : at->second;
}

std::vector<GraphTensorRef> Importer::add_all(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs) {
  const bool moves_samples = std::holds_alternative<Reshape>(op);  // reshape() says where they are then
  auto made = draft_.add(name, std::move(op), inputs, scope_);
  if (!made) throw Refused{made.refusal().why, "the sizes do not fit"};
  if (moves_samples) return *made;
  // Samples go where their loop goes.
  const DraftNode& node = draft_.nodes().back();
  std::vector<TensorShape> shapes;
  for (const GraphTensorRef t : inputs) shapes.push_back(draft_.shape(t));
  const IterationSpace space = iteration_space(node.op, shapes, node.outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Samples from = samples_of(inputs[i]);
    if (from.dim < 0) continue;
    const int loop = space.inputs[i][static_cast<std::size_t>(from.dim)];
    for (std::size_t o = 0; o < made->size() && loop >= 0; ++o)
      for (std::size_t d = 0; d < space.outputs[o].size(); ++d)
        if (space.outputs[o][d] == loop) samples_of_[(*made)[o]] = {static_cast<int>(d), from.outer};
    if (samples_of((*made)[0]).dim < 0) throw Refused{"it mixes samples", "each sample must have a result of its own"};
  }
  return *made;
}

GraphTensorRef Importer::add(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs) {
  return add_all(name, std::move(op), std::move(inputs)).front();
}

std::size_t Importer::axis(std::int64_t axis, GraphTensorRef t) const {
  const auto found = axis_of(axis, sizes(t).size());
  if (!found) throw Refused{fmt::format("axis {} of {}", axis, to_text(draft_.shape(t))), ""};
  return *found;
}

void Importer::refuse_samples(GraphTensorRef t, std::size_t axis, const char* what) const {
  if (samples_of(t).dim == static_cast<int>(axis))
    throw Refused{fmt::format("{} dim {} of {}, which holds the samples", what, axis, to_text(draft_.shape(t))),
                  "the first dim of every input holds the samples; each must have a result of its own"};
}

std::string Importer::name_of(const Node& node) const {
  return with_points(!node.name.empty() ? node.name : node.outputs.empty() ? node.type : node.outputs[0]);
}

void Importer::note(std::string text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

void Importer::put(const Node& node, Held h, std::size_t output) {
  if (output < node.outputs.size()) held_[node.outputs[output]] = std::move(h);
}

void Importer::put(const Node& node, GraphTensorRef t, std::size_t output) {
  put(node, Held{.kind = Held::Kind::tensor, .tensor = t, .from_data = reads_data(node)}, output);
}

std::optional<GraphTensorRef> Importer::output(const std::string& name) {
  const Held& h = held(name);
  if (h.kind == Held::Kind::tensor) return h.tensor;
  if (h.kind != Held::Kind::nothing)
    problems_.push_back({name, "this output depends on no weights", "name those that are trained: outputs: [..] beside onnx"});
  return std::nullopt;
}

void Importer::take(const Node& node) {
  // A node is refused once: nodes that follow from it report nothing more.
  const auto is_lost = [&](const std::string& i) { return !i.empty() && held(i).kind == Held::Kind::nothing; };
  if (std::ranges::any_of(node.inputs, is_lost)) return;
  scope_ = scope_of(node.name);
  const bool from_data = reads_data(node);
  Refused why;
  try {
    if (convert(node)) return;
    why = {"this operator is not known here",
           "leave it out of the exported model, write it with known operators, or describe the model by builtin, transformer or graph"};
  } catch (const Refused& r) { why = r; }
  if (!from_data) {
    problems_.push_back({called(node), why.why, why.hint});
    return;
  }
  const Refused refused{fmt::format("it reads what {} makes: {}", called(node), why.why), why.hint};
  for (std::size_t o = 0; o < node.outputs.size(); ++o)
    put(node, Held{.kind = Held::Kind::unmodelled, .from_data = true, .refused = refused}, o);
}

bool Importer::convert(const Node& node) {
  std::vector<const Tensor*> known;
  bool all_known = node.outputs.size() == 1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    known.push_back(constant(node, i));
    all_known = all_known && (node.inputs[i].empty() || (known.back() != nullptr && !known.back()->trained));
  }
  if (all_known) {
    const auto result = folded(node, known);
    if (!result) throw Refused{result.refusal().why, "the model contradicts itself"};
    if (*result) {
      put(node, Held{.kind = Held::Kind::constant, .constant = **result, .from_data = true});
      return true;
    }
  }
  if (masked(node)) return true;
  using Convert = std::function<void(Importer&, const Node&)>;
  const auto unary_of = [](Unary::Kind k, double factor = 1) {
    return Convert([=](Importer& i, const Node& n) { i.unary(n, k, factor); });
  };
  static const std::map<std::string, Convert> kConversions = {
      {"Gemm", &Importer::gemm},
      {"MatMul", &Importer::matmul},
      {"Conv", &Importer::convolution},
      {"Relu", unary_of(Unary::Kind::relu)},
      {"Gelu", unary_of(Unary::Kind::gelu)},
      {"Silu", unary_of(Unary::Kind::silu)},
      {"Swish", unary_of(Unary::Kind::silu)},
      {"Relu2", unary_of(Unary::Kind::relu2)},
      {"Tanh", unary_of(Unary::Kind::tanh)},
      {"Sigmoid", unary_of(Unary::Kind::sigmoid)},
      {"Exp", unary_of(Unary::Kind::exp)},
      {"Neg", unary_of(Unary::Kind::scale, -1)},
      {"Add", &Importer::binary},
      {"Sub", &Importer::binary},
      {"Mul", &Importer::binary},
      {"Div", &Importer::binary},
      {"Sum", &Importer::sum},
      {"LRN", &Importer::local_norm},
      {"Pow", &Importer::power},
      {"Softmax", &Importer::softmax},
      {"Cast", &Importer::cast},
      {"Identity", &Importer::cast},
      {"Dropout", &Importer::dropout},
      {"Pad", &Importer::pad},
      {"Clip", &Importer::clip},
      {"Shape", &Importer::shape},
      {"Reshape", [](Importer& i, const Node& n) { i.reshape(n); }},
      {"Flatten", [](Importer& i, const Node& n) { i.reshape(n); }},
      {"Squeeze", [](Importer& i, const Node& n) { i.reshape(n); }},
      {"Unsqueeze", [](Importer& i, const Node& n) { i.reshape(n); }},
      {"Transpose", &Importer::transpose},
      {"Concat", &Importer::concat},
      {"Split", &Importer::split},
      {"Slice", &Importer::slice},
      {"Gather", &Importer::gather},
      {"Expand", &Importer::expand},
      {"MaxPool", [](Importer& i, const Node& n) { i.pool(n, Pool2d::Kind::max); }},
      {"AveragePool", [](Importer& i, const Node& n) { i.pool(n, Pool2d::Kind::average); }},
      {"GlobalMaxPool", [](Importer& i, const Node& n) { i.global_pool(n, Pool2d::Kind::max); }},
      {"GlobalAveragePool", [](Importer& i, const Node& n) { i.global_pool(n, Pool2d::Kind::average); }},
      {"ReduceMean", [](Importer& i, const Node& n) { i.reduce(n, Reduction::Kind::mean); }},
      {"ReduceSum", [](Importer& i, const Node& n) { i.reduce(n, Reduction::Kind::sum); }},
      {"BatchNormalization", &Importer::batch_norm},
      {"LayerNormalization", [](Importer& i, const Node& n) { i.norm(n, false); }},
      {"RMSNormalization", [](Importer& i, const Node& n) { i.norm(n, true); }},
  };
  const auto at = kConversions.find(node.type);
  if (at == kConversions.end()) return false;
  at->second(*this, node);
  return true;
}

}  // namespace pcg::models::onnx
