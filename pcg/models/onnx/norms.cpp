// Norms over the last dim, as exporters write them out where the opset has none (LayerNormalization came with 17, RMSNormalization with
// 23):
//   d = x - mean(x);  y = d / sqrt(mean(d^2) + eps) * gain + bias          (x - mean(x) may be computed twice)
//   y = x / sqrt(mean(x^2) + eps) * gain                                   (or times the reciprocal)

#include <algorithm>

#include "pcg/models/onnx/folding.hpp"
#include "pcg/models/onnx/simplify.hpp"

namespace pcg::models::onnx {
namespace {

class NormMatcher {
 public:
  NormMatcher(const Model& model, const Wiring& wiring) : model_(model), wiring_(wiring) {}

  // The norm whose quotient this node makes.
  std::optional<Joined> at(const Node& quotient) {
    old_ = {&quotient};
    const std::optional<Parts> parts = parts_of(quotient);
    if (!parts) return std::nullopt;
    Joined joined{{}, {.name = quotient.name, .type = "RMSNormalization"}};
    joined.node.attributes["axis"] = std::int64_t{-1};
    std::string gain, bias;
    const Node* last = after(quotient, "Mul", gain);
    if (last == nullptr) return std::nullopt;
    joined.node.inputs = {parts->numerator, gain};
    if (parts->centred) {
      last = after(*last, "Add", bias);
      if (last == nullptr) return std::nullopt;
      joined.node.type = "LayerNormalization";
      joined.node.inputs = {parts->of, gain, bias};
    }
    joined.node.outputs = last->outputs;
    joined.old = old_;
    return wiring_.read_inside_alone({old_.begin(), old_.end()}, *last) ? std::optional(joined) : std::nullopt;
  }

 private:
  struct Parts {
    std::string numerator;  // what is divided: x, or x - mean(x)
    std::string of;         // x
    bool centred = false;
  };

  const Node* take(const std::string& value, const char* type) {
    const Node* n = wiring_.maker(value);
    if (n == nullptr || n->type != type || n->outputs.size() != 1) return nullptr;
    if (std::ranges::find(old_, n) == old_.end()) old_.push_back(n);
    return n;
  }

  // Returns numerator and d of x / d, x * (1 / d), x * reciprocal(d).
  std::optional<Parts> parts_of(const Node& q) {
    if (q.inputs.size() != 2) return std::nullopt;
    if (q.type == "Div") return parts(q.inputs[0], q.inputs[1]);
    if (q.type != "Mul") return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const Node* inverse = wiring_.maker(q.inputs[i]);
      if (inverse == nullptr) continue;
      const bool divides = inverse->type == "Div" && wiring_.number(inverse->inputs[0]) == 1.0;
      if (inverse->type != "Reciprocal" && !divides) continue;
      old_ = {&q, inverse};
      if (auto found = parts(q.inputs[1 - i], inverse->inputs[divides ? 1 : 0])) return found;
    }
    return std::nullopt;
  }

  std::optional<Parts> parts(const std::string& numerator, const std::string& root) {
    const Node* sqrt = take(root, "Sqrt");
    const Node* sum = sqrt != nullptr ? take(sqrt->inputs[0], "Add") : nullptr;
    if (sum == nullptr) return std::nullopt;
    const std::size_t at = wiring_.number(sum->inputs[1]) ? 0 : 1;
    if (!wiring_.number(sum->inputs[1 - at])) return std::nullopt;  // eps
    const auto squares = mean_of(sum->inputs[at]);
    const auto squared = squares ? square_of(*squares) : std::nullopt;
    if (!squared) return std::nullopt;
    const auto of = centred(numerator), same = centred(*squared);
    if (of && same && *of == *same) return Parts{numerator, *of, true};
    return *squared == numerator ? std::optional(Parts{numerator, numerator, false}) : std::nullopt;
  }

  // Returns the operand of a mean over the last dim, which stays as a dim of one.
  std::optional<std::string> mean_of(const std::string& value) {
    const Node* n = take(value, "ReduceMean");
    if (n == nullptr || n->integer("keepdims", 1) != 1) return std::nullopt;
    const auto known = n->has_input(1) ? model_.initializers.find(n->inputs[1]) : model_.initializers.end();
    const auto axes = axes_of(*n, known == model_.initializers.end() ? nullptr : &known->second);
    return axes && *axes == std::vector<std::int64_t>{-1} ? std::optional(n->inputs[0]) : std::nullopt;
  }
  std::optional<std::string> square_of(const std::string& value) {
    if (const Node* n = take(value, "Pow"); n != nullptr && wiring_.number(n->inputs[1]) == 2.0) return n->inputs[0];
    if (const Node* n = take(value, "Mul"); n != nullptr && n->inputs[0] == n->inputs[1]) return n->inputs[0];
    return std::nullopt;
  }
  // x of x - mean(x).
  std::optional<std::string> centred(const std::string& value) {
    const Node* n = wiring_.maker(value);
    if (n == nullptr || n->type != "Sub" || n->inputs.size() != 2) return std::nullopt;
    const std::vector<const Node*> before = old_;
    (void)take(value, "Sub");
    if (const auto of = mean_of(n->inputs[1]); of && *of == n->inputs[0]) return of;
    old_ = before;
    return std::nullopt;
  }

  // The only reader, if it is of this type and its other input is a weight of one dim.
  const Node* after(const Node& n, const char* type, std::string& weight) {
    const Node* reader = wiring_.only_reader(n.outputs[0]);
    if (reader == nullptr || reader->type != type || reader->inputs.size() != 2) return nullptr;
    weight = reader->inputs[reader->inputs[0] == n.outputs[0] ? 1 : 0];
    const auto at = model_.initializers.find(weight);
    if (at == model_.initializers.end() || at->second.sizes.size() != 1) return nullptr;
    old_.push_back(reader);
    return reader;
  }

  const Model& model_;
  const Wiring& wiring_;
  std::vector<const Node*> old_;
};

}  // namespace

void join_norms(Model& model) {
  const Wiring wiring(model);
  NormMatcher matcher(model, wiring);
  join(model, Order::forwards, [&](const Node& n) { return matcher.at(n); });
}

}  // namespace pcg::models::onnx
