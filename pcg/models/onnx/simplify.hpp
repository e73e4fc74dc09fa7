#pragma once
// A model with less in it that says the same: before any of it becomes operators. Private to pcg/models.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pcg/models/onnx/model.hpp"

namespace pcg::models::onnx {

// Who makes and who reads each value. Good until nodes are taken out.
class Wiring {
 public:
  explicit Wiring(const Model& model);

  // The node that makes a value; nullptr: an input or an initializer.
  [[nodiscard]] const Node* maker(const std::string& value) const;
  // The nodes that read a value, one entry for each time.
  [[nodiscard]] const std::vector<const Node*>& readers(const std::string& value) const;
  [[nodiscard]] bool is_output(const std::string& value) const;
  // The one reader of a value that is no output of the model; nullptr otherwise.
  [[nodiscard]] const Node* only_reader(const std::string& value) const;
  // Whether nothing outside of `nodes` reads what they make, but for `last`. Requires: each makes one value.
  [[nodiscard]] bool read_inside_alone(const std::set<const Node*>& nodes, const Node& last) const;
  // The one number that a value is, where it is an initializer of one element.
  [[nodiscard]] std::optional<double> number(const std::string& value) const;

 private:
  const Model& model_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> readers_;
};

// Makes weights again of those that a file makes of their shapes; evaluates nodes of known numbers into initializers; takes out casts
// between reals, identities, dropouts that do nothing, and what no output needs.
void simplify(Model& model);

// Several nodes that compute a known function of one value, point by point, become one: Gelu, Silu, Relu2, whatever it was made of. They
// are identified by their values at a few places.
void join_functions(Model& model);

// The nodes of a norm over the last dim, with its gain and bias, become one LayerNormalization or RMSNormalization.
void join_norms(Model& model);

// Nodes that become one, in the place of the one that makes its outputs.
struct Joined {
  std::vector<const Node*> old;
  Node node;
};
enum class Order { forwards, backwards };
// Joins what at(node) finds, node by node in this order, but for what has a node of one that was found before.
void join(Model& model, Order order, const std::function<std::optional<Joined>(const Node&)>& at);

}  // namespace pcg::models::onnx
