#include "pcg/resizing/draw_sizes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/random.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/resizing/rebuild.hpp"
#include "pcg/resizing/segments.hpp"
#include "pcg/resizing/size_repair.hpp"

namespace pcg {
namespace {

constexpr std::array<std::int64_t, 4> kImages = {16, 32, 64, 96};

bool is_image(const TensorShape& s) { return s.sizes.size() == 4; }

std::int64_t stride(const Operator& op) {
  if (const auto* c = std::get_if<Conv2d>(&op)) return std::lcm(c->rows.stride, c->columns.stride);
  if (const auto* p = std::get_if<Pool2d>(&op)) return std::lcm(std::max(p->rows.stride, 1), std::max(p->columns.stride, 1));
  return 1;
}

// The product of strides on the longest path through convolutions and pools.
std::int64_t all_strides(const Graph& graph) {
  std::int64_t all = 1;
  std::vector<std::int64_t> before(graph.nodes().size(), 1);  // by node: the strides up to its outputs
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    if (!is_image(node.outputs[0])) continue;
    for (GraphTensorRef t : node.inputs) before[n] = std::lcm(before[n], before[t.node.value]);
    before[n] *= stride(node.op);
    all = std::lcm(all, before[n]);
  }
  return all;
}

// The degrees of rows and columns.
std::int64_t all_degrees(const Pcg& pcg) {
  std::int64_t all = 1;
  for (const PcgNode& n : pcg.nodes())
    for (const ParallelShape& s : n.outputs)
      for (std::size_t d = 2; s.dims.size() == 4 && d < 4; ++d) all = std::lcm(all, std::int64_t{s.dims[d].degree});
  return all;
}

class ImageSizes {
 public:
  // Rows and columns of the graph's inputs of four dims. `pcg`: its degrees must go into them; or nullptr.
  ImageSizes(const Graph& graph, const Pcg* pcg) {
    for (const GraphNode& n : graph.nodes())
      if (std::holds_alternative<Input>(n.op) && is_image(n.outputs[0])) sizes_.insert({n.outputs[0].sizes[2], n.outputs[0].sizes[3]});
    const std::int64_t degrees = pcg ? all_degrees(*pcg) : 1;
    if (degrees > 1) step_ = all_strides(graph) * degrees;
  }
  [[nodiscard]] bool contains(std::int64_t size) const { return sizes_.contains(size); }
  // Returns a new size, never larger than the old one, which it is when nothing else may do. Where rows or columns are cut it
  // differs from the old one by a multiple of the product of all strides times the degrees: then each convolution and pool makes as many
  // rows less as the degrees go into.
  [[nodiscard]] std::int64_t draw(std::int64_t size, bool last_resort, base::Random& random) const {
    if (last_resort) return size;
    if (step_ == 0) return std::min(kImages[random.below(kImages.size())], size);
    const std::int64_t most = std::max<std::int64_t>(size - kImages[0], 0) / step_;  // steps less
    return size - step_ * (most - std::min<std::int64_t>(most, static_cast<std::int64_t>(random.below(2))));
  }

 private:
  std::set<std::int64_t> sizes_;
  std::int64_t step_ = 0;  // 0: no row or column is cut
};

constexpr int kAttempts = 64;             // of a draw
constexpr std::int64_t kKept = 2;         // sizes up to this one stay: they are counts of kinds (token types, classes), or 1
constexpr int kMostRepairs = 256;         // of one draw
constexpr int kMostRepairsOfOne = 8;      // size
constexpr std::uint64_t kMostFactor = 3;  // a drawn size is among this many of the smallest lawful ones, and larger where those are taken

// One of the first lawful values that no other size has.
std::int64_t draw_size(std::int64_t size, const SizeLaws& laws, const std::set<std::int64_t>& taken, base::Random& random) {
  std::uint64_t skip = random.below(kMostFactor);
  for (std::int64_t drawn = 1; drawn < size; ++drawn)
    if (allows(laws, size, drawn) && (skip == 0 || skip-- == 0) && drawn > kKept && !taken.contains(drawn)) return drawn;
  return size;
}

// Different sizes stay different: else 4 heads could pass for 2.
bool is_injective(const SizeMap& map) {
  std::set<std::int64_t> seen;
  return std::ranges::all_of(map, [&](const auto& entry) { return entry.second > kKept && seen.insert(entry.second).second; });
}

// A drawn map while it is made to fit.
struct Drawing {
  SizeMap map;
  SizeLaws laws;
};

// Two old sizes never share a new one, and none becomes one of the small sizes that stay.
bool is_taken(const SizeMap& map, std::int64_t except, std::int64_t value) {
  return value <= kKept || std::ranges::any_of(map, [&](const auto& entry) { return entry.first != except && entry.second == value; });
}

// Gives a size the least lawful value that no other size has. Returns: whether there is one, as laws may contradict each other.
bool set_free_value(Drawing& drawing, std::int64_t size) {
  const auto it = drawing.laws.find(size);
  const SizeLaw law = it == drawing.laws.end() ? SizeLaw{} : it->second;
  const std::int64_t most = std::lcm(law.modulus, law.multiple) * (kKept + 2 + static_cast<std::int64_t>(drawing.map.size()));
  for (std::int64_t value = law.multiple; value <= most; value += law.multiple)
    if (allows(drawing.laws, size, value) && !is_taken(drawing.map, size, value)) {
      drawing.map[size] = value;
      return true;
    }
  return false;
}

bool apply_repair(Drawing& drawing, const SizeRepair& repair) {
  if (repair.wanted == 0) {
    std::int64_t& multiple = drawing.laws[repair.size].multiple;
    multiple = std::lcm(multiple, repair.multiple_of);
    return set_free_value(drawing, repair.size);
  }
  drawing.map[repair.size] = repair.wanted;
  // A size that has the wanted value already makes room.
  for (const auto& [size, value] : drawing.map)
    if (size != repair.size && value == repair.wanted) return set_free_value(drawing, size);
  return true;
}

// A graph, and the serial form of a PCG that computes the same, while sizes are sought at which both fit together.
class Search {
 public:
  Search(const Graph& graph, const Pcg* pcg) : pcg_(pcg), graphs_(graphs_of(graph, pcg)), segments_(graphs_), images_(graph, pcg) {
    for (std::size_t g = 0; g < graphs_.size(); ++g) add_free_sizes(form(g), sizes_);
    sizes_.erase(sizes_.begin(), sizes_.upper_bound(kKept));
    if (pcg) needed_ = laws_of_degrees(*pcg, form(graphs_.size() - 1));
  }

