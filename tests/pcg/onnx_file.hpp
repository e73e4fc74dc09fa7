#pragma once
// ONNX models for tests, made message by message.

#include <fmt/core.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace test {

// A file that goes with the object.
struct OnnxFile {
  std::filesystem::path path;
  explicit OnnxFile(const std::string& bytes, const std::string& name = "model") {
    static int number = 0;
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("foreshard-onnx-{}-{}", ::getpid(), number++);
    std::filesystem::create_directories(folder);
    path = folder / (name + ".onnx");
    std::ofstream(path, std::ios::binary) << bytes;
  }
  OnnxFile(const OnnxFile&) = delete;
  OnnxFile& operator=(const OnnxFile&) = delete;
  ~OnnxFile() { std::filesystem::remove_all(path.parent_path()); }
};

using OnnxSize = std::variant<std::int64_t, std::string>;

class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t opset = 17) {
    message_.set_ir_version(8);
    message_.add_opset_import()->set_version(opset);
    message_.mutable_graph()->set_name("main_graph");
  }

  void input(const std::string& name, const std::vector<OnnxSize>& sizes, int type = onnx::TensorProto::FLOAT) {
    value(*message_.mutable_graph()->add_input(), name, sizes, type);
  }
  void output(const std::string& name, const std::vector<OnnxSize>& sizes = {}) {
    value(*message_.mutable_graph()->add_output(), name, sizes, onnx::TensorProto::FLOAT);
  }
  // A trained weight: its numbers lie in another file, as nothing here looks at them.
  std::string weight(const std::string& name, const std::vector<std::int64_t>& sizes) {
    onnx::TensorProto& t = *message_.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t s : sizes) t.add_dims(s);
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    return name;
  }
  std::string integers(const std::string& name, const std::vector<std::int64_t>& numbers, bool scalar = false) {
    onnx::TensorProto& t = *message_.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(onnx::TensorProto::INT64);
    if (!scalar) t.add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t n : numbers) t.add_int64_data(n);
    return name;
  }
  std::string real(const std::string& name, float number) { return reals(name, {}, {number}); }
  std::string reals(const std::string& name, const std::vector<std::int64_t>& sizes, const std::vector<float>& numbers) {
    onnx::TensorProto& t = *message_.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t s : sizes) t.add_dims(s);
    std::string raw(numbers.size() * sizeof(float), '\0');
    std::memcpy(raw.data(), numbers.data(), raw.size());
    t.set_raw_data(raw);
    return name;
  }
  // Returns the node's first output, which is called NAME_output_0 as PyTorch has it.
  std::string node(const std::string& name, const std::string& type, const std::vector<std::string>& inputs, int outputs = 1) {
    onnx::NodeProto& n = *message_.mutable_graph()->add_node();
    n.set_name(name);
    n.set_op_type(type);
    for (const std::string& i : inputs) n.add_input(i);
    for (int o = 0; o < outputs; ++o) n.add_output(fmt::format("{}_output_{}", name, o));
    return n.output(0);
  }
  // Attributes of the node that was added last.
  OnnxModel& with(const std::string& key, int number) {
    onnx::AttributeProto& a = attribute(key, onnx::AttributeProto::INT);
    a.set_i(number);
    return *this;
  }
  OnnxModel& with(const std::string& key, float number) {
    onnx::AttributeProto& a = attribute(key, onnx::AttributeProto::FLOAT);
    a.set_f(number);
    return *this;
  }
  OnnxModel& with(const std::string& key, const std::vector<std::int64_t>& numbers) {
    onnx::AttributeProto& a = attribute(key, onnx::AttributeProto::INTS);
    for (const std::int64_t n : numbers) a.add_ints(n);
    return *this;
  }
  // The last node makes the output of this name.
  void ends(const std::string& name = "y", const std::vector<OnnxSize>& sizes = {}) {
    onnx::GraphProto& g = *message_.mutable_graph();
    g.mutable_node(g.node_size() - 1)->set_output(0, name);
    output(name, sizes);
  }

  [[nodiscard]] onnx::ModelProto& message() { return message_; }
  [[nodiscard]] std::string bytes() const { return message_.SerializeAsString(); }

 private:
  onnx::AttributeProto& attribute(const std::string& key, onnx::AttributeProto::AttributeType type) {
    onnx::GraphProto& g = *message_.mutable_graph();
    onnx::AttributeProto& a = *g.mutable_node(g.node_size() - 1)->add_attribute();
    a.set_name(key);
    a.set_type(type);
    return a;
  }
  static void value(onnx::ValueInfoProto& v, const std::string& name, const std::vector<OnnxSize>& sizes, int type) {
    v.set_name(name);
    onnx::TypeProto::Tensor& t = *v.mutable_type()->mutable_tensor_type();
    t.set_elem_type(type);
    onnx::TensorShapeProto& shape = *t.mutable_shape();
    for (const OnnxSize& s : sizes) {
      if (const auto* fixed = std::get_if<std::int64_t>(&s)) shape.add_dim()->set_dim_value(*fixed);
      else shape.add_dim()->set_dim_param(std::get<std::string>(s));
    }
  }

  onnx::ModelProto message_;
};

}  // namespace test
