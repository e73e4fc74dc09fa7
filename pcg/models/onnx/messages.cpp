#include "pcg/models/onnx/model.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "base/files/used_files.hpp"

namespace pcg::models::onnx {
namespace {

using base::Refusal;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::FileInputStream;

constexpr std::int64_t kMostElements = std::int64_t{1} << 60;  // as of a tensor of ours
// The numbers of small tensors are kept (constants of formulas), and those of masks; of weights they are not needed.
constexpr std::int64_t kSmall = 4096;

struct Damaged {
  std::string why;
};

double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

struct ElementType {
  Element element = Element::other;
  std::size_t bytes = 0;  // of raw data; 0: not read
};
ElementType element_type(std::int32_t type) {
  using T = ::onnx::TensorProto;
  switch (type) {
    case T::FLOAT: return {Element::real, 4};
    case T::DOUBLE: return {Element::real, 8};
    case T::FLOAT16:
    case T::BFLOAT16: return {Element::real, 2};
    case T::INT8:
    case T::UINT8: return {Element::integer, 1};
    case T::INT16:
    case T::UINT16: return {Element::integer, 2};
    case T::INT32:
    case T::UINT32: return {Element::integer, 4};
    case T::INT64:
    case T::UINT64: return {Element::integer, 8};
    case T::BOOL: return {Element::boolean, 1};
    case 17:  // the four of 8 bits, since IR version 9
    case 18:
    case 19:
    case 20: return {Element::real, 0};
    default: return {};
  }
}

template <class T>
T raw_at(const std::string& raw, std::size_t i) {
  T value;
  std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Number i of a tensor. Those that are not in raw_data lie in a field of their type.
double real_at(const ::onnx::TensorProto& t, std::size_t i) {
  using T = ::onnx::TensorProto;
  const auto at = static_cast<int>(i);
  const bool is_raw = t.has_raw_data();
  if (t.data_type() == T::FLOAT) return is_raw ? raw_at<float>(t.raw_data(), i) : t.float_data(at);
  if (t.data_type() == T::DOUBLE) return is_raw ? raw_at<double>(t.raw_data(), i) : t.double_data(at);
  const auto bits = is_raw ? raw_at<std::uint16_t>(t.raw_data(), i) : static_cast<std::uint16_t>(t.int32_data(at));
  return t.data_type() == T::FLOAT16 ? from_half(bits) : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);  // bfloat16
}
std::int64_t integer_at(const ::onnx::TensorProto& t, std::size_t i) {
  using T = ::onnx::TensorProto;
  const auto at = static_cast<int>(i);
  const bool is_raw = t.has_raw_data();
  switch (t.data_type()) {
    case T::INT64: return is_raw ? raw_at<std::int64_t>(t.raw_data(), i) : t.int64_data(at);
    case T::UINT64: return is_raw ? raw_at<std::int64_t>(t.raw_data(), i) : static_cast<std::int64_t>(t.uint64_data(at));
    case T::UINT32: return is_raw ? raw_at<std::uint32_t>(t.raw_data(), i) : static_cast<std::int64_t>(t.uint64_data(at));
    case T::INT32: return is_raw ? raw_at<std::int32_t>(t.raw_data(), i) : t.int32_data(at);
    case T::INT16: return is_raw ? raw_at<std::int16_t>(t.raw_data(), i) : t.int32_data(at);
    case T::UINT16: return is_raw ? raw_at<std::uint16_t>(t.raw_data(), i) : t.int32_data(at);
    case T::INT8: return is_raw ? raw_at<std::int8_t>(t.raw_data(), i) : t.int32_data(at);
    default: return is_raw ? raw_at<std::uint8_t>(t.raw_data(), i) : t.int32_data(at);
  }
}
// Only that field counts: a damaged tensor may have numbers in others.
int field_count(const ::onnx::TensorProto& t) {
  using T = ::onnx::TensorProto;
  switch (t.data_type()) {
    case T::FLOAT: return t.float_data_size();
    case T::DOUBLE: return t.double_data_size();
    case T::INT64: return t.int64_data_size();
    case T::UINT32:
    case T::UINT64: return t.uint64_data_size();
    default: return t.int32_data_size();
  }
}

// A mask of scores: square, and what is to the right of the first place is shut; or a triangle of ones, which such masks are made of.
bool looks_like_mask(const std::vector<std::int64_t>& sizes, const std::function<double(std::size_t)>& at) {
  if (sizes.size() < 2 || sizes.back() != sizes[sizes.size() - 2] || sizes.back() < 2) return false;
  const auto size = static_cast<std::size_t>(sizes.back());
  for (std::size_t d = 0; d + 2 < sizes.size(); ++d)
    if (sizes[d] != 1) return false;
  if (at(0) == 0 && at(1) <= -1e4) return true;
  for (std::size_t i = 0; i < size * size; ++i)
    if (at(i) != (i % size <= i / size ? 1 : 0)) return false;
  return true;
}

Tensor tensor_of(const ::onnx::TensorProto& t, const std::string& name) {
  const ElementType type = element_type(t.data_type());
  Tensor result{.element = type.element};
  std::int64_t count = 1;
  for (const std::int64_t size : t.dims()) {
    if (size < 0 || (size > 0 && count > kMostElements / size)) throw Damaged{fmt::format("tensor \"{}\" has a size of {}", name, size)};
    result.sizes.push_back(size);
    count *= size;
  }
  if (t.data_location() == ::onnx::TensorProto::EXTERNAL || type.bytes == 0 || count > kMostNumbers) return result;
  const auto elements = static_cast<std::size_t>(count);
  const bool is_raw = t.has_raw_data();
  const std::size_t found = is_raw ? t.raw_data().size() / type.bytes : static_cast<std::size_t>(field_count(t));
  if (found != elements || (is_raw && t.raw_data().size() % type.bytes != 0))
    throw Damaged{fmt::format("tensor \"{}\" has {} numbers, its sizes ask for {}", name, found, elements)};
  if (type.element == Element::real) {
    const auto at = [&](std::size_t i) { return real_at(t, i); };
    if (count > kSmall && !looks_like_mask(result.sizes, at)) return result;
    result.reals.emplace(elements);
    for (std::size_t i = 0; i < elements; ++i) (*result.reals)[i] = at(i);
  } else {
    result.integers.emplace(elements);
    for (std::size_t i = 0; i < elements; ++i) (*result.integers)[i] = integer_at(t, i);
  }
  return result;
}

Attribute attribute_of(const ::onnx::AttributeProto& a) {
  using T = ::onnx::AttributeProto;
  switch (a.type()) {
    case T::INT: return a.i();
    case T::FLOAT: return static_cast<double>(a.f());
    case T::STRING: return a.s();
    case T::INTS: return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case T::FLOATS: return std::vector<double>(a.floats().begin(), a.floats().end());
    case T::TENSOR: return tensor_of(a.t(), a.name());
    default: return OtherAttribute{};
  }
}

Value value_of(const ::onnx::ValueInfoProto& v) {
  Value result{.name = v.name(), .element = Element::other};
  if (!v.type().has_tensor_type()) return result;
  const ::onnx::TypeProto::Tensor& type = v.type().tensor_type();
  result.element = element_type(type.elem_type()).element;
  if (!type.has_shape()) return result;
  result.sizes.emplace();
  for (const auto& d : type.shape().dim()) {
    if (d.has_dim_value()) result.sizes->emplace_back(std::int64_t{d.dim_value()});
    else result.sizes->emplace_back(d.dim_param());
  }
  return result;
}

Node node_of(const ::onnx::NodeProto& n) {
  const bool own = n.domain().empty() || n.domain() == "ai.onnx";
  Node result{.name = n.name(), .type = own ? n.op_type() : n.domain() + "." + n.op_type()};
  result.inputs.assign(n.input().begin(), n.input().end());
  result.outputs.assign(n.output().begin(), n.output().end());
  for (const ::onnx::AttributeProto& a : n.attribute()) result.attributes.emplace(a.name(), attribute_of(a));
  return result;
}

Model model_of(const ::onnx::ModelProto& m) {
  Model result{.name = m.graph().name()};
  for (const auto& set : m.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") result.opset = set.version();
  std::set<std::string> made;  // values so far
  for (const ::onnx::TensorProto& t : m.graph().initializer()) {
    Tensor tensor = tensor_of(t, t.name());
    const auto at = [&](std::size_t i) { return (*tensor.reals)[i]; };
    tensor.trained = tensor.element == Element::real && tensor.count() > 1 && !(tensor.reals && looks_like_mask(tensor.sizes, at));
    result.initializers.emplace(t.name(), std::move(tensor));
    made.insert(t.name());
  }
  if (m.graph().sparse_initializer_size() > 0) throw Damaged{"it has sparse initializers, which are not read; write them dense"};
  for (const ::onnx::ValueInfoProto& v : m.graph().input())
    if (made.insert(v.name()).second) result.inputs.push_back(value_of(v));
  for (const ::onnx::ValueInfoProto& v : m.graph().output()) result.outputs.push_back(value_of(v));
  for (const ::onnx::NodeProto& n : m.graph().node()) {
    result.nodes.push_back(node_of(n));
    for (const std::string& input : result.nodes.back().inputs)
      if (!input.empty() && !made.contains(input))
        throw Damaged{fmt::format("{} reads \"{}\", which nothing before it makes", called(result.nodes.back()), input)};
    for (const std::string& output : result.nodes.back().outputs)
      if (!output.empty() && !made.insert(output).second)
        throw Damaged{fmt::format("{} makes \"{}\", which is there already", called(result.nodes.back()), output)};
  }
  for (const Value& v : result.outputs)
    if (!made.contains(v.name)) throw Damaged{fmt::format("the output \"{}\" is made by nothing", v.name)};
  return result;
}

// Whether these bytes are numbers of a weight that nothing here looks at: too many for a formula, and no square, which may be a mask.
bool is_only_weight(const ElementType& type, const std::vector<std::int64_t>& sizes, std::uint32_t bytes) {
  constexpr std::uint32_t kKept = 1 << 20;
  if (bytes <= kKept || type.element != Element::real || std::ranges::any_of(sizes, [](std::int64_t s) { return s < 1; })) return false;
  const std::int64_t count = Tensor{.sizes = sizes}.count();
  const bool square = sizes.size() > 1 && sizes.back() == sizes[sizes.size() - 2] && count == sizes.back() * sizes.back();
  return !square && static_cast<double>(count) * static_cast<double>(type.bytes) == bytes;
}

// Copies a message of a model (depth 0), its graph (1) or a tensor of it (2), but for numbers of weights: such a tensor becomes one whose
// numbers lie elsewhere. false: it does not parse.
bool copy_thin(CodedInputStream& in, int depth, std::string& out) {
  constexpr std::uint32_t kInner[] = {7, 5, 0}, kDims = 1, kType = 2, kFloats = 4, kRaw = 9, kLocation = 14;
  const bool tensor = depth == 2;
  ElementType type;
  std::vector<std::int64_t> sizes;
  const auto put = [&](std::uint64_t v) {
    for (; v > 127; v >>= 7) out += static_cast<char>((v & 127) | 128);
    out += static_cast<char>(v);
  };
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3;
    if (field == 0) return false;  // no message has such a field
    std::uint64_t value = 0;
    std::uint32_t length = 0;
    std::string inner;
    switch (tag & 7) {
      case 0:
        if (!in.ReadVarint64(&value)) return false;
        if (tensor && field == kDims) sizes.push_back(static_cast<std::int64_t>(value));
        if (tensor && field == kType) type = element_type(static_cast<std::int32_t>(value));
        put(tag);
        put(value);
        break;
      case 2:
        if (!in.ReadVarint32(&length) || length > INT_MAX) return false;
        if (tensor && (field == kFloats || field == kRaw) && is_only_weight(type, sizes, length)) {
          if (!in.Skip(static_cast<int>(length))) return false;
          put(kLocation << 3);
          put(::onnx::TensorProto::EXTERNAL);
          break;
        }
        if (field == kInner[depth]) {
          const auto limit = in.PushLimit(static_cast<int>(length));
          if (!copy_thin(in, depth + 1, inner) || in.BytesUntilLimit() != 0) return false;
          in.PopLimit(limit);
        } else if (!in.ReadString(&inner, static_cast<int>(length))) return false;
        put(tag);
        put(inner.size());
        out += inner;
        break;
      case 1:
      case 5:
        put(tag);
        if (!in.ReadString(&inner, (tag & 7) == 1 ? 8 : 4)) return false;
        out += inner;
        break;
      default: return false;
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

base::Attempt<Model> read_messages(const std::filesystem::path& file) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  if (failed) return Refusal{"cannot be read: " + failed.message()};
  if (bytes > INT_MAX)
    return Refusal{fmt::format("has {:.1f} GiB, a protobuf message has 2 GiB at most: save its weights as external data",
                               static_cast<double>(bytes) / (1 << 30))};
  base::note_input(file);
  FileInputStream file_bytes(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  file_bytes.SetCloseOnDelete(true);
  CodedInputStream in(&file_bytes);
  std::string thin;
  ::onnx::ModelProto message;
  if (!copy_thin(in, 0, thin) || !message.ParseFromString(thin))
    return Refusal{"is no ONNX model, or a damaged one: its messages do not parse"};
  if (!message.has_graph() || message.graph().node_size() == 0) return Refusal{"is no ONNX model: it has no graph of nodes"};
  try {
    return model_of(message);
  } catch (const Damaged& d) { return Refusal{d.why}; }
}

}  // namespace pcg::models::onnx
