#include "search/solve/operators/strategies.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "pcg/graph/pcg.hpp"

namespace search {
namespace {

// Every order of the axes that are above 1, as the strides of a view that covers the devices.
std::vector<pcg::MachineView> views_of(const pcg::Sharding& sharding, int start) {
  const std::vector<int> degrees = pcg::axes(sharding);
  std::vector<std::size_t> inner_first(degrees.size());
  std::iota(inner_first.begin(), inner_first.end(), 0);
  std::vector<pcg::MachineView> views;
  do {
    pcg::MachineView& view = views.emplace_back();
    view.start = base::DeviceId(static_cast<std::size_t>(start));
    view.strides.resize(degrees.size());
    int stride = 1;
    for (const std::size_t axis : inner_first) {
      view.strides[axis] = stride;
      stride *= degrees[axis];
    }
  } while (std::ranges::next_permutation(inner_first).found);
  return views;
}

class Enumeration {
 public:
  Enumeration(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs, std::span<const pcg::TensorShape> outputs,
              int most_cut)
      : space_(space), inputs_(inputs), outputs_(outputs), most_cut_(most_cut), sharding_(pcg::unsharded(space)) {}

  std::vector<Strategy> run(DeviceBlock block) {
    start_ = block.start;
    cut_from(0, 0, block.size);
    return std::move(found_);
  }

 private:
  // Loops before `loop` are decided; `left` devices are not used yet.
  void cut_from(std::size_t loop, int cut, int left) {
    if (loop == space_.loops.size()) {
      sharding_.copies = left;
      if (pcg::violation(space_, sharding_, inputs_, outputs_)) return;
      for (pcg::MachineView& view : views_of(sharding_, start_)) found_.push_back({sharding_, std::move(view)});
      return;
    }
    cut_from(loop + 1, cut, left);
    const pcg::Loop& l = space_.loops[loop];
    if (l.cut == pcg::Cut::none || cut == most_cut_) return;
    for (int degree = 2; degree <= left; ++degree) {
      if (left % degree != 0 || l.size % degree != 0 || l.size / degree < l.least) continue;
      sharding_.degrees[loop] = degree;
      cut_from(loop + 1, cut + 1, left / degree);
    }
    sharding_.degrees[loop] = 1;
  }

  const pcg::IterationSpace& space_;
  std::span<const pcg::TensorShape> inputs_, outputs_;
  int most_cut_, start_ = 0;
  pcg::Sharding sharding_;
  std::vector<Strategy> found_;
};

constexpr std::size_t kMostSummarised = 4;  // kinds of cuts that a summary names

}  // namespace

std::vector<Strategy> strategies_of(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                    std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut) {
  return Enumeration(space, inputs, outputs, most_cut).run(block);
}

std::vector<Strategy> strategies_of_few(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                        std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut, int at_most) {
  std::vector<Strategy> found;
  for (int devices = 1; devices <= std::min(at_most, block.size - 1); ++devices) {
    if (block.size % devices != 0) continue;
    for (Strategy& s : strategies_of(space, inputs, outputs, {block.start, devices}, most_cut))
      if (s.sharding.copies == 1) found.push_back(std::move(s));
  }
  return found;
}

pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<const Strategy*>& choice) {
  std::vector<pcg::Sharding> shardings = pcg::unsharded(graph);
  for (std::size_t n = 0; n < choice.size(); ++n)
    if (choice[n] != nullptr) shardings[n] = choice[n]->sharding;
  pcg::Plan plan;
  plan.model = problem.model_section;
  plan.training = problem.training;
  plan.gpus = problem.cluster.device_count();
  plan.pcg = pcg::parallelize(graph, shardings);
  plan.stage.assign(plan.pcg.nodes().size(), 0);
  std::size_t node = 0;  // parallelize() keeps the graph's operators in order
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    plan.mapping.emplace_back();
    if (n.parallel_operator() != nullptr) continue;
    if (n.computes()) plan.mapping.back() = choice[node]->view;
    ++node;
  }
  return plan;
}

std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& s) {
  std::vector<std::string> parts;
  for (std::size_t l = 0; l < s.degrees.size(); ++l)
    if (s.degrees[l] > 1) parts.push_back(fmt::format("{} {}", space.loops[l].name, s.degrees[l]));
  if (s.copies > 1) parts.push_back(fmt::format("copies {}", s.copies));
  if (s.sums > 1) parts.push_back(fmt::format("sums {}", s.sums) + (s.through >= 0 ? fmt::format(" of input {}", s.through) : ""));
  return parts.empty() ? "whole" : fmt::format("{}", fmt::join(parts, " x "));
}

std::string summary_of_cuts(const pcg::Plan& plan) {
  std::map<std::string, int> count;
  for (const pcg::PcgNode& n : plan.pcg.nodes())
    if (n.computes()) ++count[cut_text(*n.space, n.sharding)];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostSummarised); ++i)
    text += fmt::format("{}{} operator{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].second == 1 ? "" : "s", sorted[i].first);
  if (sorted.size() > kMostSummarised)
    text += fmt::format(", {} other cut{}", sorted.size() - kMostSummarised, sorted.size() == kMostSummarised + 1 ? "" : "s");
  return text;
}

}  // namespace search