  // Nothing: an earlier draw has given the same sizes.
  base::Attempt<std::optional<SmallForms>> draw(std::uint64_t seed) {
    random_ = base::Random(seed);
    why_ = {};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Drawing drawing = first_values(attempt >= kAttempts / 2);
      std::optional<std::vector<Graph>> small = repaired(drawing);
      if (!small) continue;
      if (!is_injective(drawing.map)) {
        why_ = {"sizes that differ became equal"};
        continue;
      }
      if (given_.contains(drawing.map)) return std::optional<SmallForms>();
      SmallForms result{.sizes = drawing.map, .graph = small->front(), .pcg = std::nullopt};
      if (!pcg_) return given(std::move(result));
      if (base::Attempt<Pcg> parallel = with_operators(*pcg_, small->back())) {  // else a degree does not divide a derived size
        result.pcg = *std::move(parallel);
        return given(std::move(result));
      } else {
        why_ = parallel.refusal();
      }
    }
    return why_;
  }

 private:
  std::optional<SmallForms> given(SmallForms small) {
    given_.insert(small.sizes);
    return small;
  }
  static std::vector<Graph> graphs_of(const Graph& graph, const Pcg* pcg) {
    std::vector<Graph> graphs{graph};  // a PCG that was rewritten has operators of its own
    if (pcg)
      if (Graph plain = serial(*pcg); plain != graph) graphs.push_back(std::move(plain));
    return graphs;
  }
  // Weights of the second graph are those of the first.
  [[nodiscard]] Together form(std::size_t g) const {
    return {.graph = graphs_[g], .segments = segments_, .number = g, .weights = g == 0 ? nullptr : &weights_};
  }

  Drawing first_values(bool last_resort) {
    Drawing drawing{.map = {}, .laws = needed_};
    std::set<std::int64_t> taken;
    for (std::int64_t size : sizes_) {
      drawing.map[size] = images_.contains(size) ? images_.draw(size, last_resort, random_) : draw_size(size, needed_, taken, random_);
      taken.insert(drawing.map[size]);
    }
    return drawing;
  }

  // Repairs a drawn map until all graphs are well-formed, and returns them; nullopt when it cannot be.
  std::optional<std::vector<Graph>> repaired(Drawing& drawing) {
    std::map<std::int64_t, int> changed;
    for (int repairs = 0; repairs < kMostRepairs; ++repairs) {
      std::optional<SizeRepair> repair;
      std::optional<std::vector<Graph>> small = rebuilt(drawing, repair);
      if (small || !repair) return small;
      if (++changed[repair->size] > kMostRepairsOfOne || !apply_repair(drawing, *repair)) break;  // it goes in circles
      why_ = {fmt::format("nothing small fits where {} stands", repair->size)};
    }
    return std::nullopt;
  }
  std::optional<std::vector<Graph>> rebuilt(const Drawing& drawing, std::optional<SizeRepair>& repair) {
    std::vector<Graph> result;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      Rebuild how = by(drawing.map, form(g));
      how.check = [&](GraphNodeId n, const Operator& op, auto before, auto after) {
        const GraphNode& node = graphs_[g].node(n);
        const auto segments = [&](std::size_t i, std::size_t d) { return segments_.of(g, node.inputs[i], d); };
        repair = repair_sizes(node.op, op, before, after, drawing.map, drawing.laws, segments);
        return !repair;
      };
      base::Attempt<Graph> small = rebuild(graphs_[g], how);
      if (!small) {
        if (!repair) why_ = small.refusal();
        return std::nullopt;
      }
      if (g == 0) note_weights(*small);
      result.push_back(*std::move(small));
    }
    return result;
  }
  void note_weights(const Graph& small) {
    weights_.clear();
    for (const GraphNode& n : small.nodes())
      if (std::holds_alternative<Weight>(n.op)) weights_.emplace(n.name, n.outputs[0]);
  }

  const Pcg* pcg_;
  std::vector<Graph> graphs_;
  Segments segments_;
  base::Random random_{0};
  ImageSizes images_;
  std::set<std::int64_t> sizes_;
  SizeLaws needed_;
  std::set<SizeMap> given_;
  std::map<std::string, TensorShape> weights_;  // of the small graph
  base::Refusal why_;                           // of the last draw that did not fit
};

}  // namespace

DrawnSizes draw_sizes(const Graph& graph, const Pcg* pcg, std::span<const std::uint64_t> seeds, std::size_t most) {
  DrawnSizes result;
  Search search(graph, pcg);
  for (std::size_t i = 0; i < seeds.size() && result.draws.size() < most && !result.refusal; ++i) {
    base::Attempt<std::optional<SmallForms>> small = search.draw(seeds[i]);
    if (!small) result.refusal = small.refusal();
    else if (*small) result.draws.push_back({seeds[i], **std::move(small)});
  }
  return result;
}

}  // namespace pcg
