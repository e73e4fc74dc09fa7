// Names of kinds and functions; what is plain of terms.

#include "substitutions/language/term.hpp"

#include <algorithm>
#include <map>

namespace substitutions {
namespace {

constexpr std::array<std::string_view, kKinds> kKindNames{
    "variable",  "linear",        "linear_bias", "batch_matmul",    "conv",        "conv_bias", "max_pool",   "average_pool", "add",
    "multiply",  "unary",         "dropout",     "scale",           "concat",      "split0",    "split1",     "transpose",    "sum",
    "enlarge",   "identity",      "ones",        "identity_kernel", "pool_kernel", "softmax",   "layer_norm", "rms_norm",     "batch_norm",
    "embedding", "embedding_bag", "attention",   "partition",       "combine",     "replicate", "reduce",     "summands"};
constexpr std::array<std::string_view, kFunctions> kFunctionNames{"none", "relu", "gelu", "tanh", "sigmoid", "silu"};

// Values of d, e and the number 2.
constexpr std::array<std::array<std::int64_t, 3>, kAssignments> kDegrees{{{2, 3, 2}, {3, 5, 2}, {5, 2, 2}}};

// Copies what an output needs of `from`, equal nodes once.
struct Rebuild {
  const Term& from;
  Term to;
  std::map<Node, std::uint8_t> seen;
  std::vector<std::optional<std::uint8_t>> moved;

  std::uint8_t append(Node n) {
    const auto [it, fresh] = seen.try_emplace(n, static_cast<std::uint8_t>(to.nodes.size()));
    if (fresh) to.nodes.push_back(std::move(n));
    return it->second;
  }
  std::uint8_t visit(std::uint8_t at) {
    if (moved[at]) return *moved[at];
    Node n = from.nodes[at];
    for (std::uint8_t& i : n.inputs) i = visit(i);
    return *(moved[at] = append(std::move(n)));
  }
};

void mark_used(const Term& t, std::uint8_t at, std::vector<bool>& used) {
  if (used[at]) return;
  used[at] = true;
  for (const std::uint8_t i : t.nodes[at].inputs) mark_used(t, i, used);
}

}  // namespace

std::string_view name_of(Kind k) { return kKindNames[static_cast<std::size_t>(k)]; }
std::string_view name_of(Function f) { return kFunctionNames[static_cast<std::size_t>(f)]; }
std::optional<Kind> kind_named(std::string_view name) {
  const auto it = std::ranges::find(kKindNames, name);
  if (it == kKindNames.end()) return std::nullopt;
  return static_cast<Kind>(it - kKindNames.begin());
}
std::size_t input_count(Kind k) {
  switch (k) {
    case Kind::variable:
    case Kind::identity:
    case Kind::ones:
    case Kind::identity_kernel:
    case Kind::pool_kernel: return 0;
    case Kind::linear_bias:
    case Kind::conv_bias:
    case Kind::layer_norm:
    case Kind::batch_norm: return 3;
    case Kind::linear:
    case Kind::batch_matmul:
    case Kind::conv:
    case Kind::add:
    case Kind::multiply:
    case Kind::scale:
    case Kind::concat:
    case Kind::rms_norm:
    case Kind::embedding:
    case Kind::embedding_bag:
    case Kind::summands: return 2;
    default: return 1;
  }
}
bool is_built_in(Function f) { return f != Function::silu; }
bool is_convolution(Kind k) { return k == Kind::conv || k == Kind::conv_bias; }
bool is_layout(Kind k) { return k >= Kind::partition; }

std::int64_t value(Degree d, int assignment) {
  std::int64_t v = 1;
  for (std::size_t s = 0; s < d.powers.size(); ++s)
    for (int i = 0; i < d.powers[s]; ++i) v *= kDegrees[static_cast<std::size_t>(assignment)][s];
  return v;
}

std::optional<Degree> degree_from(const Numbers& values) {
  Numbers rest = values;
  Degree d;
  for (std::size_t s = 0; s < d.powers.size(); ++s)
    for (; rest[1] > 0 && rest[1] % kDegrees[1][s] == 0; ++d.powers[s])  // in this assignment they are different primes
      for (std::size_t a = 0; a < rest.size(); ++a) {
        if (rest[a] % kDegrees[a][s] != 0) return std::nullopt;
        rest[a] /= kDegrees[a][s];
      }
  return rest == Numbers{1, 1, 1} ? std::optional(d) : std::nullopt;
}

Numbers dim_size(const Types& t, std::size_t dim) { return {t[0].size[dim], t[1].size[dim], t[2].size[dim]}; }

int Term::operators() const {
  return static_cast<int>(std::ranges::count_if(nodes, [](const Node& n) { return n.kind != Kind::variable; }));
}

Term canonical(const Term& t) {
  std::vector<bool> used(t.nodes.size());
  for (const std::uint8_t o : t.outputs) mark_used(t, o, used);
  std::map<std::uint8_t, Node> variables;
  for (std::size_t i = 0; i < t.nodes.size(); ++i)
    if (used[i] && t.nodes[i].kind == Kind::variable) variables.emplace(t.nodes[i].variable, t.nodes[i]);
  Rebuild rebuild{t, {}, {}, std::vector<std::optional<std::uint8_t>>(t.nodes.size())};
  for (auto& [number, node] : variables) rebuild.append(node);
  for (const std::uint8_t o : t.outputs) rebuild.to.outputs.push_back(rebuild.visit(o));
  return std::move(rebuild.to);
}

}  // namespace substitutions
