#include "sim/unrolling/compiled_block.hpp"

#include <algorithm>

#include "sim/unrolling/class_times.hpp"

namespace sim {
namespace {

class Counter {
 public:
  Counter(const Program& program, const Folded& folded, const ClassTimes& times)
      : program_(program), folded_(folded), times_(times), work_(folded.sizes.size()), set_classes_(program, folded) {}

  void operator()(const Compute& kernels) { add(kernels.devices, kernels.parts, kernels.host_drains); }
  // A mark waits for the launches before it, as kernels that take no time would.
  void operator()(const Mark& mark) { add(mark.devices, {}, false); }
  void operator()(const Copy&) {}  // one command, small beside its bytes
  void operator()(const Move& move) {
    const auto& rounds = folded_.of_movement[move.movement.value];
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      const Transfer& transfer = program_.movements[move.movement.value].rounds[r].front();
      for (std::uint32_t t : rounds[r])
        for (std::uint32_t c : folded_.transfers[t].waits_for) launch(work_[c], times_.launch_s(transfer, c));
    }
  }
  [[nodiscard]] std::vector<HostWork> result() && { return std::move(work_); }

 private:
  static void launch(HostWork& h, double seconds) {
    h.launches_s += seconds;
    h.reached_s += seconds;
  }

  void add(DeviceSetId devices, std::span<const Part> parts, bool drains) {
    for (std::uint32_t c : set_classes_.of(devices)) {
      HostWork& h = work_[c];
      if (drains && h.first_s) h.reached_s = std::max(h.reached_s, *h.first_s + h.kernels_s);
      launch(h, times_.launch_s(parts, c));
      // The device begins with the first kernels, and is at these ones when all kernels before them have run: a launch that ends later
      // holds it up.
      if (!h.first_s) {
        if (!parts.empty()) h.first_s = h.reached_s;
      } else h.most_waited_s = std::max(h.most_waited_s, h.reached_s - *h.first_s - h.kernels_s);
      h.kernels_s += times_.kernels_s(parts, c);
    }
  }

  const Program& program_;
  const Folded& folded_;
  const ClassTimes& times_;
  std::vector<HostWork> work_;
  SetClasses set_classes_;
};

}  // namespace

std::vector<HostWork> host_work(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times) {
  Counter counter(program, folded, times);
  for (const Item& item : block.items) std::visit(counter, item.work);
  return std::move(counter).result();
}

}  // namespace sim
