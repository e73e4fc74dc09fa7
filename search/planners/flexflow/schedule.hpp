#pragma once
// A simulated schedule of an iteration whose operators have places: FlexFlow's execution simulator (Jia et al., MLSys'19, section 5) with
// the streams that devices have here. It knows seconds and devices, and nothing of what operators compute.

#include <cstdint>
#include <span>
#include <vector>

namespace search {

// What an operator does on devices `start` to `start + devices - 1`, in seconds.
struct ScheduledOperator {
  int start = 0, devices = 1;
  double forward = 0, backward = 0;
  double synchronisation = 0;  // of adding up gradients, behind its part of the backward pass
  double update = 0;
};

// A tensor on its way to a reader, and its gradient on its way back, in seconds; 0: nothing moves.
struct MovementTimes {
  double forward = 0, backward = 0;
};

// Each device has three streams, which take their work in the order of the graph, and in the backward pass in reverse:
// - kernels: an operator begins when its inputs have come and all of its devices have come to it;
// - movements, in which the devices of both operators take part; they begin when the tensor is made;
// - gradients, which are added up beside the backward pass; where they and movements meet, they share the network.
// The backward pass begins when all operators have ended their forward pass, a device's updates when it has ended all else.
class Schedule {
 public:
  struct Edge {
    std::uint32_t from = 0, to = 0;  // operators
  };
  // Requires: `from` < `to`: operators are numbered as a graph has them, inputs first.
  Schedule(int devices, std::size_t operators, std::vector<Edge> edges);

  // Returns the seconds from the first kernel to the last update. `movements`: per edge.
  // Requires: blocks end at the last device or before. Cost: O(devices + (operators + edges) x s), where blocks cut the devices into s
  // segments.
  [[nodiscard]] double seconds(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);
  // Returns, of amounts per operator, the largest sum over what one device runs. Cost: as above.
  [[nodiscard]] double most_on_a_device(std::span<const ScheduledOperator> operators, std::span<const double> amounts);

 private:
  using Stream = std::vector<double>;  // per segment: when its work so far ends
  struct Segments {                    // `end` is behind the last
    std::size_t begin = 0, end = 0;
  };
  void find_segments(std::span<const ScheduledOperator> operators);
  [[nodiscard]] double move(std::uint32_t from, std::uint32_t to, double ready, double seconds);
  void synchronise(std::uint32_t who, double ready, double seconds);
  void go_forward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);
  void go_backward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);

  int devices_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> read_by_, reads_;  // per operator: edges that begin there, and that end there
  // Kept between calls for their memory.
  std::vector<std::uint32_t> segment_of_;  // per device, and one behind the last
  std::size_t segments_ = 0;
  std::vector<Segments> places_;  // per operator
  Stream kernels_, movements_, gradients_, sums_;
  std::vector<double> ready_;  // per operator: when what it waits for has come
};

}  // namespace search
