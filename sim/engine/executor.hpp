#pragma once
// Decides when the tasks of a TaskGraph run: ready counters, streams, phases, slowdown. It keeps its own queue of delays, of flows that are
// alone on their links too, and leaves flows that share links to a FlowNetwork, so that the network simulator only ever sees what contends
// now. Knows nothing of SimGrid.

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine/phases_alone.hpp"
#include "sim/engine/task_graph.hpp"

namespace sim {

// A network that moves bytes. Times are seconds since the start of the run.
class FlowNetwork {
 public:
  virtual ~FlowNetwork() = default;
  // Starts a flow now; Executor::flow_ended(tag, now) is called when it has arrived. Requires: bytes > 0, the route has links.
  virtual void start(std::uint32_t route, double bytes, std::uint32_t tag) = 0;
};

class Executor {
 public:
  // Throws: base::InternalError when an index is out of range, a bandwidth or a weight is not above 0 (a bandwidth: or not finite), a delay
  // or bytes are negative, a slowdown is below 1, or a task names a stream twice.
  Executor(const TaskGraph& graph, FlowNetwork& network);

  void start();                                       // at time 0
  void flow_ended(std::uint32_t task, double now_s);  // one flow of the task has arrived
  void wake(double now_s);                            // ends the delays and the flows that run alone that are due
  [[nodiscard]] double now_s() const { return now_s_; }
  // Returns: when wake() is wanted next, if nothing else happens before; nullopt: the executor has nothing to wait for itself. Cost: O(log
  // tasks) amortised.
  [[nodiscard]] std::optional<double> next_wake();
  // Throws: base::InternalError when not every task has ended, naming one that cannot start.
  [[nodiscard]] Timeline finish() &&;

 private:
  struct Wake {
    double time_s;
    std::uint32_t task, version;
    bool operator>(const Wake& o) const { return time_s != o.time_s ? time_s > o.time_s : task > o.task; }
  };
  struct Progress {  // of a task that runs
    std::uint32_t phase = 0, flows = 0;
    std::uint32_t version = 0;  // of its delay; older entries in wakes_ are stale
    bool is_alone = false;      // its flows run without the network
    double since_s = 0;         // then: since when
  };
  struct Work {  // of a compute task's delay, kept only when some device slows down
    double remaining_s = 0, rate = 1, since_s = 0;
  };

  void build_streams();
  void build_successors();
  void begin(std::uint32_t task);
  void advance(std::uint32_t task);  // enters phases until one takes time, or ends the task
  void end(std::uint32_t task);
  void unblock(std::uint32_t task);
  void run_ready();
  void begin_delay(std::uint32_t task, double delay_s);
  void begin_flows(std::uint32_t task, std::size_t phase);
  // The network goes on with flows that are no longer alone.
  void continue_in_simgrid(std::uint32_t task);
  void free_links(std::uint32_t task);
  const PhaseAlone& alone(std::uint32_t task, std::size_t phase);
  void communication_changed(std::uint32_t task, int change);
  void set_rates(std::uint32_t device);
  [[nodiscard]] double rate_of(std::uint32_t task) const;
  template <class Visit>
  void each_device(std::uint32_t task, Visit visit) const;
  [[nodiscard]] std::span<const std::uint32_t> streams_of(std::uint32_t task) const;
  [[nodiscard]] const Step& step_of(std::uint32_t task) const { return graph_.steps[graph_.tasks[task].step]; }
  [[nodiscard]] bool slows(std::uint32_t task) const { return slows_ && step_of(task).kind == StepKind::transfer; }
  [[nodiscard]] bool is_slowed(std::uint32_t task) const { return slows_ && step_of(task).kind == StepKind::kernels; }

  const TaskGraph& graph_;
  FlowNetwork& network_;
  double now_s_ = 0;
  std::vector<std::uint32_t> blockers_;                          // per task: dependencies and streams that it waits for
  std::vector<std::uint32_t> successors_, successors_begin_;     // per task, compressed
  std::vector<std::uint32_t> queue_, queue_begin_, queue_head_;  // per stream, compressed: its tasks in order
  std::vector<Progress> progress_;                               // per task
  std::vector<std::uint32_t> ready_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  std::size_t ended_ = 0;
  Timeline timeline_;

  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::vector<PhaseAlone>> alone_;  // [step][phase]: those met so far
  std::vector<std::uint32_t> users_;            // per link: tasks whose flows cross it
  std::vector<std::uint32_t> alone_on_;         // per link: the task that runs alone there, or kNone

  bool slows_ = false;                                 // some device slows compute down
  std::vector<Work> work_;                             // per task, empty unless slows_
  std::vector<int> communicating_;                     // per device
  std::vector<std::vector<std::uint32_t>> computing_;  // per device: tasks in a delay that can be slowed
};

}  // namespace sim
