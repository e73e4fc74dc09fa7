// Two sides are equal at a shape iff their outputs have one layout and, block by block and copy by copy, the same value, where summands
// are added up: what may consume a tensor of several summands is linear (term.hpp), so its result does not depend on how the sum is spread.

#include "tests/oracles/axioms/validate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/check.hpp"
#include "base/random.hpp"
#include "tests/oracles/axioms/shards.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;

constexpr int kMostShardsOfOne = 36;        // more would only repeat what fewer show
constexpr std::size_t kContexts = 24;       // layouts drawn beside the plainest one of each size, at most
constexpr std::size_t kAllSizes = 64;       // where there are more, evenly drawn ones, and those
constexpr std::int64_t kMostElements = 24;  // of a tensor

// The layouts that a tensor may have, the plainest first.
std::vector<ParallelShape> layouts(const std::vector<std::int64_t>& sizes, bool index) {
  std::vector<ParallelShape> all{pcg::unsharded({.sizes = sizes, .element = index ? pcg::Element::index : pcg::Element::real})};
  const auto vary = [&](auto&& set, std::initializer_list<int> values) {
    const std::size_t count = all.size();
    for (const int v : values)
      for (std::size_t i = 0; i < count; ++i) {
        ParallelShape s = all[i];
        if (set(s, v) && s.shards() <= kMostShardsOfOne) all.push_back(std::move(s));
      }
  };
  for (std::size_t d = 0; d < sizes.size(); ++d)
    vary([&](ParallelShape& s, int v) { return s.dims[d].degree = v, sizes[d] % v == 0; }, {2, 3, 4, 6});
  if (!sizes.empty()) {  // a scalar is on every device
    if (!index) vary([](ParallelShape& s, int v) { return s.sum = v, true; }, {2, 3, 4, 6});
    vary([](ParallelShape& s, int v) { return s.copy = v, true; }, {2, 3});
  }
  std::ranges::stable_sort(all, {}, &ParallelShape::shards);
  return all;
}

// One side, typed as the layouts of its variables are chosen, one after the other: each node once for the variables that it is made of.
class TypedSide {
 public:
  explicit TypedSide(SmallTerm t) : term_(std::move(t)), variables_(term_.nodes.size()), shapes_(term_.nodes.size()) {
    for (std::size_t i = 0; i < term_.nodes.size(); ++i) {
      const SmallNode& n = term_.nodes[i];
      if (n.kind == Kind::variable) variables_[i] = static_cast<std::size_t>(n.variable) + 1;
      for (const std::uint8_t j : n.inputs) variables_[i] = std::max(variables_[i], variables_[j]);
    }
  }

  // Whether every node that needs the last of the chosen variables, and none after it, is well typed; where none is chosen, those that
  // need none. Requires: was called, with success, for those before it.
  bool type_last(std::span<const ParallelShape> chosen) {
    for (std::size_t i = 0; i < term_.nodes.size(); ++i) {
      if (variables_[i] != chosen.size()) continue;
      std::vector<ParallelShape> in;
      for (const std::uint8_t j : term_.nodes[i].inputs) in.push_back(shapes_[j]);
      std::optional<ParallelShape> shape = shape_of(term_.nodes[i], in, chosen);
      if (!shape) return false;
      shapes_[i] = std::move(*shape);
    }
    return true;
  }

  const SmallTerm& term() const { return term_; }
  const std::vector<ParallelShape>& shapes() const { return shapes_; }  // of all nodes, once all variables are chosen
  const ParallelShape& output() const { return shapes_[term_.outputs[0]]; }

 private:
  SmallTerm term_;
  std::vector<std::size_t> variables_;  // of each node: how many, from the first, must be chosen before it can be typed
  std::vector<ParallelShape> shapes_;
};

// One size: both sides with numbers, and the layouts that each variable may have.
class Shapes {
 public:
  Shapes(const Equation& e, const SmallNumbers& n) : equation_(e), left_(small_term(e.left, n)), right_(small_term(e.right, n)) {
    for (std::size_t v = 0; v < e.variables.size(); ++v)
      options_.push_back(layouts(small_sizes(e.variables[v], n), e.variables[v].types[0].index));
  }

  // The first layouts of all variables that type both sides alike, in the options' order; of `random`, in a drawn one.
  std::optional<std::vector<ParallelShape>> find(base::Random* random) {
    chosen_.clear();
    tries_ = 0;
    random_ = random;
    return type_last() && extend() ? std::optional(chosen_) : std::nullopt;
  }

  // Whether the last search ended before all layouts were tried.
  bool gave_up() const { return tries_ > kMostTries; }
  const TypedSide& left() const { return left_; }
  const TypedSide& right() const { return right_; }

