// Functions of one value, identified by their results at a few places.

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "pcg/models/onnx/simplify.hpp"

namespace pcg::models::onnx {
namespace {

constexpr std::size_t kMostNodes = 16;  // of one function; GELU by tanh has up to nine
constexpr double kTolerance = 2e-4;     // half-precision constants; GELU by erf and by tanh differ by 5e-4
constexpr std::array kPlaces = {-3.1, -1.3, -0.6, -0.2, 0.15, 0.7, 1.9, 3.3};

struct KnownFunction {
  const char* type;
  double (*value)(double);
};
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
const std::array kFunctions = {
    KnownFunction{"Gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
    KnownFunction{"Gelu", [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    KnownFunction{"Gelu", [](double x) { return x * sigmoid_of(1.702 * x); }},
    KnownFunction{"Silu", [](double x) { return x * sigmoid_of(x); }},
    KnownFunction{"Relu2", [](double x) { return x > 0 ? x * x : 0; }},
};

std::optional<double> value_of_one(const std::string& type, double x) {
  if (type == "Neg") return -x;
  if (type == "Erf") return std::erf(x);
  if (type == "Tanh") return std::tanh(x);
  if (type == "Sigmoid") return sigmoid_of(x);
  if (type == "Sqrt") return std::sqrt(x);
  if (type == "Exp") return std::exp(x);
  if (type == "Relu") return std::max(x, 0.0);
  return type == "Reciprocal" ? std::optional(1 / x) : std::nullopt;
}
std::optional<double> value_of_two(const std::string& type, double x, double y) {
  if (type == "Add") return x + y;
  if (type == "Sub") return x - y;
  if (type == "Mul") return x * y;
  if (type == "Div") return x / y;
  return type == "Pow" ? std::optional(std::pow(x, y)) : std::nullopt;
}
bool is_pointwise(const Node& n) {
  if (n.outputs.size() != 1) return false;
  return (n.inputs.size() == 1 && value_of_one(n.type, 0.5)) || (n.inputs.size() == 2 && value_of_two(n.type, 0.5, 0.5));
}

// The nodes from which a value follows by points, latest first, at most kMostNodes.
std::vector<const Node*> pointwise_after(const Node& last, const Wiring& wiring) {
  std::vector<const Node*> found = {&last};
  for (std::size_t i = 0; i < found.size() && found.size() < kMostNodes; ++i)
    for (const std::string& input : found[i]->inputs)
      if (const Node* maker = wiring.maker(input);
          maker != nullptr && is_pointwise(*maker) && std::ranges::find(found, maker) == found.end())
        found.push_back(maker);
  return found;
}

// The last node as a function of one value: its nodes, and what it gives.
class Function {
 public:
  Function(const Node& last, std::string of, const Wiring& wiring) : last_(last), of_(std::move(of)), wiring_(wiring) {}

  [[nodiscard]] std::optional<double> at(double x) {
    values_.clear();
    nodes_.clear();
    values_[of_] = x;
    return value(last_.outputs[0], 0);
  }
  // The values that at() went through.
  [[nodiscard]] const std::set<const Node*>& nodes() const { return nodes_; }

 private:
  std::optional<double> value(const std::string& name, std::size_t depth) {
    if (const auto known = values_.find(name); known != values_.end()) return known->second;
    if (const auto number = wiring_.number(name)) return number;
    const Node* maker = wiring_.maker(name);
    if (maker == nullptr || depth > kMostNodes || !is_pointwise(*maker)) return std::nullopt;
    const auto first = value(maker->inputs[0], depth + 1);
    if (!first) return std::nullopt;
    std::optional<double> result;
    if (maker->inputs.size() == 1) {
      result = value_of_one(maker->type, *first);
    } else {
      const auto second = value(maker->inputs[1], depth + 1);
      if (!second) return std::nullopt;
      result = value_of_two(maker->type, *first, *second);
    }
    nodes_.insert(maker);
    if (result) values_[name] = *result;
    return result;
  }

  const Node& last_;
  std::string of_;
  const Wiring& wiring_;
  std::map<std::string, double> values_;
  std::set<const Node*> nodes_;
};

const char* name_of(Function& f) {
  for (const KnownFunction& known : kFunctions) {
    const bool same = std::ranges::all_of(kPlaces, [&](double x) {
      const auto value = f.at(x);
      return value && std::abs(*value - known.value(x)) < kTolerance * std::max(1.0, std::abs(x));
    });
    if (same) return known.type;
  }
  return nullptr;
}

std::optional<Joined> join_at(const Node& last, const Wiring& wiring) {
  // Every function known here ends with one of these.
  if ((last.type != "Mul" && last.type != "Pow" && last.type != "Div") || !is_pointwise(last)) return std::nullopt;
  const std::vector<const Node*> after = pointwise_after(last, wiring);
  for (auto first = after.rbegin(); first != after.rend(); ++first)  // the farthest first: the longest function
    for (const std::string& of : (*first)->inputs) {
      if (wiring.number(of)) continue;
      Function f(last, of, wiring);
      const char* type = name_of(f);
      if (type == nullptr || !wiring.read_inside_alone(f.nodes(), last)) continue;
      return Joined{{f.nodes().begin(), f.nodes().end()}, {.name = last.name, .type = type, .inputs = {of}, .outputs = last.outputs}};
    }
  return std::nullopt;
}

}  // namespace

void join_functions(Model& model) {
  const Wiring wiring(model);
  join(model, Order::backwards, [&](const Node& last) { return join_at(last, wiring); });
}

}  // namespace pcg::models::onnx
