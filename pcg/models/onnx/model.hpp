#pragma once
// An ONNX model as far as it is read here: what messages.cpp takes out of a file, and all that the rest of this folder knows of one. Values
// have names; nodes read and make values. Private to pcg/models.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/attempt.hpp"

namespace pcg::models::onnx {

using Sizes = std::vector<std::int64_t>;  // of a tensor, outermost first

enum class Element { real, integer, boolean, other };
// Of what ONNX calls by this number (TensorProto.DataType) and a Cast gives.
[[nodiscard]] Element element_of(std::int64_t data_type);

// A tensor in the file, or one that was folded. The numbers of large weights are not kept: nothing here depends on them.
struct Tensor {
  Element element = Element::real;
  Sizes sizes;
  std::optional<std::vector<std::int64_t>> integers;  // of integers and booleans
  std::optional<std::vector<double>> reals;
  bool trained = false;  // an initializer of several reals that is no mask: ONNX does not say what is trained

  [[nodiscard]] std::int64_t count() const;  // elements; INT64_MAX: more than fit
  [[nodiscard]] bool is_known() const { return integers.has_value() || reals.has_value(); }
  // The one number of a tensor of one element that is known; nullopt otherwise.
  [[nodiscard]] std::optional<double> scalar() const;
  // Requires: is_known().
  [[nodiscard]] double number(std::size_t i) const { return reals ? (*reals)[i] : static_cast<double>((*integers)[i]); }
};

// The numbers of a tensor are kept up to this count: masks of 4096 x 4096 positions, and all that shapes are made of.
inline constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;

struct OtherAttribute {};  // a graph, a type, ...
using Attribute = std::variant<OtherAttribute, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, Tensor>;

struct Node {
  std::string name;                          // may be empty
  std::string type;                          // "MatMul"; of another domain than ONNX's: "com.microsoft.FusedMatMul"
  std::vector<std::string> inputs, outputs;  // names of values; empty: an optional one that is not there
  std::map<std::string, Attribute> attributes;

  // nullptr: it is not there, or of another type.
  template <class T>
  [[nodiscard]] const T* attribute(const std::string& key) const {
    const auto at = attributes.find(key);
    return at == attributes.end() ? nullptr : std::get_if<T>(&at->second);
  }
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
  [[nodiscard]] double real(const std::string& key, double otherwise) const;
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const std::string& key) const;
  [[nodiscard]] bool has_input(std::size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
};

// A size is a number, or the name of one that is free.
using Size = std::variant<std::int64_t, std::string>;

struct Value {
  std::string name;
  Element element = Element::real;
  std::optional<std::vector<Size>> sizes;  // nullopt: the file does not say
};

struct Model {
  std::string name;
  std::int64_t opset = 0;
  std::vector<Value> inputs, outputs;  // inputs without those that initializers give a value
  std::map<std::string, Tensor> initializers;
  std::vector<Node> nodes;  // each after those whose values it reads
};

// "/encoder/layer.0/MatMul (MatMul)": how messages call a node.
[[nodiscard]] std::string called(const Node& node);

// Reads any IR version whose messages parse: what later ones added is skipped where nothing here needs it. Weights may lie in files of
// their own (external data): these are not opened. Refuses what is no such file, is damaged, or is larger than protobuf reads (2 GiB).
// Cost: O(bytes).
[[nodiscard]] base::Attempt<Model> read_messages(const std::filesystem::path& file);

}  // namespace pcg::models::onnx
