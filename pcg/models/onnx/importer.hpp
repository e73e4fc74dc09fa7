#pragma once
// Turns the nodes of an ONNX model into those of a draft, one after another. Private to pcg/models.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pcg/models/onnx/draft.hpp"
#include "pcg/models/onnx/folding.hpp"
#include "pcg/models/onnx/model.hpp"
#include "pcg/models/onnx/simplify.hpp"

namespace pcg::models::onnx {

// A node that cannot be one of ours.
struct Refused {
  std::string why;   // "dilation 2 x 2"
  std::string hint;  // what to do
};

// Where a tensor has its samples: which dim, and how many blocks of them that dim holds outside of the samples (1, unless other dims were
// merged in front of them).
struct Samples {
  int dim = -1;  // -1: it has none (a weight)
  std::int64_t outer = 1;
};

// The value of a name while the nodes are walked through.
struct Held {
  enum class Kind {
    nothing,    // an output that cannot be read: its node was refused
    tensor,     // of the draft
    constant,   // numbers that are known
    weight,     // an initializer; it becomes a tensor when an operator reads it
    unmodelled  // made of inputs and constants alone by a node that is none of ours: may be a mask, must not be anything else
  };
  Kind kind = Kind::nothing;
  GraphTensorRef tensor;
  Tensor constant;
  std::string weight;       // the initializer's name
  bool transposed = false;  // of a weight of two dims: its transpose
  bool from_data = false;   // made of inputs and constants alone
  enum class Mask { none, of_data, causal };
  Mask mask = Mask::none;                      // scores that a mask, which was left out, shuts
  std::int64_t pad_rows = 0, pad_columns = 0;  // zeros on either side of an image, for the window that reads it
  Refused refused;                             // of an unmodelled value
};

class Importer {
 public:
  // `samples`: the batch where a file leaves it free; `sizes`: the other free sizes by name.
  Importer(const Model& model, std::int64_t samples, const std::map<std::string, std::int64_t>& sizes);

  struct Problem {
    std::string where, what, hint;
  };
  // Walks through all nodes. What is wrong with the model goes to problems().
  void run();
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] Draft& draft() { return draft_; }
  // The tensor of an output; nullopt: it could not be made, for reasons that problems() has.
  [[nodiscard]] std::optional<GraphTensorRef> output(const std::string& name);
  [[nodiscard]] Samples samples_of(GraphTensorRef t) const;
  [[nodiscard]] std::int64_t batch() const { return batch_; }
  // Adds an operator whose node in the file is `scope`. Throws: Refused when its inputs do not fit.
  GraphTensorRef add(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs);

 private:
  // importer.cpp
  void read_inputs();
  void take(const Node& node);
  bool convert(const Node& node);
  [[nodiscard]] const Held& held(const std::string& value) const;
  [[nodiscard]] const Held& input(const Node& node, std::size_t i) const;
  [[nodiscard]] GraphTensorRef tensor(const Node& node, std::size_t i);  // of any kind: weights and constants become tensors
  [[nodiscard]] GraphTensorRef tensor(const Held& h);
  [[nodiscard]] GraphTensorRef weight(const std::string& initializer, bool transposed);
  [[nodiscard]] GraphTensorRef source(const std::string& name, Operator op);
  // Whether all that it reads is made of inputs and constants alone.
  [[nodiscard]] bool reads_data(const Node& node) const;
  [[nodiscard]] const Tensor* constant(const Node& node, std::size_t i) const;  // nullptr: not there, or not known
  [[nodiscard]] std::optional<double> number(const Node& node, std::size_t i) const;
  [[nodiscard]] const Sizes& sizes(GraphTensorRef t) const { return draft_.shape(t).sizes; }
  [[nodiscard]] bool is_weight(const Node& node, std::size_t i) const;
  void put(const Node& node, GraphTensorRef t, std::size_t output = 0);
  void put(const Node& node, Held h, std::size_t output = 0);
  [[nodiscard]] std::vector<GraphTensorRef> add_all(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs);
  [[nodiscard]] std::size_t axis(std::int64_t axis, GraphTensorRef t) const;
  void refuse_samples(GraphTensorRef t, std::size_t axis, const char* what) const;
  [[nodiscard]] GraphTensorRef reshape(const std::string& name, GraphTensorRef t, const Sizes& to);
  [[nodiscard]] std::string name_of(const Node& node) const;
  void note(std::string text);

  // products.cpp
  void gemm(const Node& node);
  void matmul(const Node& node);
  void convolution(const Node& node);
  [[nodiscard]] GraphTensorRef linear(const Node& node, GraphTensorRef x, std::size_t weight, bool transposed,
                                      std::optional<GraphTensorRef> bias);
  // pointwise.cpp
  void unary(const Node& node, Unary::Kind kind, double factor = 1);
  void binary(const Node& node);
  void sum(const Node& node);
  void power(const Node& node);
  bool masked(const Node& node);  // whether it is a mask on scores, which is then left out
  [[nodiscard]] GraphTensorRef widened(const std::string& name, GraphTensorRef t, const Sizes& to);
  void where(const Node& node);
  void softmax(const Node& node);
  void cast(const Node& node);
  void dropout(const Node& node);
  void clip(const Node& node);
  void local_norm(const Node& node);
  // layout.cpp
  void shape(const Node& node);
  void reshape(const Node& node);
  void transpose(const Node& node);
  void concat(const Node& node);
  void split(const Node& node);
  void slice(const Node& node);
  void gather(const Node& node);
  void expand(const Node& node);
  void pad(const Node& node);
  // windows.cpp
  struct Windows {
    Window rows, columns;
  };
  [[nodiscard]] Windows windows(const Node& node, const Sizes& x, const Sizes& kernel);
  void pool(const Node& node, Pool2d::Kind kind);
  void global_pool(const Node& node, Pool2d::Kind kind);
  void reduce(const Node& node, Reduction::Kind kind);
  void batch_norm(const Node& node);
  void norm(const Node& node, bool rms);

  const Model& model_;
  Wiring wiring_;
  std::int64_t samples_;
  std::map<std::string, std::int64_t> free_sizes_;
  std::int64_t batch_ = 0;  // of the draft
  Draft draft_;
  std::map<std::string, Held> held_;
  std::map<GraphTensorRef, Samples> samples_of_;
  std::map<std::pair<std::string, bool>, GraphTensorRef> weights_;  // by initializer, and whether its transpose is stored
  std::string scope_;                                               // of the node that is taken
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

// The scope in a node's name, with points: "encoder.layer.3" of "/encoder/layer.3/MatMul".
[[nodiscard]] std::string scope_of(const std::string& node_name);

}  // namespace pcg::models::onnx
