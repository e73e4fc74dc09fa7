// One operator as keys of a map, for graph and plan files. A key at its default is not written.

#include <boost/mp11/algorithm.hpp>

#include <fmt/core.h>

#include <optional>
#include <string>
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

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of one dim: far above any model, far below overflow
constexpr int kMostInt = 1 << 20;                      // of a kernel, stride, axis, ...

// FieldWriter and FieldReader have the same methods: the fields of an operator are listed once for both. A field with a usual value is
// written where it has another, and read as that where it is absent; one without is written always.
class FieldWriter {
 public:
  explicit FieldWriter(Yaml& into) : into_(into) {}

  void require(std::string_view) {}
  void size(std::string_view key, std::int64_t value) { put(key, value); }
  template <class T>
  void whole(std::string_view key, T value, std::int64_t, std::optional<std::type_identity_t<T>> usual = {}, std::int64_t = kMost) {
    if (value != usual) put(key, value);
  }
  void real(std::string_view key, double value, double, double, std::optional<double> usual = {}) {
    if (value != usual) put(key, value);
  }
  void flag(std::string_view key, bool value, bool usual = false) {
    if (value != usual) put(key, value);
  }
  template <class Enum>
  void choice(std::string_view key, const std::vector<std::string>& names, Enum value,
              std::optional<std::type_identity_t<Enum>> usual = {}) {
    if (value != usual) put(key, names[static_cast<std::size_t>(value)]);
  }
  template <class T>
  void list(std::string_view key, const std::vector<T>& values, std::int64_t) {
    Yaml y = Yaml::make_sequence();
    for (const T& v : values) y.items.push_back(Yaml::make_scalar(fmt::format("{}", v)));
    into_.set(key, std::move(y));
  }
  void pair(std::string_view key, int a, int b, int, int usual) {
    if (a != usual || b != usual) list(key, std::vector<int>{a, b}, 0);
  }
  void parts(const std::vector<WeightPart>& parts) {
    Yaml all = Yaml::make_sequence();
    for (const WeightPart& p : parts) {
      FieldWriter part(all.items.emplace_back(Yaml::make_map()));
      part.put("weight", p.of);
      part.list("whole", p.whole, 1);
      if (p.sizes == p.whole) continue;
      part.list("begin", p.begin, 0);
      part.list("sizes", p.sizes, 1);
    }
    into_.set("parts", std::move(all));
  }

 private:
  template <class T>
  void put(std::string_view key, const T& value) {
    into_.set(key, Yaml::make_scalar(fmt::format("{}", value)));
  }

  Yaml& into_;
};

// Values come in as the operator has them by default.
class FieldReader {
 public:
  explicit FieldReader(MapReader& r) : r_(r) {}

