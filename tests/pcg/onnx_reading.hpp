#pragma once
// Models of tests/pcg/onnx_file.hpp as a user's file is read: what they become, and what is said of them.

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/yaml/parse.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/models/load.hpp"
#include "tests/pcg/onnx_file.hpp"

namespace onnx_test {

using test::OnnxFile;
using test::OnnxModel;
using Sizes = std::vector<std::int64_t>;

inline base::Yaml section_of(const OnnxFile& file, const std::string& keys) {
  return base::parse_yaml(fmt::format("{{onnx: {}{}}}", file.path.string(), keys.empty() ? "" : ", " + keys), "<test>");
}
inline pcg::Graph load(const OnnxModel& model, std::int64_t batch, const std::string& keys = "") {
  const OnnxFile file(model.bytes());
  return pcg::models::load_model(section_of(file, keys), "model", {}, batch);
}
inline std::vector<std::string> notes(const OnnxModel& model, const std::string& keys = "") {
  const OnnxFile file(model.bytes());
  return pcg::models::model_notes(section_of(file, keys), {});
}
inline std::string problems_of_bytes(const std::string& bytes, const std::string& keys = "") {
  const OnnxFile file(bytes);
  try {
    (void)pcg::models::load_model(section_of(file, keys), "model", {}, 4);
  } catch (const base::InputError& e) {
    std::string text = e.what();
    for (std::size_t at = 0; (at = text.find(file.path.string())) != std::string::npos;)
      text.replace(at, file.path.string().size(), "FILE");
    return text;
  }
  return "";
}
inline std::string problems(const OnnxModel& model, const std::string& keys = "") { return problems_of_bytes(model.bytes(), keys); }

inline std::string kinds(const pcg::Graph& g) {
  std::vector<std::string> text;
  for (const pcg::GraphNode& n : g.nodes())
    if (!std::holds_alternative<pcg::Weight>(n.op)) text.emplace_back(pcg::kind_name(n.op));
  return fmt::format("{}", fmt::join(text, " "));
}
template <class Op>
std::vector<const pcg::GraphNode*> of_kind(const pcg::Graph& g) {
  std::vector<const pcg::GraphNode*> found;
  for (const pcg::GraphNode& n : g.nodes())
    if (std::holds_alternative<Op>(n.op)) found.push_back(&n);
  return found;
}
template <class Op>
Op only(const pcg::Graph& g) {
  const auto all = of_kind<Op>(g);
  REQUIRE(all.size() == 1);
  return std::get<Op>(all[0]->op);
}

// Operators, their inputs by number and their shapes, without names and blocks, sources where they are first read.
inline std::vector<std::string> structure(const pcg::Graph& g) {
  std::vector<std::string> lines;
  std::vector<int> number(g.nodes().size(), -1);
  int next = 0;
  for (const pcg::GraphNode& n : g.nodes()) {
    if (std::holds_alternative<pcg::Weight>(n.op) || std::holds_alternative<pcg::Input>(n.op)) continue;
    std::string line(pcg::kind_name(n.op));
    for (const pcg::GraphTensorRef t : n.inputs) {
      if (number[t.node.value] < 0) {
        number[t.node.value] = next++;
        lines.push_back(fmt::format("{} {}", pcg::kind_name(g.node(t.node).op), pcg::to_text(g.shape(t))));
      }
      line += fmt::format(" {}:{}", number[t.node.value], t.output);
    }
    number[static_cast<std::size_t>(&n - g.nodes().data())] = next++;
    for (const pcg::TensorShape& s : n.outputs) line += " " + pcg::to_text(s);
    lines.push_back(line);
  }
  return lines;
}

// nn.Sequential(nn.Linear(784, 512, bias=False), nn.ReLU(), nn.Linear(512, 10, bias=False)): Gemm cannot be without C before opset 11.
inline OnnxModel mnist() {
  OnnxModel m;
  m.input("images", {"batch", 784});
  const std::string h = m.node("/0/Gemm", "Gemm", {"images", m.weight("0.weight", {512, 784})});
  m.with("transB", 1);
  m.node("/2/Gemm", "Gemm", {m.node("/1/Relu", "Relu", {h}), m.weight("2.weight", {10, 512})});
  m.with("transB", 1).ends("logits", {"batch", 10});
  return m;
}

// x [batch, c, 8, 8]: two convolutions with norms, a shortcut, a pool, a head.
inline OnnxModel residual() {
  OnnxModel m;
  m.input("x", {"n", 16, 8, 8});
  const auto conv = [&](const std::string& name, const std::string& x) {
    const std::string y = m.node("/" + name + "/Conv", "Conv", {x, m.weight(name + ".weight", {16, 16, 3, 3})});
    m.with("kernel_shape", Sizes{3, 3})
        .with("pads", Sizes{1, 1, 1, 1})
        .with("strides", Sizes{1, 1})
        .with("dilations", Sizes{1, 1})
        .with("group", 1);
    const std::string norm = name + ".norm";
    return m.node("/" + norm + "/BatchNormalization", "BatchNormalization",
                  {y, m.weight(norm + ".weight", {16}), m.weight(norm + ".bias", {16}), m.weight(norm + ".running_mean", {16}),
                   m.weight(norm + ".running_var", {16})});
  };
  const std::string a = m.node("/Relu", "Relu", {conv("conv1", "x")});
  const std::string sum = m.node("/Add", "Add", {conv("conv2", a), "x"});
  const std::string b = m.node("/Relu_1", "Relu", {sum});
  const std::string pooled = m.node("/pool/MaxPool", "MaxPool", {b});
  m.with("kernel_shape", Sizes{2, 2}).with("strides", Sizes{2, 2}).with("pads", Sizes{0, 0, 0, 0}).with("ceil_mode", 0);
  const std::string mean = m.node("/avg/GlobalAveragePool", "GlobalAveragePool", {pooled});
  const std::string flat = m.node("/Flatten", "Flatten", {mean});
  m.with("axis", 1);
  m.node("/fc/Gemm", "Gemm", {flat, m.weight("fc.weight", {10, 16}), m.weight("fc.bias", {10})});
  m.with("alpha", 1.0F).with("beta", 1.0F).with("transB", 1).ends();
  return m;
}

}  // namespace onnx_test
