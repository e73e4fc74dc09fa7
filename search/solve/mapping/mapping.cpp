#include "search/solve/mapping/mapping.hpp"

#include <algorithm>
#include <limits>

#include "search/solve/operators/elimination.hpp"
#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr int kCutAnywhere = 8;
constexpr std::size_t kMostSideBySide = 12;  // branches of a group that are tried side by side; of more, all follow each other

void merge(std::vector<std::uint32_t>& edges, const std::vector<std::uint32_t>& more) {
  std::vector<std::uint32_t> both;
  std::ranges::set_union(edges, more, std::back_inserter(both));
  edges = std::move(both);
}

BranchCosts turned(const BranchCosts& c) {
  BranchCosts t{{c.columns, c.rows, std::vector<double>(c.seconds.size())}, c.edges};
  for (std::size_t r = 0; r < c.rows; ++r)
    for (std::size_t k = 0; k < c.columns; ++k) t.seconds[k * c.rows + r] = c.at(r, k);
  return t;
}

void add(BranchCosts& sum, const BranchCosts& more) {
  for (std::size_t i = 0; i < sum.seconds.size(); ++i) sum.seconds[i] += more.seconds[i];
  merge(sum.edges, more.edges);
}

// Whether a block of units is cut after the first `units`: of few units anywhere, of many at halves and quarters, which may be cut again.
bool is_cut_after(int units, int all) { return all <= kCutAnywhere || 2 * units == all || 4 * units == all || 4 * units == 3 * all; }

std::uint32_t position(const std::vector<std::uint32_t>& core, std::uint32_t o) {
  return static_cast<std::uint32_t>(std::ranges::find(core, o) - core.begin());
}

}  // namespace

Mapping::Mapping(Shortlists& lists, BranchShapes& shapes, MappingConfig config)
    : lists_(lists), shapes_(shapes), config_(std::move(config)), machine_(lists.catalog().machine_size()) {
  config_.wholes.push_back(lists.catalog().devices());
}

Mapping::Costs Mapping::branch(const BranchTree& tree, BranchRef r, DeviceBlock block, const Ends& ends) {
  if (r.reversed) return std::make_shared<BranchCosts>(turned(*branch(tree, {r.branch, false}, block, {ends.second, ends.first})));
  const Branch& b = tree.branches[r.branch];
  const Key key{b.shape, alike(block), alike(ends.first.block), alike(ends.second.block)};
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  auto costs = std::make_shared<const BranchCosts>(computed(tree, b, block, ends));
  if (config_.remember || b.form == Branch::Form::edge) known_[key] = costs;
  return costs;
}

BranchCosts Mapping::computed(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends) {
  switch (b.form) {
    case Branch::Form::edge: {
      const EdgeCosts& edge = lists_.edge(b.edge.kind, alike(ends.first.block), alike(ends.second.block));
      return {*edge.costs, {edge.number}};
    }
    case Branch::Form::series: return series(tree, b, block, ends);
    case Branch::Form::group: break;
  }
  // Bare edges and what goes both ways follow each other; the rest may run side by side.
  BranchCosts sum{{choices(ends.first), choices(ends.second), {}}, {}};
  sum.seconds.assign(sum.rows * sum.columns, 0);
  std::vector<BranchRef> branches;
  for (const BranchRef r : b.parts)
    if (b.flow == Flow::mixed || !tree.branches[r.branch].has_operators) add(sum, *branch(tree, r, block, ends));
    else branches.push_back(r);
  if (!branches.empty()) add(sum, *side_by_side(tree, branches, block, ends));
  return sum;
}

std::vector<double> Mapping::own(const BranchTree& tree, std::uint32_t centre, const std::vector<BranchRef>& hanging, DeviceBlock block,
                                 std::vector<std::uint32_t>& edges) {
  const KindNumber kind = tree.kinds[centre];
  std::vector<double> seconds = shortlist(kind, block).seconds;
  for (const BranchRef r : hanging) {
    const Costs more = branch(tree, r, block, {{}, {kind, block}});
    for (std::size_t c = 0; c < seconds.size(); ++c) seconds[c] += more->seconds[c];
    merge(edges, more->edges);
  }
  return seconds;
}

