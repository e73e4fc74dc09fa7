#include "search/solve/stages/stage_cuts.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "search/cost/margins.hpp"
#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Whether a stage that is asked for has these devices and parts.
bool may_be_stage(const GivenStages& given, const StageRun& run) {
  if (given.count() == 0) return true;
  std::size_t begin = 0;
  int start = 0;
  for (std::size_t s = 0; s < given.count(); ++s) {
    const bool has_devices = given.devices.empty() || (run.block.start == start && run.block.size == given.devices[s]);
    const auto parts = given.parts.empty() ? 0 : static_cast<std::size_t>(given.parts[s]);
    if (has_devices && (given.parts.empty() || (run.begin == begin && run.end == begin + parts))) return true;
    if (!given.devices.empty()) start += given.devices[s];
    begin += parts;
  }
  return false;
}

class StageProgram {
 public:
  StageProgram(const StageQuestion& q, const Budget& budget) : q_(q), budget_(budget), blocks_(stage_blocks(q)), ends_(q.parts + 1) {
    most_stages_ = std::min({q.most_stages, q.parts, static_cast<std::size_t>(q.devices)});
    seconds_.assign(q.parts * blocks_.size() * ends_, kNever);
    most_after_.assign(seconds_.size(), -1);
    budget_.spend(sim::kStageCost * static_cast<double>(seconds_.size()) / 2);
    for (std::size_t begin = 0; begin < q.parts; ++begin)
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        for (std::size_t end = begin + 1; end <= q.parts; ++end) {
          const StageRun run{begin, end, blocks_[b]};
          if ((begin == 0) != (run.block.start == 0) || (end == q.parts) != (run.block.start + run.block.size == q.devices)) continue;
          if (!may_be_stage(q.given, run)) continue;
          const std::size_t at = index(begin, b, end);
          most_after_[at] = q.most_after(run);
          if (most_after_[at] >= 0) seconds_[at] = q.seconds(run);
        }
  }

  std::optional<StageCuts> cheapest() {
    const std::map<long, Rung> rungs = ladder();
    const auto quickest = std::ranges::partition_point(rungs, [&](const auto& r) { return !with_slowest(r.second.slowest); });
    if (quickest == rungs.end()) return std::nullopt;
    const double least_sum = with_slowest(rungs.rbegin()->second.slowest)->sum;
    std::optional<StageCuts> best;
    for (auto r = quickest; r != rungs.end(); ++r) {
      if (best && (q_.stays_full || seconds(least_sum, r->second.quickest) >= best->seconds)) break;
      std::optional<StageCuts> found = with_slowest(r->second.slowest);
      if (!best || found->seconds < best->seconds) best = std::move(found);
    }
    return best;
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t begin, std::size_t block, std::size_t end) const {
    return (begin * blocks_.size() + block) * ends_ + end;
  }
  [[nodiscard]] std::size_t state(std::size_t begin, int device) const { return static_cast<std::size_t>(device) * ends_ + begin; }

  struct Choice {
    std::uint32_t block = 0, end = 0;
  };
  // Stages that are within a hundredth of each other.
  struct Rung {
    double quickest = kNever, slowest = 0;
  };
  [[nodiscard]] std::map<long, Rung> ladder() const {
    std::map<long, Rung> rungs;
    for (const double s : seconds_) {
      if (s == kNever) continue;
      Rung& r = rungs[s > 0 ? std::lround(std::floor(std::log(s) / std::log(kNextSlowest))) : std::numeric_limits<long>::min()];
      r = {std::min(r.quickest, s), std::max(r.slowest, s)};
    }
    return rungs;
  }

  [[nodiscard]] double seconds(double sum, double slowest) const {
    return q_.stays_full ? slowest * q_.micro_batches : sum + slowest * (q_.micro_batches - 1);
  }

  // The stages with the least sum of which none is slower.
  std::optional<StageCuts> with_slowest(double slowest) {
    std::optional<StageCuts> free = of_any_number(slowest);
    return !free || is_allowed(free->stages) ? free : of_each_number(slowest);
  }

