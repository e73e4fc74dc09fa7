#include "pcg/resizing/draw_sizes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "pcg/graph/serial.hpp"
#include "pcg/resizing/mapped_rebuild.hpp"
#include "pcg/resizing/pieces.hpp"
#include "pcg/resizing/size_repair.hpp"

namespace pcg {
namespace {

constexpr std::int64_t kKept = 2;        // sizes up to this one stay: they are counts of kinds (token types, classes), or 1
constexpr int kMostRepairs = 256;        // of one draw
constexpr int kMostRepairsOfOne = 8;     // size
constexpr std::int64_t kMostFactor = 3;  // a drawn size is the smallest lawful one times 1 .. this, and more where that is taken

// Rows and columns of images shrink little: kernels and strides must still fit.
std::set<std::int64_t> image_sizes(const Graph& graph) {
  std::set<std::int64_t> result;
  for (const GraphNode& n : graph.nodes())
    if (std::holds_alternative<Input>(n.op) && n.outputs[0].sizes.size() == 4)
      result.insert({n.outputs[0].sizes[2], n.outputs[0].sizes[3]});
  return result;
}

// What each size of a piece, and each count, must stay a multiple of: the degrees that dims and loops are cut in. A dim of several pieces
// is a multiple where all of them are; `one`: the PCG's serial form.
class Multiples {
 public:
  Multiples(const Pcg& pcg, const Together& one) : pcg_(pcg), one_(one) {}

  std::map<std::int64_t, std::int64_t> run() {
    std::vector<std::vector<GraphTensorRef>> serial;  // by node of the PCG: its outputs there
    std::uint32_t next = 0;
    for (const PcgNode& node : pcg_.nodes()) {
      if (node.parallel_operator()) {
        serial.push_back({serial[node.inputs[0].node.value][static_cast<std::size_t>(node.inputs[0].output)]});
      } else {
        if (std::holds_alternative<Summands>(*node.operation()) && node.inputs.size() > 2)
          next += static_cast<std::uint32_t>(node.inputs.size()) - 2;
        std::vector<GraphTensorRef>& outputs = serial.emplace_back();
        for (std::size_t o = 0; o < node.outputs.size(); ++o) outputs.push_back({GraphNodeId(next), static_cast<int>(o)});
        ++next;
        if (node.computes()) of_counts(node);
      }
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        for (std::size_t d = 0; d < node.outputs[o].dims.size(); ++d)
          if (const int degree = node.outputs[o].dims[d].degree; degree > 1)
            for (std::int64_t piece : one_.pieces.of(one_.number, serial.back()[o], d)) need(piece, degree);
    }
    return std::move(result_);
  }

 private:
  void need(std::int64_t size, std::int64_t degree) {
    if (size <= kKept) return;
    std::int64_t& m = result_.try_emplace(size, 1).first->second;
    m = std::lcm(m, degree);
  }
  // Loops over heads and groups.
  void of_counts(const PcgNode& node) {
    const IterationSpace& space = *node.space;
    std::vector<bool> is_size(space.loops.size(), false);
    const auto look = [&](const std::vector<int>& loops, const ParallelShape& shape) {
      for (std::size_t d = 0; d < loops.size(); ++d)
        if (loops[d] >= 0 && shape.dims[d].size == space.loops[static_cast<std::size_t>(loops[d])].size)
          is_size[static_cast<std::size_t>(loops[d])] = true;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) look(space.inputs[i], pcg_.shape(node.inputs[i]));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) look(space.outputs[o], node.outputs[o]);
    for (std::size_t l = 0; l < space.loops.size(); ++l)
      if (!is_size[l] && node.sharding.degrees[l] > 1) need(space.loops[l].size, node.sharding.degrees[l]);
  }