  void require(std::string_view key) { r_.require(key); }
  [[nodiscard]] bool has(std::string_view key) const { return r_.has(key); }
  void size(std::string_view key, std::int64_t& value) {
    r_.require(key);
    value = r_.integer(key, 1, kMost).value_or(1);
  }
  template <class T>
  void whole(std::string_view key, T& value, std::int64_t least, std::optional<std::type_identity_t<T>> usual = {},
             std::int64_t most = kMost) {
    if (std::is_same_v<T, int>) most = kMostInt;
    value = static_cast<T>(r_.integer(key, least, most).value_or(usual.value_or(value)));
  }
  void real(std::string_view key, double& value, double least, double most, std::optional<double> usual = {}) {
    value = r_.number(key, least, most).value_or(usual.value_or(value));
  }
  void flag(std::string_view key, bool& value, bool usual = false) { value = r_.boolean(key).value_or(usual); }
  template <class Enum>
  void choice(std::string_view key, const std::vector<std::string>& names, Enum& value,
              std::optional<std::type_identity_t<Enum>> usual = {}) {
    value = static_cast<Enum>(r_.choice(key, names).value_or(static_cast<std::size_t>(usual.value_or(value))));
  }
  template <class T>
  void list(std::string_view key, std::vector<T>& values, std::int64_t least) {
    values.clear();
    const Yaml* y = r_.optional(key);
    if (!y) return;
    if (!y->is_sequence()) return r_.complain(key, "expected a list of integers", "write e.g. [4, 512]");
    for (std::size_t i = 0; i < y->items.size(); ++i) {
      const std::optional<std::int64_t> value = base::as_integer(y->items[i], fmt::format("{}[{}]", r_.path_of(key), i), r_.sink());
      if (value && (*value < least || *value > kMost)) r_.complain(key, fmt::format("{} is out of range", *value));
      values.push_back(static_cast<T>(value.value_or(1)));
    }
  }
  // Two ints under one key: [h, w], or one number for both.
  void pair(std::string_view key, int& a, int& b, int least, int usual) {
    a = b = usual;
    const Yaml* y = r_.optional(key);
    if (!y) return;
    std::vector<int> values;
    if (y->is_scalar()) {
      whole(key, a, least);
      values = {a, a};
    } else {
      list(key, values, least);
    }
    if (values.size() != 2) return r_.complain(key, fmt::format("has {} values, expected 2: height and width", values.size()));
    a = values[0];
    b = values[1];
  }
  void parts(std::vector<WeightPart>& parts) {
    const Yaml* y = r_.optional("parts");
    if (y == nullptr) return;
    if (!y->is_sequence() || y->items.empty())
      r_.complain("parts", "expected a list of parts of weights", "write e.g. [{weight: w, whole: [512, 64]}]");
    for (std::size_t i = 0; i < y->items.size(); ++i) {
      MapReader r(y->items[i], fmt::format("{}[{}]", r_.path_of("parts"), i), r_.sink());
      FieldReader part(r);
      part.require("weight");
      part.require("whole");
      WeightPart& p = parts.emplace_back(WeightPart{.of = r.text("weight").value_or("")});
      part.list("whole", p.whole, 1);
      part.list("begin", p.begin, 0);
      part.list("sizes", p.sizes, 1);
      if (!r.has("begin")) p.begin.assign(p.whole.size(), 0);
      if (!r.has("sizes")) p.sizes = p.whole;
      r.finish();
    }
  }

 private:
  MapReader& r_;
};

// --- the fields of each operator, in the order in which they are written ---
void shape(TensorShape& s, auto& f) {
  f.require("shape");
  f.list("shape", s.sizes, 1);
  f.choice("element", kElements, s.element, Element::real);
}
void windows(Window& rows, Window& columns, int least, auto& f) {
  f.pair("kernel", rows.kernel, columns.kernel, least, 1);
  f.pair("stride", rows.stride, columns.stride, 1, 1);
  f.pair("padding", rows.padding, columns.padding, 0, 0);
}
void activation(Activation& a, auto& f) { f.choice("activation", kActivations, a, Activation::none); }
void axis(int& axis, auto& f, std::optional<int> usual = {}) { f.whole("axis", axis, -kMostInt, usual); }