 private:
  static constexpr int kMostTries = 3000;

  bool type_last() { return left_.type_last(chosen_) && right_.type_last(chosen_); }
  bool extend() {
    const std::size_t v = chosen_.size();
    if (v == equation_.variables.size()) return left_.output() == right_.output();
    const std::vector<ParallelShape>& options = options_[v];
    const std::size_t count = uses(equation_.left, v) || uses(equation_.right, v) ? options.size() : 1;
    const std::size_t first = random_ != nullptr ? random_->below(count) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (++tries_ > kMostTries) return false;
      chosen_.push_back(options[(first + i) % count]);
      if (type_last() && extend()) return true;
      chosen_.pop_back();
    }
    return false;
  }

  const Equation& equation_;
  TypedSide left_, right_;
  std::vector<std::vector<ParallelShape>> options_;
  std::vector<ParallelShape> chosen_;
  int tries_ = 0;
  base::Random* random_ = nullptr;
};

std::string shapes_text(const Equation& e, std::span<const ParallelShape> variables) {
  std::string text;
  for (std::size_t v = 0; v < variables.size(); ++v)
    text += fmt::format("{}{} {}", v == 0 ? "" : ", ", e.variables[v].name, pcg::to_text(variables[v]));
  return text;
}

// The first place at which the sides differ, where the layouts last found are those of the variables.
std::optional<std::string> difference(const Equation& e, const Shapes& at, std::span<const ParallelShape> variables, Symbolic& algebra) {
  std::vector<std::string> names;
  for (const Variable& v : e.variables) names.push_back(v.name);
  const auto output = [&](const TypedSide& s) { return shards_of(s.term(), names, s.shapes(), algebra)[s.term().outputs[0]]; };
  const Shards left = output(at.left()), right = output(at.right());
  const ParallelShape& shape = at.left().output();
  const int blocks = shape.shards() / shape.sum;  // summands are outermost
  for (int p = 0; p < blocks; ++p)
    for (std::size_t i = 0; i < left[static_cast<std::size_t>(p)].elements.size(); ++i) {
      const auto total = [&](const Shards& shards) {
        Element sum = shards[static_cast<std::size_t>(p)].elements[i];
        for (int s = 1; s < shape.sum; ++s) sum = algebra.add(sum, shards[static_cast<std::size_t>(s * blocks + p)].elements[i]);
        return sum;
      };
      const Element a = total(left), b = total(right);
      if (algebra.equal(a, b)) continue;
      return fmt::format("{}: element {} of shard {} of {}: {} on the left, {} on the right", shapes_text(e, variables), i, p,
                         pcg::to_text(shape), algebra.to_text(a), algebra.to_text(b));
    }
  return std::nullopt;
}

constexpr std::int64_t kNoTable = std::numeric_limits<std::int64_t>::max();
// The rows of the tables in which something is looked up.
std::int64_t least_rows(const TypedSide& s) {
  std::int64_t least = kNoTable;
  for (const SmallNode& n : s.term().nodes)
    if (n.kind == Kind::embedding || n.kind == Kind::embedding_bag) least = std::min(least, s.shapes()[n.inputs[1]].dims[0].size);
  return least;
}

// Where an equation needs that indices are rows of the tables: the same for every row that each may be, or for evenly drawn ones.
std::optional<std::string> difference_with_rows(const Equation& e, const Shapes& at, std::span<const ParallelShape> variables,
                                                Symbolic& algebra) {
  constexpr std::size_t kMostChoices = 32;
  std::vector<Element> indices;
  const std::int64_t rows = std::min(least_rows(at.left()), least_rows(at.right()));
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const pcg::TensorShape whole = variables[v].whole();
    if (whole.element != pcg::Element::index) continue;
    const SmallTerm alone{.nodes = {{.kind = Kind::variable, .variable = static_cast<int>(v)}}, .outputs = {0}};
    const ParallelShape unsharded = pcg::unsharded(whole);
    const std::vector<Shards> shards = shards_of(alone, std::vector(v + 1, e.variables[v].name), std::span(&unsharded, 1), algebra);
    indices.insert(indices.end(), shards[0][0].elements.begin(), shards[0][0].elements.end());
  }
  if (indices.empty() || rows == kNoTable) return "no table";
  base::Random random(indices.size());
  for (std::size_t n = 0; n < kMostChoices; ++n) {
    std::map<Element, std::int64_t> chosen;
    for (const Element i : indices) chosen[i] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows)));
    algebra.set_rows(std::move(chosen));
    const auto d = difference(e, at, variables, algebra);
    algebra.set_rows({});
    if (d) return d;
  }
  return std::nullopt;
}

