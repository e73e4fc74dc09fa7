// One operator as keys of a map, for graph and plan files. A key at its default is not written.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pcg/operators/operator_yaml.hpp"

namespace pcg {
namespace {

using base::MapReader;
using base::Yaml;

// --- names of choices, in the order of their enums ---
const std::vector<std::string> kActivations{"none", "relu", "gelu", "tanh", "sigmoid"};
const std::vector<std::string> kUnaryKinds{"relu", "gelu", "tanh", "sigmoid", "silu", "exp", "scale", "identity", "relu2"};
const std::vector<std::string> kBinaryKinds{"add", "subtract", "multiply"};
const std::vector<std::string> kPoolKinds{"max", "average"};
const std::vector<std::string> kReductionKinds{"sum", "mean"};
const std::vector<std::string> kElements{"real", "index"};

template <class Enum>
const std::string& name_of(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// --- writing ---
Yaml scalar(std::string text) { return Yaml::make_scalar(std::move(text)); }
template <class T>
Yaml sequence(const std::vector<T>& values) {
  Yaml y = Yaml::make_sequence();
  for (const T& v : values) y.items.push_back(scalar(fmt::format("{}", v)));
  return y;
}

class Writer {
 public:
  explicit Writer(Yaml& into) : into_(into) {}

  template <class T>
  void put(std::string_view key, const T& value) {
    into_.set(key, scalar(fmt::format("{}", value)));
  }
  template <class T>
  void unless(std::string_view key, const T& value, const T& usual) {
    if (value != usual) put(key, value);
  }
  void flag(std::string_view key, bool value) {
    if (value) put(key, true);
  }
  template <class T>
  void list(std::string_view key, const std::vector<T>& values) {
    into_.set(key, sequence(values));
  }
  void pair(std::string_view key, int a, int b, int usual) {
    if (a != usual || b != usual) list(key, std::vector<int>{a, b});
  }
  void windows(const Window& rows, const Window& columns) {
    pair("kernel", rows.kernel, columns.kernel, 1);
    pair("stride", rows.stride, columns.stride, 1);
    pair("padding", rows.padding, columns.padding, 0);
  }
  void activation(Activation a) {
    if (a != Activation::none) put("activation", name_of(kActivations, a));
  }
  void shape(const TensorShape& s) {
    list("shape", s.sizes);
    if (s.element != Element::real) put("element", name_of(kElements, s.element));
  }
  void parts(const std::vector<WeightPart>& parts) {
    Yaml all = Yaml::make_sequence();
    for (const WeightPart& p : parts) {
      Yaml one = Yaml::make_map();
      Writer part(one);
      part.put("weight", p.of);
      part.list("whole", p.whole);
      if (p.sizes != p.whole) {
        part.list("begin", p.begin);
        part.list("sizes", p.sizes);
      }
      all.items.push_back(std::move(one));
    }
    into_.set("parts", std::move(all));
  }

 private:
  Yaml& into_;
};

void write(const Input& o, Writer& w) { w.shape(o.shape); }
void write(const Weight& o, Writer& w) {
  w.shape(o.shape);
  w.flag("frozen", o.frozen);
  if (o.parts.empty()) return;
  w.parts(o.parts);
  w.unless("along", o.along, 0);
}
void write(const Linear& o, Writer& w) {
  w.put("out", o.out);
  w.flag("bias", o.has_bias);
  w.flag("transposed", o.transposed_weight);
  w.activation(o.activation);
}
void write(const BatchMatmul& o, Writer& w) { w.flag("transpose_b", o.transpose_b); }
void write(const Conv2d& o, Writer& w) {
  w.put("out", o.out);
  w.windows(o.rows, o.columns);
  w.unless("groups", o.groups, 1);
  w.flag("bias", o.has_bias);
  w.activation(o.activation);
}
void write(const Pool2d& o, Writer& w) {
  w.put("pool", name_of(kPoolKinds, o.kind));
  w.windows(o.rows, o.columns);
}
void write(const LayerNorm& o, Writer& w) { w.flag("rms", o.rms); }
void write(const BatchNorm&, Writer&) {}
void write(const Softmax& o, Writer& w) { w.unless("axis", o.axis, -1); }
void write(const Attention& o, Writer& w) {
  w.put("heads", o.heads);
  w.unless("kv_heads", o.kv_heads, o.heads);
  w.unless("packed", o.packed, true);
  w.flag("causal", o.causal);
  w.flag("flash", o.flash);
  w.flag("rope", o.rope);
  w.flag("bias", o.has_bias);
  w.unless("dropout", o.dropout, 0.0);
  w.flag("latent", o.latent);
  w.flag("qk_norm", o.qk_norm);
  w.flag("repeated_keys", o.repeated_keys);
  w.flag("sinks", o.sinks);
  w.unless("window", o.window, std::int64_t{0});
  w.flag("chunked", o.chunked);
}
void write(const StateSpace& o, Writer& w) {
  w.put("heads", o.heads);
  w.unless("groups", o.groups, std::int64_t{1});
  w.put("state", o.state);
  w.unless("kernel", o.kernel, StateSpace{}.kernel);
  w.unless("chunk", o.chunk, StateSpace{}.chunk);
}
void write(const Embedding& o, Writer& w) {
  w.put("vocabulary", o.vocabulary);
  w.put("width", o.width);
}
void write(const EmbeddingBag& o, Writer& w) {
  w.put("vocabulary", o.vocabulary);
  w.put("width", o.width);
}
void write(const Unary& o, Writer& w) {
  w.put("function", name_of(kUnaryKinds, o.kind));
  w.unless("factor", o.factor, 1.0);
}
void write(const Binary& o, Writer& w) { w.put("function", name_of(kBinaryKinds, o.kind)); }
void write(const Concat& o, Writer& w) { w.put("axis", o.axis); }
void write(const Split& o, Writer& w) {
  w.put("axis", o.axis);
  w.list("sizes", o.sizes);
}
void write(const Slice& o, Writer& w) {
  w.put("axis", o.axis);
  w.put("begin", o.begin);
  w.put("length", o.length);
}
void write(const Reshape& o, Writer& w) { w.list("sizes", o.sizes); }
void write(const Transpose& o, Writer& w) { w.list("permutation", o.permutation); }
void write(const Broadcast& o, Writer& w) {
  w.put("axis", o.axis);
  w.put("size", o.size);
}
void write(const Dropout& o, Writer& w) { w.put("rate", o.rate); }
void write(const Reduction& o, Writer& w) {
  w.put("function", name_of(kReductionKinds, o.kind));
  w.put("axis", o.axis);
}
void write(const CrossEntropy&, Writer&) {}
void write(const SquaredError&, Writer&) {}
void write(const Summands& o, Writer& w) {
  if (o.parts != Summands{}.parts) w.list("parts", o.parts);
}
template <class Routed>
void write_routing(const Routed& o, Writer& w) {
  w.put("top_k", o.top_k);
  w.unless("capacity_factor", o.capacity_factor, 1.0);
  w.unless("groups", o.groups, 1);
  w.unless("groups_per_token", o.groups_per_token, 1);
  w.unless("imbalance", o.imbalance, 1.0);
}
void write(const MoeDispatch& o, Writer& w) { write_routing(o, w); }
void write(const ExpertLinear& o, Writer& w) {
  w.put("out", o.out);
  w.activation(o.activation);
  w.flag("bias", o.has_bias);
}
void write(const MoeCombine& o, Writer& w) { write_routing(o, w); }

// --- reading ---
constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of one dim: far above any model, far below overflow
constexpr int kMostInt = 1 << 20;                      // of a kernel, stride, axis, ...

std::int64_t size_of(MapReader& r, std::string_view key) {
  r.require(key);
  return r.integer(key, 1, kMost).value_or(1);
}
int small(MapReader& r, std::string_view key, int least, int usual) {
  return static_cast<int>(r.integer(key, least, kMostInt).value_or(usual));
}
template <class Enum>
Enum choice(MapReader& r, std::string_view key, const std::vector<std::string>& names, Enum usual) {
  return static_cast<Enum>(r.choice(key, names).value_or(static_cast<std::size_t>(usual)));
}
Activation activation(MapReader& r) { return choice(r, "activation", kActivations, Activation::none); }

template <class T>
std::vector<T> list(MapReader& r, std::string_view key, std::int64_t least) {
  std::vector<T> result;
  const Yaml* y = r.optional(key);
  if (!y) return result;
  if (!y->is_sequence()) {
    r.complain(key, "expected a list of integers", "write e.g. [4, 512]");
    return result;
  }
  for (std::size_t i = 0; i < y->items.size(); ++i) {
    const std::optional<std::int64_t> value = base::as_integer(y->items[i], fmt::format("{}[{}]", r.path_of(key), i), r.sink());
    if (value && (*value < least || *value > kMost)) r.complain(key, fmt::format("{} is out of range", *value));
    result.push_back(static_cast<T>(value.value_or(1)));
  }
  return result;
}
// Two ints under one key: [h, w], or one number for both.
std::pair<int, int> pair(MapReader& r, std::string_view key, int least, int usual) {
  const Yaml* y = r.optional(key);
  if (!y) return {usual, usual};
  if (y->is_scalar()) {
    const int both = small(r, key, least, usual);
    return {both, both};
  }
  const std::vector<int> values = list<int>(r, key, least);
  if (values.size() == 2) return {values[0], values[1]};
  r.complain(key, fmt::format("has {} values, expected 2: height and width", values.size()));
  return {usual, usual};
}
// The windows over rows and columns; kernels of at least `least`.
std::pair<Window, Window> windows(MapReader& r, int least) {
  Window rows, columns;
  std::tie(rows.kernel, columns.kernel) = pair(r, "kernel", least, 1);
  std::tie(rows.stride, columns.stride) = pair(r, "stride", 1, 1);
  std::tie(rows.padding, columns.padding) = pair(r, "padding", 0, 0);
  return {rows, columns};
}
TensorShape shape(MapReader& r) {
  r.require("shape");
  TensorShape s;
  s.sizes = list<std::int64_t>(r, "shape", 1);
  s.element = choice(r, "element", kElements, Element::real);
  return s;
}

Input read(std::type_identity<Input>, MapReader& r) { return {shape(r)}; }
std::vector<WeightPart> parts(MapReader& r) {
  std::vector<WeightPart> result;
  const Yaml* y = r.optional("parts");
  if (y == nullptr) return result;
  if (!y->is_sequence() || y->items.empty())
    r.complain("parts", "expected a list of parts of weights", "write e.g. [{weight: w, whole: [512, 64]}]");
  for (std::size_t i = 0; i < y->items.size(); ++i) {
    MapReader part(y->items[i], fmt::format("{}[{}]", r.path_of("parts"), i), r.sink());
    part.require("weight");
    part.require("whole");
    WeightPart p{part.text("weight").value_or(""), list<std::int64_t>(part, "whole", 1), list<std::int64_t>(part, "begin", 0),
                 list<std::int64_t>(part, "sizes", 1)};
    if (!part.has("begin")) p.begin.assign(p.whole.size(), 0);
    if (!part.has("sizes")) p.sizes = p.whole;
    part.finish();
    result.push_back(std::move(p));
  }
  return result;
}
Weight read(std::type_identity<Weight>, MapReader& r) {
  return {shape(r), parts(r), small(r, "along", 0, 0), r.boolean("frozen").value_or(false)};
}
Linear read(std::type_identity<Linear>, MapReader& r) {
  return {size_of(r, "out"), r.boolean("bias").value_or(false), r.boolean("transposed").value_or(false), activation(r)};
}
BatchMatmul read(std::type_identity<BatchMatmul>, MapReader& r) { return {r.boolean("transpose_b").value_or(false)}; }
Conv2d read(std::type_identity<Conv2d>, MapReader& r) {
  Conv2d o;
  o.out = size_of(r, "out");
  std::tie(o.rows, o.columns) = windows(r, 1);
  o.groups = small(r, "groups", 1, 1);
  o.has_bias = r.boolean("bias").value_or(false);
  o.activation = activation(r);
  return o;
}
Pool2d read(std::type_identity<Pool2d>, MapReader& r) {
  Pool2d o;
  o.kind = choice(r, "pool", kPoolKinds, Pool2d::Kind::max);
  std::tie(o.rows, o.columns) = windows(r, 0);
  return o;
}
LayerNorm read(std::type_identity<LayerNorm>, MapReader& r) { return {r.boolean("rms").value_or(false)}; }
BatchNorm read(std::type_identity<BatchNorm>, MapReader&) { return {}; }
Softmax read(std::type_identity<Softmax>, MapReader& r) { return {small(r, "axis", -kMostInt, -1)}; }
Attention read(std::type_identity<Attention>, MapReader& r) {
  Attention o;
  o.heads = size_of(r, "heads");
  o.kv_heads = r.integer("kv_heads", 1, kMost).value_or(o.heads);
  o.packed = r.boolean("packed").value_or(true);
  o.causal = r.boolean("causal").value_or(false);
  o.flash = r.boolean("flash").value_or(false);
  o.rope = r.boolean("rope").value_or(false);
  o.has_bias = r.boolean("bias").value_or(false);
  o.dropout = r.number("dropout", 0, 1).value_or(0);
  o.latent = r.boolean("latent").value_or(false);
  o.qk_norm = r.boolean("qk_norm").value_or(false);
  o.repeated_keys = r.boolean("repeated_keys").value_or(false);
  o.sinks = r.boolean("sinks").value_or(false);
  o.window = r.integer("window", 0, kMost).value_or(0);
  o.chunked = r.boolean("chunked").value_or(false);
  return o;
}
StateSpace read(std::type_identity<StateSpace>, MapReader& r) {
  StateSpace o{.heads = size_of(r, "heads"), .state = size_of(r, "state")};
  o.groups = r.integer("groups", 1, kMost).value_or(o.groups);
  o.kernel = r.integer("kernel", 1, kMostInt).value_or(o.kernel);
  o.chunk = r.integer("chunk", 1, kMostInt).value_or(o.chunk);
  return o;
}
Embedding read(std::type_identity<Embedding>, MapReader& r) { return {size_of(r, "vocabulary"), size_of(r, "width")}; }
EmbeddingBag read(std::type_identity<EmbeddingBag>, MapReader& r) { return {size_of(r, "vocabulary"), size_of(r, "width")}; }
Unary read(std::type_identity<Unary>, MapReader& r) {
  r.require("function");
  return {choice(r, "function", kUnaryKinds, Unary::Kind::relu), r.number("factor").value_or(1)};
}
Binary read(std::type_identity<Binary>, MapReader& r) {
  r.require("function");
  return {choice(r, "function", kBinaryKinds, Binary::Kind::add)};
}
Concat read(std::type_identity<Concat>, MapReader& r) { return {small(r, "axis", -kMostInt, 0)}; }
Split read(std::type_identity<Split>, MapReader& r) {
  r.require("sizes");
  return {small(r, "axis", -kMostInt, 0), list<std::int64_t>(r, "sizes", 1)};
}
Slice read(std::type_identity<Slice>, MapReader& r) {
  return {small(r, "axis", -kMostInt, 0), r.integer("begin", 0, kMost).value_or(0), size_of(r, "length")};
}
Reshape read(std::type_identity<Reshape>, MapReader& r) {
  r.require("sizes");
  return {list<std::int64_t>(r, "sizes", -1)};
}
Transpose read(std::type_identity<Transpose>, MapReader& r) {
  r.require("permutation");
  return {list<int>(r, "permutation", 0)};
}
Broadcast read(std::type_identity<Broadcast>, MapReader& r) { return {small(r, "axis", -kMostInt, 0), size_of(r, "size")}; }
Dropout read(std::type_identity<Dropout>, MapReader& r) {
  r.require("rate");
  return {r.number("rate", 0, 1).value_or(0)};
}
Reduction read(std::type_identity<Reduction>, MapReader& r) {
  r.require("function");
  return {choice(r, "function", kReductionKinds, Reduction::Kind::sum), small(r, "axis", -kMostInt, 0)};
}
CrossEntropy read(std::type_identity<CrossEntropy>, MapReader&) { return {}; }
SquaredError read(std::type_identity<SquaredError>, MapReader&) { return {}; }
Summands read(std::type_identity<Summands>, MapReader& r) { return r.has("parts") ? Summands{list<int>(r, "parts", 1)} : Summands{}; }
template <class Routed>
Routed read_routing(MapReader& r) {
  return {small(r, "top_k", 1, 2), r.number("capacity_factor", 0).value_or(1), small(r, "groups", 1, 1), small(r, "groups_per_token", 1, 1),
          r.number("imbalance", 1).value_or(1)};
}
MoeDispatch read(std::type_identity<MoeDispatch>, MapReader& r) { return read_routing<MoeDispatch>(r); }
ExpertLinear read(std::type_identity<ExpertLinear>, MapReader& r) {
  return {size_of(r, "out"), activation(r), r.boolean("bias").value_or(false)};
}
MoeCombine read(std::type_identity<MoeCombine>, MapReader& r) { return read_routing<MoeCombine>(r); }

// The alternatives of Operator in order: how each is read.
template <std::size_t... I>
Operator read_alternative(std::size_t index, MapReader& r, std::index_sequence<I...>) {
  Operator result;
  ((index == I ? void(result = read(std::type_identity<std::variant_alternative_t<I, Operator>>{}, r)) : void()), ...);
  return result;
}
using Alternatives = std::make_index_sequence<std::variant_size_v<Operator>>;

}  // namespace

void write_operator(const Operator& op, Yaml& into) {
  into.set("op", scalar(std::string(kind_name(op))));
  Writer writer(into);
  std::visit([&](const auto& o) { write(o, writer); }, op);
}

Operator read_operator(MapReader& reader) {
  reader.require("op");
  const std::optional<std::size_t> index = reader.choice("op", operator_kind_names());
  if (!index) {
    for (const Yaml::Entry& e : reader.node().entries) (void)reader.optional(e.key);  // which keys it should have is not known
    return Unary{.kind = Unary::Kind::identity};
  }
  return read_alternative(*index, reader, Alternatives{});
}

}  // namespace pcg