void fields(Input& o, auto& f) { shape(o.shape, f); }
void fields(Weight& o, FieldWriter& f) {
  shape(o.shape, f);
  f.flag("frozen", o.frozen);
  if (o.parts.empty()) return;
  f.parts(o.parts);
  f.whole("along", o.along, 0, 0);
}
void fields(Weight& o, FieldReader& f) {
  shape(o.shape, f);
  f.parts(o.parts);
  f.whole("along", o.along, 0);
  f.flag("frozen", o.frozen);
}
void fields(Linear& o, auto& f) {
  f.size("out", o.out);
  f.flag("bias", o.has_bias);
  f.flag("transposed", o.transposed_weight);
  activation(o.activation, f);
}
void fields(BatchMatmul& o, auto& f) { f.flag("transpose_b", o.transpose_b); }
void fields(Conv2d& o, auto& f) {
  f.size("out", o.out);
  windows(o.rows, o.columns, 1, f);
  f.whole("groups", o.groups, 1, 1);
  f.flag("bias", o.has_bias);
  activation(o.activation, f);
}
void fields(Pool2d& o, auto& f) {
  f.choice("pool", kPoolKinds, o.kind);
  windows(o.rows, o.columns, 0, f);
}
void fields(LayerNorm& o, auto& f) { f.flag("rms", o.rms); }
void fields(BatchNorm&, auto&) {}
void fields(Softmax& o, auto& f) { axis(o.axis, f, -1); }
void fields(Attention& o, auto& f) {
  f.size("heads", o.heads);
  f.whole("kv_heads", o.kv_heads, 1, o.heads);
  f.flag("packed", o.packed, true);
  f.flag("causal", o.causal);
  f.flag("flash", o.flash);
  f.flag("rope", o.rope);
  f.flag("bias", o.has_bias);
  f.real("dropout", o.dropout, 0, 1, 0);
  f.flag("latent", o.latent);
  f.flag("qk_norm", o.qk_norm);
  f.flag("repeated_keys", o.repeated_keys);
  f.flag("sinks", o.sinks);
  f.whole("window", o.window, 0, 0);
  f.flag("chunked", o.chunked);
}
void fields(StateSpace& o, auto& f) {
  f.size("heads", o.heads);
  f.require("state");
  f.whole("groups", o.groups, 1, StateSpace{}.groups);
  f.size("state", o.state);
  f.whole("kernel", o.kernel, 1, StateSpace{}.kernel, kMostInt);
  f.whole("chunk", o.chunk, 1, StateSpace{}.chunk, kMostInt);
}
void table(auto& o, auto& f) {
  f.size("vocabulary", o.vocabulary);
  f.size("width", o.width);
}
void fields(Embedding& o, auto& f) { table(o, f); }
void fields(EmbeddingBag& o, auto& f) { table(o, f); }
void fields(Unary& o, auto& f) {
  f.require("function");
  f.choice("function", kUnaryKinds, o.kind);
  f.real("factor", o.factor, -1e308, 1e308, 1);
}
void fields(Binary& o, auto& f) {
  f.require("function");
  f.choice("function", kBinaryKinds, o.kind);
}
void fields(Concat& o, auto& f) { axis(o.axis, f); }
void fields(Split& o, auto& f) {
  f.require("sizes");
  axis(o.axis, f);
  f.list("sizes", o.sizes, 1);
}
void fields(Slice& o, auto& f) {
  axis(o.axis, f);
  f.whole("begin", o.begin, 0);
  f.size("length", o.length);
}
void fields(Reshape& o, auto& f) {
  f.require("sizes");
  f.list("sizes", o.sizes, -1);
}
void fields(Transpose& o, auto& f) {
  f.require("permutation");
  f.list("permutation", o.permutation, 0);
}
void fields(Broadcast& o, auto& f) {
  axis(o.axis, f);
  f.size("size", o.size);
}
void fields(Dropout& o, auto& f) {
  f.require("rate");
  f.real("rate", o.rate, 0, 1);
}
void fields(Reduction& o, auto& f) {
  f.require("function");
  f.choice("function", kReductionKinds, o.kind);
  axis(o.axis, f);
}
void fields(CrossEntropy&, auto&) {}
void fields(SquaredError&, auto&) {}
void fields(Summands& o, FieldWriter& f) {
  if (o.parts != Summands{}.parts) f.list("parts", o.parts, 1);
}
void fields(Summands& o, FieldReader& f) {
  if (f.has("parts")) f.list("parts", o.parts, 1);
}
void routing(auto& o, auto& f) {
  f.whole("top_k", o.top_k, 1);
  f.real("capacity_factor", o.capacity_factor, 0, 1e308, 1);
  f.whole("groups", o.groups, 1, 1);
  f.whole("groups_per_token", o.groups_per_token, 1, 1);
  f.real("imbalance", o.imbalance, 1, 1e308, 1);
}
void fields(MoeDispatch& o, auto& f) { routing(o, f); }
void fields(ExpertLinear& o, auto& f) {
  f.size("out", o.out);
  activation(o.activation, f);
  f.flag("bias", o.has_bias);
}
void fields(MoeCombine& o, auto& f) { routing(o, f); }

}  // namespace

void write_operator(const Operator& op, Yaml& into) {
  into.set("op", Yaml::make_scalar(std::string(kind_name(op))));
  FieldWriter writer(into);
  std::visit([&](auto o) { fields(o, writer); }, op);
}

Operator read_operator(MapReader& reader) {
  reader.require("op");
  const std::optional<std::size_t> index = reader.choice("op", operator_kind_names());
  if (!index) {
    for (const Yaml::Entry& e : reader.node().entries) (void)reader.optional(e.key);  // which keys it should have is not known
    return Unary{.kind = Unary::Kind::identity};
  }
  Operator op;
  boost::mp11::mp_with_index<std::variant_size_v<Operator>>(*index, [&](auto number) { op.emplace<number>(); });
  FieldReader fields_of(reader);
  std::visit([&](auto& o) { fields(o, fields_of); }, op);
  return op;
}

}  // namespace pcg
