#include "sim/engine/simgrid_engine.hpp"

#include <fmt/format.h>
#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "sim/engine/executor.hpp"
#include "sim/engine/simgrid_versions.hpp"

namespace sim {
namespace {

namespace s4u = simgrid::s4u;
namespace versions = simgrid_versions;

// CM02 without its TCP parts is plain max-min sharing. Latencies are delays of ours and every link's is 0: SimGrid would also take
// them as sharing weights. Precision: a default of 1 ns is much against collectives of a microsecond.
constexpr std::array kSettings = {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e15", "network/weight-S:0",
                                  "surf/precision:1e-12"};

// Payloads are whole numbers of 64 bits: count in 2^-16 B, so that a fraction of a byte is kept, or in the least power of two that leaves
// the largest flow of the graph below 2^62.
constexpr int kFinestUnit = -16, kMostPayloadBits = 62;
// A link is listed this often in a route at most.
constexpr double kMostShares = 1 << 16;

// SimGrid adds the time until its next event to the clock, and looks for what is due to within its precision, which is absolute. From 2^12
// s on one bit of the clock is more than 1e-12 s: a step that rounds beyond a flow's end would leave the flow behind, with all that end
// after it. A step to at most twice the clock is exact, so a timer ends each step at the next power of two.
double next_exact_date(double clock_s) { return std::exp2(std::max(12, std::ilogb(clock_s) + 1)); }

// An Engine takes over signals, and prints each setting; we want neither.
std::unique_ptr<s4u::Engine> make_engine() {
  constexpr std::array kSignals = {SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, kSignals.size()> before{};
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  static const bool first = [] {
    xbt_log_control_set("root.thresh:error");
    return true;
  }();
  auto engine = std::make_unique<s4u::Engine>("foreshard");
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
  static const bool configured = [] {
    for (const char* setting : kSettings) s4u::Engine::set_config(setting);
    return true;
  }();
  static_cast<void>(first && configured);
  return engine;
}

// How a link's capacity is divided into shares so that every weight on it is a whole number of them: the smallest weight, or it
// divided by up to 16.
double share_of(const std::vector<double>& weights, std::size_t link) {
  const double least = *std::ranges::min_element(weights);
  for (int divisor = 1; divisor <= 16; ++divisor) {
    const double share = least / divisor;
    if (std::ranges::all_of(
            weights, [&](double w) { return std::abs(w / share - std::round(w / share)) < 1e-9 * w / share && w / share <= kMostShares; }))
      return share;
  }
  base::fail_check(__FILE__, __LINE__, "weights are commensurate",
                   fmt::format("weights from {} on link {} are no whole multiples of one share", least, link));
}

double units_per_byte_of(const TaskGraph& graph) {
  double largest = 1;
  for (const Step& s : graph.steps)
    for (const Phase& p : s.phases)
      for (const Flow& f : p.flows)
        if (std::isfinite(f.bytes.value())) largest = std::max(largest, f.bytes.value());
  return std::ldexp(1.0, std::min(-kFinestUnit, kMostPayloadBits - 1 - std::ilogb(largest)));
}

// SimGrid allows one engine per process, and one that has thrown while flows ran can be neither used nor destroyed.
bool engine_is_lost = false;

// The links and routes of a graph in SimGrid, and the flows that run on them. SimGrid is not written for exceptions that pass through it:
// those of `arrived` and of timers are kept until SimGrid has returned.
class SimGridFlows {
 public:
  // `arrived` is called with the tag of each flow that has arrived.
  SimGridFlows(const TaskGraph& graph, std::function<void(std::uint32_t)> arrived)
      : arrived_(std::move(arrived)), units_per_byte_(units_per_byte_of(graph)), engine_(make_engine()) {
    zone_ = &versions::full_zone(*engine_);
    add_links(graph);
    add_routes(graph);
    zone_->seal();
    versions::on_each_arrival([this](const s4u::Activity& a) { completed(a); });
  }
  // Flows that still run when an exception ends the simulation run out first: SimGrid frees them twice if its engine goes while they run.
  ~SimGridFlows() {
    is_ending_ = true;
    if (running_flows_ > 0 && !engine_is_lost) drain();
    versions::on_each_arrival({});
    if (engine_is_lost) abandon();
  }
  SimGridFlows(const SimGridFlows&) = delete;
  SimGridFlows& operator=(const SimGridFlows&) = delete;

  void start(std::uint32_t route, double bytes, std::uint32_t tag) {
    const double units = std::max(1.0, std::round(bytes * units_per_byte_));
    BASE_CHECK(units < 0x1p63, "a flow of {} B", bytes);
    Running& r = slot();
    r.tag = tag;
    r.comm = s4u::Comm::sendto_init(ends_[route].first, ends_[route].second);
    r.comm->set_data(&r);
    r.comm->set_payload_size(static_cast<std::uint64_t>(units));
    r.comm->start();
    ++running_flows_;
  }
  [[nodiscard]] std::size_t running() const { return running_flows_; }
  // Until no flow runs and no timer is set. Throws: what `arrived` or a guarded function threw.
  void run() {
    try {
      engine_->run();
    } catch (...) {  // SimGrid's own: its state is unknown
      engine_is_lost = true;
      throw;
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    BASE_CHECK(running_flows_ == 0, "SimGrid ended at {} s while {} flows ran", s4u::Engine::get_clock(), running_flows_);
  }
  // Calls a function of ours inside SimGrid. Once one has thrown, no other is called: the flows that run run out.
  template <class Act>
  void guarded(Act act) {
    if (is_ending_) return;
    try {
      act();
    } catch (...) {
      is_ending_ = true;
      failure_ = std::current_exception();
    }
  }

 private:
  struct Running {
    s4u::CommPtr comm;
    std::uint32_t tag = 0;
  };

  void add_links(const TaskGraph& graph) {
    std::vector<std::vector<double>> weights(graph.links.size());
    for (const std::vector<WeightedLink>& route : graph.routes)
      for (const WeightedLink& l : route) weights[l.link].push_back(l.weight);
    links_.resize(graph.links.size());
    shares_.resize(graph.links.size());
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      if (weights[l].empty()) continue;
      shares_[l] = share_of(weights[l], l);
      links_[l] = versions::add_link(*zone_, fmt::format("l{}", l), graph.links[l].value() * units_per_byte_ / shares_[l]);
    }
  }

  // SimGrid knows one route per pair of hosts, and its table is the square of the hosts: as few hosts as have enough pairs.
  void add_routes(const TaskGraph& graph) {
    std::size_t hosts = 2;
    while (hosts * (hosts - 1) < graph.routes.size()) ++hosts;
    std::vector<s4u::Host*> all;
    for (std::size_t h = 0; h < hosts; ++h) all.push_back(versions::add_host(*zone_, fmt::format("h{}", h)));
    for (std::size_t r = 0; r < graph.routes.size(); ++r) {
      const std::size_t from = r / (hosts - 1);
      const std::size_t to = r % (hosts - 1) + (r % (hosts - 1) >= from ? 1 : 0);
      ends_.emplace_back(all[from], all[to]);
      std::vector<s4u::LinkInRoute> links;  // a link that is listed k times takes k shares
      for (const WeightedLink& l : graph.routes[r])
        links.insert(links.end(), static_cast<std::size_t>(std::round(l.weight / shares_[l.link])), s4u::LinkInRoute(links_[l.link]));
      if (!links.empty()) versions::add_route(*zone_, all[from], all[to], links);
    }
  }

  // SimGrid still touches a Comm after its callback: it is freed when its slot is taken again, at the earliest at the next event.
  Running& slot() {
    if (!free_.empty() && free_.front().first < s4u::Engine::get_clock()) {
      Running& r = *free_.front().second;
      free_.pop_front();
      return r;
    }
    return running_.emplace_back();
  }

  void completed(const s4u::Activity& activity) {
    Running* r = activity.get_data<Running>();
    --running_flows_;
    guarded([&] {
      free_.emplace_back(s4u::Engine::get_clock(), r);
      arrived_(r->tag);
    });
  }

  void drain() noexcept {
    try {
      engine_->run();
    } catch (...) { engine_is_lost = true; }
    engine_is_lost = engine_is_lost || running_flows_ > 0;
  }
  // Leaves the engine and its flows behind.
  void abandon() {
    static_cast<void>(engine_.release());
    static_cast<void>(new std::deque<Running>(std::move(running_)));  // NOLINT(cppcoreguidelines-owning-memory): on purpose
  }

  std::function<void(std::uint32_t)> arrived_;
  double units_per_byte_;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::deque<Running> running_;  // outlives the engine that is destroyed first
  std::deque<std::pair<double, Running*>> free_;
  std::unique_ptr<s4u::Engine> engine_;
  s4u::NetZone* zone_ = nullptr;
  std::size_t running_flows_ = 0;
  std::vector<s4u::Link*> links_;
  std::vector<double> shares_;                           // per link: the weight that one listing stands for
  std::vector<std::pair<s4u::Host*, s4u::Host*>> ends_;  // per route
};

// While flows contend, SimGrid keeps the clock and one timer, at the executor's next moment or before it; else the executor goes on by
// itself, and an engine is made only for a graph whose flows do contend.
class SimGridNetwork final : public FlowNetwork {
 public:
  explicit SimGridNetwork(const TaskGraph& graph) : graph_(graph) {}
  ~SimGridNetwork() override { disarm(); }
  SimGridNetwork(const SimGridNetwork&) = delete;
  SimGridNetwork& operator=(const SimGridNetwork&) = delete;

  void start(std::uint32_t route, double bytes, std::uint32_t tag) override {
    if (!flows_) flows_ = std::make_unique<SimGridFlows>(graph_, [this](std::uint32_t task) { arrived(task); });
    if (flows_->running() == 0) versions::set_clock(executor_->now_s());  // nothing runs in SimGrid that could miss the time between
    flows_->start(route, bytes, tag);
  }

  void run(Executor& executor) {
    executor_ = &executor;
    executor.start();
    while (true) {
      if (flows_ && flows_->running() > 0) {
        arm();
        flows_->run();
      } else if (const std::optional<double> next = executor.next_wake()) {
        executor.wake(*next);
      } else {
        break;
      }
    }
    executor_ = nullptr;
  }

 private:
  void arrived(std::uint32_t task) {
    executor_->flow_ended(task, s4u::Engine::get_clock());
    arm();
  }

  // The timer keeps SimGrid running, so it is set while flows are.
  void arm() {
    if (flows_->running() == 0) return disarm();
    const double clock = s4u::Engine::get_clock();
    const double next = std::min(executor_->next_wake().value_or(HUGE_VAL), next_exact_date(clock));
    if (timer_ && timer_->get_date() == next) return;
    disarm();
    timer_ = versions::Timer::set(std::max(next, clock), [this] {
      timer_ = nullptr;  // SimGrid deletes it
      flows_->guarded([this] {
        executor_->wake(s4u::Engine::get_clock());
        arm();
      });
    });
  }
  void disarm() {
    if (timer_) std::exchange(timer_, nullptr)->remove();
  }

  const TaskGraph& graph_;
  std::unique_ptr<SimGridFlows> flows_;
  Executor* executor_ = nullptr;
  versions::Timer* timer_ = nullptr;
};

}  // namespace

Timeline simulate(const TaskGraph& graph) {
  BASE_CHECK(!engine_is_lost, "SimGrid's engine of this process has failed before");
  BASE_CHECK(versions::set_clock(-1) && versions::set_clock(0),
             "SimGrid's clock is not where this version of SimGrid is expected to keep it");
  SimGridNetwork network(graph);
  Executor executor(graph, network);
  network.run(executor);
  return std::move(executor).finish();
}

std::string engine_settings() { return fmt::format("{}", fmt::join(kSettings, " ")); }

}  // namespace sim
