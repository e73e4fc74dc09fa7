#include "pcg/resizing/draw_sizes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <variant>

#include "base/random.hpp"
#include "pcg/graph/serial.hpp"
#include "pcg/operators/weights.hpp"
#include "pcg/resizing/mapped_rebuild.hpp"
#include "pcg/resizing/operator_sizes.hpp"
#include "pcg/resizing/size_repair.hpp"

namespace pcg {
namespace {

constexpr std::int64_t kKept = 2;        // sizes up to this one stay: they are counts of kinds (token types, classes), or 1
constexpr int kMostRepairs = 256;        // of one draw
constexpr int kMostRepairsOfOne = 8;     // size
constexpr std::int64_t kMostFactor = 3;  // a drawn size is the smallest lawful one times 1 .. this, and more where that is taken

// Sizes of operators, and of the weights that no operator has a slot for.
void add_free_sizes(const Graph& graph, std::set<std::int64_t>& sizes) {
  std::vector<bool> follows(graph.nodes().size(), false);
  auto add = [&](const std::vector<std::int64_t>& more) {
    for (std::int64_t size : more)
      if (size > kKept) sizes.insert(size);
  };
  for (const GraphNode& n : graph.nodes()) {
    const std::vector<bool> slots = weight_slots(n.op, n.inputs.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i]) follows[n.inputs[i].node.value] = true;
    add(free_sizes(n.op));
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (std::holds_alternative<Weight>(graph.nodes()[n].op) && !follows[n]) add(graph.nodes()[n].outputs[0].sizes);
}

// Rows and columns of images shrink little: kernels and strides must still fit.
std::set<std::int64_t> image_sizes(const Graph& graph) {
  std::set<std::int64_t> result;
  for (const GraphNode& n : graph.nodes())
    if (std::holds_alternative<Input>(n.op) && n.outputs[0].sizes.size() == 4)
      result.insert({n.outputs[0].sizes[2], n.outputs[0].sizes[3]});
  return result;
}

// What each free size must stay a multiple of: the degrees that dims and loops of that size are cut in.
std::map<std::int64_t, std::int64_t> multiples(const Pcg& pcg) {
  std::map<std::int64_t, std::int64_t> result;
  auto need = [&](std::int64_t size, std::int64_t degree) {
    if (degree == 1) return;
    std::int64_t& m = result.try_emplace(size, 1).first->second;
    m = std::lcm(m, degree);
  };
  for (std::size_t n = 0; n < pcg.nodes().size(); ++n) {
    const PcgNode& node = pcg.nodes()[n];
    for (const ParallelShape& s : node.outputs)
      for (const ParallelDim& d : s.dims) need(d.size, d.degree);
    if (!node.computes()) continue;
    const IterationSpace& space = *node.space;
    for (std::size_t l = 0; l < space.loops.size(); ++l) need(space.loops[l].size, node.sharding.degrees[l]);
  }
  // A sum of sizes is a multiple if its parts are. Last node first: concatenations of concatenations.
  for (std::size_t n = pcg.nodes().size(); n-- > 0;) {
    const Operator* op = pcg.nodes()[n].operation();
    const Concat* concat = op ? std::get_if<Concat>(op) : nullptr;
    if (!concat) continue;
    const auto at = [&](const TensorShape& s) { return s.sizes[resolve_axis(concat->axis, s.sizes.size())]; };
    const auto whole = result.find(at(pcg.whole_outputs(NodeId(n))[0]));
    if (whole == result.end()) continue;
    const std::int64_t multiple = whole->second;
    for (const TensorShape& part : pcg.whole_inputs(NodeId(n))) need(at(part), multiple);
  }
  return result;
}

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

// Repairs a drawn map until the graph is well-formed; false when it cannot be.
bool repair_map(const Graph& graph, Drawing& drawing) {
  std::map<std::int64_t, int> changed;
  for (int repairs = 0; repairs < kMostRepairs; ++repairs) {
    std::optional<SizeRepair> repair;
    Rebuild how = by(drawing.map);
    how.check = [&](const Operator& op, auto before, auto after) {
      repair = repair_sizes(op, before, after, drawing.map, drawing.multiples);
      return !repair;
    };
    if (rebuild(graph, how)) return true;
    if (!repair) return false;
    if (++changed[repair->size] > kMostRepairsOfOne || !apply_repair(drawing, *repair)) return false;  // it goes in circles
  }
  return false;
}

// One map for all graphs: a repair for one may need another in the next.
bool repair_map(std::span<const Graph> graphs, Drawing& drawing) {
  for (std::size_t round = 0; round <= graphs.size(); ++round) {
    const SizeMap before = drawing.map;
    for (const Graph& g : graphs)
      if (!repair_map(g, drawing)) return false;
    if (drawing.map == before) return true;
  }
  return false;
}

}  // namespace

std::optional<SizeMap> draw_sizes(const Graph& graph, const Pcg* pcg, std::uint64_t seed, int attempts) {
  base::Random random(seed);
  std::vector<Graph> graphs{graph};  // a PCG that was rewritten has operators of its own
  if (pcg)
    if (Graph plain = serial(*pcg); plain != graph) graphs.push_back(std::move(plain));
  std::set<std::int64_t> sizes;
  for (const Graph& g : graphs) add_free_sizes(g, sizes);
  const std::set<std::int64_t> images = image_sizes(graph);
  const std::map<std::int64_t, std::int64_t> needed = pcg ? multiples(*pcg) : std::map<std::int64_t, std::int64_t>{};
  // A draw that no repair makes fit is given up for another.
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Drawing drawing{.map = {}, .multiples = needed};
    SizeMap& map = drawing.map;
    std::set<std::int64_t> taken;
    for (std::int64_t size : sizes) {
      const auto it = needed.find(size);
      const std::int64_t multiple = it == needed.end() ? 1 : it->second;
      map[size] =
          images.contains(size) ? draw_image(size, multiple, attempt >= attempts / 2, random) : draw_size(size, multiple, taken, random);
      taken.insert(map[size]);
    }
    if (!repair_map(graphs, drawing) || !is_injective(map)) continue;
    if (!pcg || try_resize(*pcg, map)) return map;  // else a degree does not divide a derived size
  }
  return std::nullopt;
}

}  // namespace pcg