  const Pcg& pcg_;
  const Together& one_;
  std::map<std::int64_t, std::int64_t> result_;
};

std::int64_t round_up(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// Rows or columns of an image; as large as they are only when nothing smaller will do.
std::int64_t draw_image(std::int64_t size, std::int64_t multiple, bool last_resort, base::Random& random) {
  static constexpr std::int64_t kImages[] = {16, 32, 64, 96};
  const std::int64_t drawn = round_up(kImages[random.below(std::size(kImages))], multiple);
  return last_resort || drawn > size ? size : drawn;
}

std::int64_t draw_size(std::int64_t size, std::int64_t multiple, const std::set<std::int64_t>& taken, base::Random& random) {
  std::int64_t drawn = multiple * static_cast<std::int64_t>(1 + random.below(kMostFactor));
  while (drawn <= kKept || taken.contains(drawn)) drawn += multiple;
  return std::min(drawn, size);
}

// Different sizes stay different: else 4 heads could pass for 2.
bool is_injective(const SizeMap& map) {
  std::set<std::int64_t> seen;
  return std::ranges::all_of(map, [&](const auto& entry) { return entry.second > kKept && seen.insert(entry.second).second; });
}

// A drawn map while it is made to fit.
struct Drawing {
  SizeMap map;
  std::map<std::int64_t, std::int64_t> multiples;  // what a size must stay a multiple of; 1 where it is absent
};

// Two old sizes never share a new one, and none becomes one of the small sizes that stay.
bool is_taken(const SizeMap& map, std::int64_t except, std::int64_t value) {
  return value <= kKept || std::ranges::any_of(map, [&](const auto& entry) { return entry.first != except && entry.second == value; });
}

// The least lawful value that no other size has.
std::int64_t free_value(const Drawing& drawing, std::int64_t size) {
  const auto it = drawing.multiples.find(size);
  const std::int64_t multiple = it == drawing.multiples.end() ? 1 : it->second;
  std::int64_t value = multiple;
  while (is_taken(drawing.map, size, value)) value += multiple;
  return value;
}

bool apply_repair(Drawing& drawing, const SizeRepair& repair) {
  if (repair.wanted == 0) {
    std::int64_t& multiple = drawing.multiples.try_emplace(repair.size, 1).first->second;
    multiple = std::lcm(multiple, repair.multiple_of);
    drawing.map[repair.size] = free_value(drawing, repair.size);
    return true;
  }
  drawing.map[repair.size] = repair.wanted;
  // A size that has the wanted value already makes room.
  for (auto& [size, value] : drawing.map)
    if (size != repair.size && value == repair.wanted) value = free_value(drawing, size);
  return repair.wanted >= 1;
}

// A graph, and the serial form of a PCG that computes the same, while sizes are sought at which both fit together.
class Search {
 public:
  Search(const Graph& graph, const Pcg* pcg, std::uint64_t seed)
      : pcg_(pcg), graphs_(graphs_of(graph, pcg)), pieces_(graphs_), random_(seed), images_(image_sizes(graph)) {
    for (std::size_t g = 0; g < graphs_.size(); ++g) add_free_sizes(form(g), sizes_);
    sizes_.erase(sizes_.begin(), sizes_.upper_bound(kKept));
    if (pcg) needed_ = Multiples(*pcg, form(graphs_.size() - 1)).run();
  }

  std::optional<SmallForms> run(int attempts) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      Drawing drawing = draw(attempt >= attempts / 2);
      std::optional<std::vector<Graph>> small = repaired(drawing);
      if (!small || !is_injective(drawing.map)) continue;
      SmallForms result{.sizes = std::move(drawing.map), .graph = small->front(), .pcg = std::nullopt};
      if (!pcg_) return result;
      if (base::Attempt<Pcg> parallel = with_operators(*pcg_, small->back())) {  // else a degree does not divide a derived size
        result.pcg = *std::move(parallel);
        return result;
      }
    }
    return std::nullopt;
  }

 private:
  static std::vector<Graph> graphs_of(const Graph& graph, const Pcg* pcg) {
    std::vector<Graph> graphs{graph};  // a PCG that was rewritten has operators of its own
    if (pcg)
      if (Graph plain = serial(*pcg); plain != graph) graphs.push_back(std::move(plain));
    return graphs;
  }
  // Weights of the second graph are those of the first.
  [[nodiscard]] Together form(std::size_t g) const {
    return {.graph = graphs_[g], .pieces = pieces_, .number = g, .weights = g == 0 ? nullptr : &weights_};
  }

  Drawing draw(bool last_resort) {
    Drawing drawing{.map = {}, .multiples = needed_};
    std::set<std::int64_t> taken;
    for (std::int64_t size : sizes_) {
      const auto it = needed_.find(size);
      const std::int64_t multiple = it == needed_.end() ? 1 : it->second;
      drawing.map[size] =
          images_.contains(size) ? draw_image(size, multiple, last_resort, random_) : draw_size(size, multiple, taken, random_);
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
      if (++changed[repair->size] > kMostRepairsOfOne || !apply_repair(drawing, *repair)) return std::nullopt;  // it goes in circles
    }
    return std::nullopt;
  }
  std::optional<std::vector<Graph>> rebuilt(const Drawing& drawing, std::optional<SizeRepair>& repair) {
    std::vector<Graph> result;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      Rebuild how = by(drawing.map, form(g));
      how.check = [&](GraphNodeId n, const Operator& op, auto before, auto after) {
        const GraphNode& node = graphs_[g].node(n);
        const auto pieces = [&](std::size_t i, std::size_t d) { return pieces_.of(g, node.inputs[i], d); };
        repair = repair_sizes(node.op, op, before, after, drawing.map, drawing.multiples, pieces);
        return !repair;
      };
      base::Attempt<Graph> small = rebuild(graphs_[g], how);
      if (!small) return std::nullopt;
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
  Pieces pieces_;
  base::Random random_;
  std::set<std::int64_t> images_, sizes_;
  std::map<std::int64_t, std::int64_t> needed_;
  std::map<std::string, TensorShape> weights_;  // of the small graph
};

}  // namespace

std::optional<SmallForms> draw_sizes(const Graph& graph, const Pcg* pcg, std::uint64_t seed, int attempts) {
  return Search(graph, pcg, seed).run(attempts);
}

}  // namespace pcg