  // The fewest of those with the least sum, however many they are and may come after each of them.
  std::optional<StageCuts> of_any_number(double slowest) {
    struct Rest {
      double sum = kNever;
      std::size_t stages = 0;
      Choice choice;
    };
    budget_.spend(sim::kStageTried * static_cast<double>(seconds_.size()) / 2);
    std::vector<Rest> rests(ends_ * static_cast<std::size_t>(q_.devices + 1));  // by state
    rests[state(q_.parts, q_.devices)].sum = 0;
    for (std::size_t begin = q_.parts; begin-- > 0;)
      for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
        Rest& here = rests[state(begin, blocks_[b].start)];
        const int next = blocks_[b].start + blocks_[b].size;
        for (std::size_t end = begin + 1; end <= q_.parts; ++end) {
          const double s = seconds_[index(begin, b, end)];
          const Rest& rest = rests[state(end, next)];
          const double sum = s + rest.sum;
          if (s > slowest || sum > here.sum || (sum == here.sum && rest.stages + 1 >= here.stages)) continue;
          here = {sum, rest.stages + 1, {b, static_cast<std::uint32_t>(end)}};
        }
      }
    if (rests[state(0, 0)].sum == kNever) return std::nullopt;
    return cuts([&](std::size_t begin, int device) { return rests[state(begin, device)].choice; });
  }

  [[nodiscard]] bool is_allowed(const std::vector<StageRun>& stages) const {
    if (stages.size() < q_.fewest_stages || stages.size() > most_stages_) return false;
    for (std::size_t s = 0; s < stages.size(); ++s)
      if (q_.most_after(stages[s]) < static_cast<int>(stages.size() - s - 1)) return false;
    return true;
  }

  // By the number of stages from a part to the end, on as many of the last devices.
  std::optional<StageCuts> of_each_number(double slowest) {
    const std::size_t states = ends_ * static_cast<std::size_t>(q_.devices + 1);
    std::vector<std::vector<double>> sum{std::vector<double>(states, kNever)};
    sum[0][state(q_.parts, q_.devices)] = 0;
    // By device: the parts from which stages on the devices from it on are possible.
    std::vector<Ends> possible(static_cast<std::size_t>(q_.devices) + 1);
    possible.back() = {q_.parts, q_.parts};
    choice_.assign(1, {});
    std::size_t best = 0;
    std::vector<std::size_t> last(q_.parts * blocks_.size(), 0);  // by begin and block: the last end of runs that are no slower
    for (std::size_t i = 0; i < seconds_.size(); ++i)
      if (seconds_[i] <= slowest) last[i / ends_] = i % ends_;
    for (std::size_t stages = 1; stages <= most_stages_; ++stages) {
      budget_.spend(sim::kStageTried * static_cast<double>(seconds_.size()) / 2);
      const std::vector<double>& rest = sum.back();
      std::vector<double> here(states, kNever);
      std::vector<Choice>& choice = choice_.emplace_back(states);
      std::vector<Ends> possible_here(possible.size());
      for (std::size_t begin = 0; begin < q_.parts; ++begin)
        for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
          const int next = blocks_[b].start + blocks_[b].size;
          const std::size_t at = state(begin, blocks_[b].start);
          const Ends& ends = possible[static_cast<std::size_t>(next)];
          const std::size_t longest = std::min(ends.last, last[begin * blocks_.size() + b]);
          for (std::size_t end = std::max(begin + 1, ends.first); end <= longest; ++end) {
            const double s = seconds_[index(begin, b, end)], all = s + rest[state(end, next)];
            if (all >= here[at] || s > slowest || most_after_[index(begin, b, end)] + 1 < static_cast<int>(stages)) continue;
            here[at] = all;
            choice[at] = {b, static_cast<std::uint32_t>(end)};
            possible_here[static_cast<std::size_t>(blocks_[b].start)].add(begin);
          }
        }
      sum.push_back(std::move(here));
      possible = std::move(possible_here);
      if (stages >= q_.fewest_stages && sum[stages][state(0, 0)] < sum[best][state(0, 0)]) best = stages;
    }
    if (best == 0) return std::nullopt;
    return cuts([&, left = best](std::size_t begin, int device) mutable { return choice_[left--][state(begin, device)]; });
  }

  // `choose`: the stage that begins with a part on a device.
  template <class Choose>
  [[nodiscard]] StageCuts cuts(Choose choose) const {
    StageCuts cuts;
    std::size_t begin = 0;
    int device = 0;
    double slowest = 0;
    while (begin < q_.parts) {
      const Choice c = choose(begin, device);
      cuts.stages.push_back({begin, c.end, blocks_[c.block]});
      const double s = seconds_[index(begin, c.block, c.end)];
      cuts.sum += s;
      slowest = std::max(slowest, s);
      begin = c.end;
      device += blocks_[c.block].size;
    }
    cuts.seconds = seconds(cuts.sum, slowest);
    return cuts;
  }

  struct Ends {
    std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
    void add(std::size_t part) {
      first = std::min(first, part);
      last = std::max(last, part);
    }
  };

  const StageQuestion& q_;
  const Budget& budget_;
  std::vector<DeviceBlock> blocks_;
  std::size_t ends_, most_stages_ = 1;
  std::vector<double> seconds_;              // by begin, block and end
  std::vector<int> most_after_;              // likewise
  std::vector<std::vector<Choice>> choice_;  // by stages and state
};

}  // namespace

std::vector<DeviceBlock> stage_blocks(const StageQuestion& q) {
  std::vector<DeviceBlock> blocks;
  for (const int size : q.sizes)
    for (int start = 0; start + size <= q.devices; ++start) {
      const bool is_inside = start / q.machine == (start + size - 1) / q.machine;
      const bool is_whole = start % q.machine == 0 && size % q.machine == 0;
      if (is_inside || is_whole) blocks.push_back({start, size});
    }
  return blocks;
}

std::optional<StageCuts> cheapest_stages(const StageQuestion& q, const Budget& budget) {
  if (!q.equally_many) return StageProgram(q, budget).cheapest();
  std::optional<StageCuts> best;
  for (std::size_t stages = std::max<std::size_t>(1, q.fewest_stages); stages <= std::min(q.most_stages, q.parts); ++stages) {
    if (q.parts % stages != 0) continue;
    StageQuestion even = q;
    even.fewest_stages = even.most_stages = stages;
    even.most_after = [&](const StageRun& r) { return (r.end - r.begin) * stages == q.parts ? q.most_after(r) : -1; };
    std::optional<StageCuts> found = StageProgram(even, budget).cheapest();
    if (found && (!best || found->seconds < best->seconds)) best = std::move(found);
  }
  return best;
}

}  // namespace search