BranchCosts Mapping::series(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends) {
  const End centre{tree.kinds[b.centre], block};
  BranchCosts costs{{choices(ends.first), choices(ends.second), {}}, {}};
  costs.seconds.assign(costs.rows * costs.columns, kUnreached);
  const std::vector<double> alone = own(tree, b.centre, b.hanging, block, costs.edges);
  const Costs before = b.before ? branch(tree, *b.before, block, {ends.first, centre}) : nullptr;
  const Costs after = branch(tree, b.after, block, {centre, ends.second});
  if (before) merge(costs.edges, before->edges);
  merge(costs.edges, after->edges);
  for (std::size_t r = 0; r < costs.rows; ++r) {
    double* to = costs.seconds.data() + r * costs.columns;
    for (std::size_t c = 0; c < alone.size(); ++c) {
      const double so_far = alone[c] + (before ? before->at(r, c) : 0);
      const double* rest = after->seconds.data() + c * costs.columns;
      for (std::size_t k = 0; k < costs.columns; ++k) to[k] = std::min(to[k], so_far + rest[k]);
    }
  }
  return costs;
}

// Every operator with weights, or, where there is none, any operator has work for this many devices.
Mapping::Use Mapping::use_of(const BranchTree& tree, BranchRef r, int devices) {
  const Branch& b = tree.branches[r.branch];
  if (!b.has_operators) return {};
  if (const auto at = uses_.find({b.shape, devices}); at != uses_.end()) return at->second;
  Use use;
  const auto join = [&](Use more) {
    use.weighty += more.weighty;
    use.weighty_that_can += more.weighty_that_can;
    use.others_that_can += more.others_that_can;
  };
  if (b.form == Branch::Form::series) {
    const OperatorKind& kind = lists_.catalog().kind(tree.kinds[b.centre]);
    const bool is_weighty = std::ranges::find(kind.is_weight, true) != kind.is_weight.end();
    const bool can = lists_.catalog().can_use(tree.kinds[b.centre], devices);
    join({is_weighty ? 1 : 0, is_weighty && can ? 1 : 0, !is_weighty && can ? 1 : 0});
    join(use_of(tree, b.after, devices));
    if (b.before) join(use_of(tree, *b.before, devices));
  }
  for (const BranchRef h : b.hanging) join(use_of(tree, h, devices));
  for (const BranchRef p : b.parts) join(use_of(tree, p, devices));
  return uses_[{b.shape, devices}] = use;
}

// A single branch has to have work for all of its devices; several share them out further.
bool Mapping::can_use(const BranchTree& tree, const std::vector<BranchRef>& parts, int devices) {
  if (parts.size() > 1) return true;
  const Use use = use_of(tree, parts.front(), devices);
  return use.weighty > 0 ? use.weighty_that_can == use.weighty : use.others_that_can > 0;
}

bool Mapping::is_admitted(DeviceBlock block) {
  return admitted_.contains(alike(block)) || ((!config_.has_time || config_.has_time()) && admitted_.insert(alike(block)).second);
}

// Where a block may be cut in two: inside a machine between devices, beyond one between machines.
std::vector<int> Mapping::cuts(const BranchTree& tree, const std::vector<BranchRef>& first, const std::vector<BranchRef>& second,
                               DeviceBlock block) {
  const int step = block.size > machine_ ? machine_ : 1;
  std::vector<int> sizes;
  if (block.size > machine_ && (block.size % machine_ != 0 || block.start % machine_ != 0)) return sizes;
  for (int size = step; size < block.size; size += step)
    if (is_cut_after(size / step, block.size / step) && can_use(tree, first, size) && can_use(tree, second, block.size - size))
      sizes.push_back(size);
  return sizes;
}

