#include "search/solve/operators/strategies.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace search