// Numbers for the letters and degrees, number `at` of `count`; the letters that differ fastest come last.
SmallNumbers numbers_at(const std::string& letters, const std::array<bool, 2>& degrees, const std::vector<std::int64_t>& sizes,
                        std::size_t at) {
  SmallNumbers n;
  for (const char c : letters) {
    n.letters[index_of(c)] = sizes[at % sizes.size()];
    at /= sizes.size();
  }
  if (degrees[0]) n.d = 2 + static_cast<int>(at % 2), at /= 2;
  if (degrees[1]) n.e = 2 + static_cast<int>(at % 2);
  return n;
}

// Whether the sizes are worth the time of products of symbols.
bool is_small(const Equation& e, const SmallNumbers& n) {
  return std::ranges::all_of(e.variables, [&](const Variable& v) { return pcg::real(small_sizes(v, n)).elements() <= kMostElements; });
}

}  // namespace

Validation validate(const Axiom& a, int most_shapes) {
  const auto start = std::chrono::steady_clock::now();
  Validation v;
  Symbolic algebra;
  const std::string letters = letters_of(a.equation);
  const std::array<bool, 2> degrees = degrees_of(a.equation);
  std::vector<std::int64_t> sizes{1, 2, 3, 4};
  if ((degrees[0] && degrees[1]) || std::ranges::count(a.equation.left.nodes, Kind::attention, &Node::kind) > 0)
    sizes.push_back(6);  // cut by both, unequal ones too; two heads
  std::size_t count = (degrees[0] ? 2 : 1) * (degrees[1] ? 2 : 1);
  for (std::size_t i = 0; i < letters.size(); ++i) count *= sizes.size();
  const bool every = most_shapes == kEverySize || (count <= kAllSizes && most_shapes >= kDrawnSizes);
  v.all = every;
  const std::size_t most = every ? count : static_cast<std::size_t>(most_shapes);
  base::Random random(count);
  const bool indexed = std::ranges::any_of(a.equation.variables, [](const Variable& x) { return x.types[0].index; });
  bool needs_rows = false;
  const auto differ = [&](const Shapes& s, const std::vector<ParallelShape>& layout) {
    ++v.shapes;
    std::optional<std::string> d;
    if (!needs_rows) d = difference(a.equation, s, layout, algebra);
    if (needs_rows || (d && indexed)) {
      d = difference_with_rows(a.equation, s, layout, algebra);
      needs_rows = !d;  // Z3 takes its whole time limit to give up on what is not known of an index: once is enough
    }
    if (d) v.failure = a.instance + ": " + *d;
    return !v.failure.empty();
  };
  std::size_t plain_ones = 0, contexts = 0;
  for (std::size_t i = 0; i < (every ? count : std::min(count, most * 8 + 4096 / (plain_ones + 1))) && plain_ones < most; ++i) {
    const SmallNumbers numbers = numbers_at(letters, degrees, sizes, every ? i : static_cast<std::size_t>(random.below(count)));
    if (count > kAllSizes && !is_small(a.equation, numbers)) continue;
    Shapes s(a.equation, numbers);
    const auto plain = s.find(nullptr);
    if (!plain && s.gave_up()) v.all = false;
    if (!plain) continue;
    ++plain_ones;
    if (differ(s, *plain)) break;
    if (most_shapes != kEverySize && contexts >= std::min(kContexts, most)) continue;
    if (const auto layout = s.find(&random); layout && *layout != *plain) {
      ++contexts;
      if (differ(s, *layout)) break;
    }
  }
  v.valid = v.failure.empty() && v.shapes > 0;
  if (v.shapes == 0) v.failure = a.instance + ": no shape types both sides";
  v.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return v;
}

Validation validate(const Axioms& axioms, const AxiomEntry& e, int most_shapes) {
  BASE_CHECK(e.count > 0, "an entry of axioms has no instance");
  Validation all{.valid = true, .all = true};
  if (most_shapes == 0) most_shapes = std::clamp(2 * kDrawnSizes * 4 / static_cast<int>(e.count), kDrawnSizes, 4 * kDrawnSizes);
  for (std::size_t i = e.first; i < e.first + e.count; ++i) {
    const Validation v = validate(axioms.all[i], most_shapes);
    all.valid = all.valid && v.valid;
    all.all = all.all && v.all;
    all.shapes += v.shapes;
    all.seconds += v.seconds;
    if (all.failure.empty()) all.failure = v.failure;
  }
  return all;
}

std::vector<Validation> validate_all(const Axioms& axioms, int most_shapes, int threads) {
  std::vector<Validation> results(axioms.entries.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size(); i = next++) results[i] = validate(axioms, axioms.entries[i], most_shapes);
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  others.clear();  // joins
  return results;
}

}  // namespace rules