void Mapping::for_each_option(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends,
                              const std::function<void(const Option&)>& look) {
  const auto some = [&](std::size_t begin, std::size_t end) {
    return std::vector(parts.begin() + static_cast<std::ptrdiff_t>(begin), parts.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const std::size_t count = parts.size();
  const bool is_whole = std::ranges::find(config_.wholes, block.size) != config_.wholes.end();
  if (is_whole || std::ranges::all_of(parts, [&](BranchRef r) { return can_use(tree, {r}, block.size); }))
    look({side_by_side(tree, some(0, 1), block, ends), side_by_side(tree, some(1, count), block, ends), false, block, block, 1});
  if (!config_.side_by_side || count > kMostSideBySide || block.size == 1) return;
  for (std::size_t cut = 1; cut < count; ++cut) {
    const std::vector<BranchRef> left = some(0, cut), right = some(cut, count);
    for (const int size : cuts(tree, left, right, block)) {
      const DeviceBlock a{block.start, size}, b{block.start + size, block.size - size};
      if (!is_admitted(a) || !is_admitted(b)) continue;
      look({side_by_side(tree, left, a, ends), side_by_side(tree, right, b, ends), true, a, b, cut});
    }
  }
}

Mapping::Costs Mapping::side_by_side(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends) {
  if (parts.size() == 1) return branch(tree, parts.front(), block, ends);
  const Key key{shape_of_group(tree, parts, shapes_), alike(block), alike(ends.first.block), alike(ends.second.block)};
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  BranchCosts costs{{choices(ends.first), choices(ends.second), {}}, {}};
  costs.seconds.assign(costs.rows * costs.columns, kUnreached);
  for_each_option(tree, parts, block, ends, [&](const Option& o) {
    for (std::size_t i = 0; i < costs.seconds.size(); ++i) {
      const double a = o.first->seconds[i], b = o.second->seconds[i];
      costs.seconds[i] = std::min(costs.seconds[i], o.is_side_by_side ? std::max(a, b) : a + b);
    }
    merge(costs.edges, o.first->edges);
    merge(costs.edges, o.second->edges);
  });
  auto shared = std::make_shared<const BranchCosts>(std::move(costs));
  if (config_.remember) known_[key] = shared;
  return shared;
}

void Mapping::assign(const BranchTree& tree, BranchRef r, DeviceBlock block, const Ends& ends, Cell at, std::vector<Placed>& placed) {
  if (r.reversed) return assign(tree, {r.branch, false}, block, {ends.second, ends.first}, {at.column, at.row}, placed);
  const Branch& b = tree.branches[r.branch];
  if (b.form == Branch::Form::series) return assign_series(tree, b, block, ends, at, placed);
  if (b.form == Branch::Form::edge) return;
  std::vector<BranchRef> branches;
  for (const BranchRef p : b.parts)
    if (b.flow == Flow::mixed || !tree.branches[p.branch].has_operators) assign(tree, p, block, ends, at, placed);
    else branches.push_back(p);
  if (!branches.empty()) assign_side_by_side(tree, branches, block, ends, at, placed);
}

void Mapping::assign_series(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends, Cell at,
                            std::vector<Placed>& placed) {
  const End centre{tree.kinds[b.centre], block};
  std::vector<std::uint32_t> edges;
  const std::vector<double> alone = own(tree, b.centre, b.hanging, block, edges);
  const Costs before = b.before ? branch(tree, *b.before, block, {ends.first, centre}) : nullptr;
  const Costs after = branch(tree, b.after, block, {centre, ends.second});
  std::uint32_t best = 0;
  double least = kUnreached;
  for (std::uint32_t c = 0; c < alone.size(); ++c) {
    const double seconds = alone[c] + (before ? before->at(at.row, c) : 0) + after->at(c, at.column);
    if (seconds >= least) continue;
    least = seconds;
    best = c;
  }
  placed[b.centre] = {block, best};
  for (const BranchRef h : b.hanging) assign(tree, h, block, {{}, centre}, {0, best}, placed);
  if (b.before) assign(tree, *b.before, block, {ends.first, centre}, {at.row, best}, placed);
  assign(tree, b.after, block, {centre, ends.second}, {best, at.column}, placed);
}

void Mapping::assign_side_by_side(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends, Cell at,
                                  std::vector<Placed>& placed) {
  if (parts.size() == 1) return assign(tree, parts.front(), block, ends, at, placed);
  std::optional<Option> best;
  double least = kUnreached;
  for_each_option(tree, parts, block, ends, [&](const Option& o) {
    const double a = o.first->at(at.row, at.column), b = o.second->at(at.row, at.column),
                 seconds = o.is_side_by_side ? std::max(a, b) : a + b;
    if (seconds >= least) return;
    least = seconds;
    best = o;
  });
  const auto cut = parts.begin() + static_cast<std::ptrdiff_t>(best->cut);
  assign_side_by_side(tree, {parts.begin(), cut}, best->first_block, ends, at, placed);
  assign_side_by_side(tree, {cut, parts.end()}, best->second_block, ends, at, placed);
}

// The operators of the core and of the ends, with what hangs on them and lies between them.
ChoiceProblem Mapping::core_problem(const Part& part, DeviceBlock block, std::vector<std::uint32_t>& edges) {
  ChoiceProblem problem;
  std::map<std::uint32_t, std::uint32_t> number;
  for (const std::uint32_t o : part.tree.core) {
    number[o] = static_cast<std::uint32_t>(problem.costs.size());
    problem.costs.push_back(own(part.tree, o, part.tree.hanging[o], block, edges));
    // The part before has counted its end.
    if (o == part.first)
      for (std::size_t c = 0; c < problem.costs.back().size(); ++c)
        problem.costs.back()[c] -= shortlist(part.tree.kinds[o], block).seconds[c];
  }
  for (const auto& [ends, r] : part.tree.between) {
    const Costs costs = branch(part.tree, r, block, {{part.tree.kinds[ends.first], block}, {part.tree.kinds[ends.second], block}});
    merge(edges, costs->edges);
    problem.pairs.push_back({number[ends.first], number[ends.second], costs});
  }
  return problem;
}

BranchCosts Mapping::costs(const Part& part, DeviceBlock block) {
  std::vector<std::uint32_t> edges;
  const ChoiceProblem problem = core_problem(part, block, edges);
  const std::uint32_t last = position(part.tree.core, part.last);
  CheapestBetween found = cheapest_between(problem, part.first ? position(part.tree.core, *part.first) : last, last);
  lists_.catalog().spend(sim::kBucketEntry * found.entries);
  return {std::move(found.costs), std::move(edges)};
}

std::vector<Placed> Mapping::place(const Part& part, DeviceBlock block, std::uint32_t first_choice, std::uint32_t last_choice) {
  std::vector<std::uint32_t> edges;
  const ChoiceProblem problem = core_problem(part, block, edges);
  std::vector<Choices> left = all_choices(problem);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (part.tree.core[i] == part.first) left[i] = {first_choice};
    if (part.tree.core[i] == part.last) left[i] = {last_choice};
  }
  const Chosen chosen = cheapest(restricted(problem, left));
  lists_.catalog().spend(sim::kBucketEntry * chosen.entries);
  const Choices choice = in_all(left, chosen.choice);
  std::vector<Placed> placed(part.tree.kinds.size());
  for (std::size_t i = 0; i < problem.costs.size(); ++i) placed[part.tree.core[i]] = {block, choice[i]};
  const auto end = [&](std::uint32_t o) { return End{part.tree.kinds[o], block}; };
  for (const std::uint32_t o : part.tree.core)
    for (const BranchRef h : part.tree.hanging[o]) assign(part.tree, h, block, {{}, end(o)}, {0, placed[o].choice}, placed);
  for (const auto& [ends, r] : part.tree.between)
    assign(part.tree, r, block, {end(ends.first), end(ends.second)}, {placed[ends.first].choice, placed[ends.second].choice}, placed);
  return placed;
}

bool Mapping::resolve(const Part& part, const std::vector<Placed>& placed) {
  std::vector<std::uint32_t> changed;
  for (const OperatorEdge& e : part.edges) {
    EdgeCosts& edge = lists_.edge(e.kind, alike(placed[e.from].block), alike(placed[e.to].block));
    if (lists_.resolve_around(edge, placed[e.from].choice, placed[e.to].choice)) changed.push_back(edge.number);
  }
  if (changed.empty()) return false;
  std::ranges::sort(changed);
  std::erase_if(known_, [&](const auto& entry) {
    const std::vector<std::uint32_t>& of = entry.second->edges;
    return std::ranges::any_of(changed, [&](std::uint32_t e) { return std::ranges::binary_search(of, e); });
  });
  return true;
}

}  // namespace search
