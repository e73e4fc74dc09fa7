#include "sim/schedules/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "pcg/plan/plan.hpp"
#include "tests/about.hpp"

using sim::Slot;

namespace {

// I and W: the two parts of a backward pass.
std::string letter(sim::Pass pass) {
  switch (pass) {
    case sim::Pass::forward: return "F";
    case sim::Pass::inputs: return "I";
    case sim::Pass::weights: return "W";
    default: return "B";
  }
}

std::string text(const std::vector<Slot>& slots) {
  std::string s;
  for (const Slot& x : slots) s += letter(x.pass) + std::to_string(x.micro_batch) + (x.chunk ? "'" : "") + " ";
  return s;
}

// Of every kind that can have so many ranks and micro-batches.
std::vector<sim::Schedule> every_schedule(int ranks, int micro_batches) {
  using enum pcg::ScheduleKind;
  std::vector<sim::Schedule> all{
      {gpipe, ranks, 1, micro_batches},          {one_f_one_b, ranks, 1, micro_batches}, {one_f_one_b, ranks, 1, micro_batches, true},
      {breadth_first, ranks, 3, micro_batches},  {zero_bubble, ranks, 1, micro_batches}, {two_bw, ranks, 1, micro_batches},
      {dual_pipe, ranks, 2, micro_batches, true}};
  for (const bool merges : {false, true}) {
    if (micro_batches % ranks == 0) all.push_back({interleaved, ranks, 3, micro_batches, merges});
    for (const int group : {ranks, ranks + 1, micro_batches})
      if (group >= std::min(ranks, micro_batches)) all.push_back({flexible, ranks, 3, micro_batches, merges, group});
  }
  if (micro_batches % ranks == 0) all.push_back({interleaved, ranks, 3, micro_batches, false, 0, true});
  if (micro_batches >= ranks) all.push_back({flexible, ranks, 3, micro_batches, false, ranks, true});
  return all;
}

struct Durations {
  double forward = 1, inputs = 1, weights = 1;
  [[nodiscard]] double of(sim::Pass pass) const {
    if (pass == sim::Pass::forward) return forward;
    return pass == sim::Pass::inputs ? inputs : pass == sim::Pass::weights ? weights : inputs + weights;
  }
};

// Runs the slots of all ranks, each as soon as what it needs is there. Merged passes begin together and are done together.
class Walk {
 public:
  Walk(const sim::Schedule& s, const Durations& d) : schedule_(s), durations_(d), now_(static_cast<std::size_t>(s.ranks), 0) {
    for (int r = 0; r < s.ranks; ++r) slots_.push_back(sim::slots_of(s, r));
  }

  // 0: the ranks wait for each other.
  double run() && {
    std::vector<std::size_t> next(slots_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < slots_.size(); ++r)
        while (next[r] < slots_[r].size() && step(r, next[r])) moved = true;
    }
    for (std::size_t r = 0; r < slots_.size(); ++r)
      if (next[r] < slots_[r].size()) return 0;
    return *std::ranges::max_element(now_);
  }

 private:
  // Of a stage's passes: forward 0, backward (to its inputs) 1, gradients of weights 2.
  using Key = std::tuple<int, int, int>;
  std::optional<double> end_of(int pass, int stage, int micro_batch) const {
    if (stage < 0 || stage >= schedule_.ranks * schedule_.chunks) return 0;
    const auto at = ends_.find({pass, stage, micro_batch});
    return at == ends_.end() ? std::nullopt : std::optional(at->second);
  }
  static int number(sim::Pass pass) { return pass == sim::Pass::forward ? 0 : pass == sim::Pass::weights ? 2 : 1; }

  bool step(std::size_t rank, std::size_t& next) {
    const std::size_t count = slots_[rank][next].merged ? 2 : 1;
    double start = now_[rank], work = 0;
    for (std::size_t i = next; i < next + count; ++i) {
      const Slot& x = slots_[rank][i];
      const int stage = pcg::stage_of(schedule_.kind, schedule_.ranks, static_cast<int>(rank), x.chunk);
      std::vector<std::optional<double>> needs;
      if (x.pass == sim::Pass::forward) needs = {end_of(0, stage - 1, x.micro_batch)};
      else if (x.pass == sim::Pass::weights) needs = {end_of(1, stage, x.micro_batch)};
      else needs = {end_of(0, stage, x.micro_batch), end_of(1, stage + 1, x.micro_batch)};
      for (const auto& need : needs) {
        if (!need) return false;
        start = std::max(start, *need);
      }
      work += durations_.of(x.pass);
    }
    now_[rank] = start + work;
    for (std::size_t end = next + count; next < end; ++next) {
      const Slot& x = slots_[rank][next];
      ends_[{number(x.pass), pcg::stage_of(schedule_.kind, schedule_.ranks, static_cast<int>(rank), x.chunk), x.micro_batch}] = now_[rank];
    }
    return true;
  }

  const sim::Schedule& schedule_;
  Durations durations_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<double> now_;
  std::map<Key, double> ends_;
};

double makespan(const sim::Schedule& s, const Durations& d) { return Walk(s, d).run(); }

}  // namespace

TEST_CASE("1F1B warms up with pipeline - rank - 1 forward passes") {
  CHECK(text(sim::slots_of({pcg::ScheduleKind::one_f_one_b, 3, 1, 4}, 0)) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text(sim::slots_of({pcg::ScheduleKind::one_f_one_b, 3, 1, 4}, 2)) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST_CASE("GPipe runs all forward first") { CHECK(text(sim::slots_of({pcg::ScheduleKind::gpipe, 3, 1, 3}, 1)) == "F0 F1 F2 B0 B1 B2 "); }

TEST_CASE("interleaving takes turns of `pipeline` micro-batches per chunk, backward from the last chunk") {
  // rank 1 of 2 with two chunks and four micro-batches: warm-up 2 (2-1-1) + (2-1) 2 = 2 passes
  CHECK(text(sim::slots_of({pcg::ScheduleKind::interleaved, 2, 2, 4}, 1)) == "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 ");
}

TEST_CASE("ZB-H1 leaves the gradients of weights to passes that come as many micro-batches later as the rank is deep") {
  CHECK(text(sim::slots_of({pcg::ScheduleKind::zero_bubble, 3, 1, 4}, 0)) == "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3 ");
  CHECK(text(sim::slots_of({pcg::ScheduleKind::zero_bubble, 3, 1, 4}, 2)) == "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3 ");
}

TEST_CASE("flexible rounds are as equal as they can be, breadth-first is one round") {
  // Five micro-batches in groups of two: a round of three, one of two. The last rank of two warms up with a chunk's round.
  CHECK(text(sim::slots_of({pcg::ScheduleKind::flexible, 2, 2, 5, false, 2}, 1)) ==
        "F0 F1 F2 F0' B0' F1' B1' F2' B2' F3 B0 F4 B1 F3' B2 F4' B3' B4' B3 B4 ");
  CHECK(text(sim::slots_of({pcg::ScheduleKind::breadth_first, 2, 2, 3}, 0)) == "F0 F1 F2 F0' F1' F2' B0' B1' B2' B0 B1 B2 ");
}

TEST_CASE("every schedule runs each chunk and micro-batch once forward, then once backward, gradients of weights last") {
  for (const int micro_batches : {3, 5, 8})
    for (const sim::Schedule& s : every_schedule(4, micro_batches))
      for (int rank = 0; rank < s.ranks; ++rank) {
        std::map<std::pair<int, int>, std::string> passes;
        for (const Slot& x : sim::slots_of(s, rank)) passes[{x.chunk, x.micro_batch}] += letter(x.pass);
        CHECK(passes.size() == static_cast<std::size_t>(s.micro_batches * s.chunks));
        for (const auto& [key, order] : passes) CHECK((order == "FB" || order == "FIW"));
      }
}

TEST_CASE("no schedule lets its ranks wait for each other") {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int m = 1; m <= 13; ++m)
      for (const sim::Schedule& s : every_schedule(ranks, m)) {
        CAPTURE(static_cast<int>(s.kind));
        CAPTURE(ranks);
        CAPTURE(m);
        CHECK(makespan(s, {1, 1, 1}) > 0);
      }
}

// What an iteration takes beyond the work of a rank, with stages of equal length and messages that take no time.
TEST_CASE("bubbles of the schedules") {
  using enum pcg::ScheduleKind;
  const Durations times{2, 3, 2};
  const double f = times.forward, b = times.inputs + times.weights, i = times.inputs, w = times.weights;
  for (const int p : {2, 4, 8})
    for (const int m : {8, 11, 24}) {
      CAPTURE(p);
      CAPTURE(m);
      const auto bubble = [&](const sim::Schedule& s) { return makespan(s, times) - m * s.chunks * (f + b); };
      // The first micro-batch comes to the last rank through p - 1 others, and its last gradient goes back through as many.
      CHECK(bubble({gpipe, p, 1, m}) == test::about((p - 1) * (f + b)));
      CHECK(bubble({one_f_one_b, p, 1, m}) == test::about((p - 1) * (f + b)));
      // Chunks are 1/v of a stage, here as long as a stage: the same, where a stage's work is v times as much (arXiv 2104.04473, section
      // 2.2; 2211.05953, section 4).
      CHECK(bubble({flexible, p, 3, m, false, p}) == test::about((p - 1) * (f + b)));
      CHECK(bubble({flexible, p, 3, m, false, m}) == test::about((p - 1) * (f + b)));
      // A lean warm-up costs nothing as long as messages take no time.
      CHECK(bubble({flexible, p, 3, m, false, p, true}) == test::about((p - 1) * (f + b)));
      if (m % p == 0) CHECK(bubble({interleaved, p, 3, m, false, 0, true}) == test::about((p - 1) * (f + b)));
      CHECK(bubble({breadth_first, p, 3, m}) == test::about((p - 1) * (f + b)));
      // A rank passes a gradient on before it makes those of its weights, so that the way back takes p - 1 passes less by W each; and the
      // gradients of weights that it has left fill as much of what remains (arXiv 2401.10241, table 2).
      CHECK(bubble({zero_bubble, p, 1, m}) == test::about((p - 1) * (f + i - w)));
    }
}

TEST_CASE("DualPipe's bubble") {
  // (p/2 - 1)(F&B + B - 3W) for p places in the pipeline, p/2 pairs, where F&B is what a merged pair takes (DeepSeek-V3, arXiv 2412.19437,
  // table 2): with 2p micro-batches or more, p in each direction. Pairs send what they make when both are done.
  // Equal for passes of equal length, no longer for others.
  for (const int p : {2, 4, 8, 16})
    for (const int m : {p, p + 3, 3 * p}) {
      const sim::Schedule s{pcg::ScheduleKind::dual_pipe, p / 2, 2, m, true};
      const double pairs = p / 2 - 1;
      CHECK(makespan(s, {1, 1, 1}) == test::about(2 * m * 3 + pairs * (3 + 2 - 3 * 1)));
      CHECK(makespan(s, {2, 3, 2}) <= 2 * m * 7 + pairs * (7 + 5 - 3 * 2));
    }
}

TEST_CASE("DualPipe with fewer micro-batches than places runs them in the order that they have among as many as places") {
  for (const int ranks : {2, 3, 4})
    for (int rank = 0; rank < ranks; ++rank)
      for (int m = 1; m < 2 * ranks; ++m) {
        std::vector<Slot> expected = sim::slots_of({pcg::ScheduleKind::dual_pipe, ranks, 2, 2 * ranks, true}, rank);
        std::erase_if(expected, [&](const Slot& x) { return x.micro_batch >= m; });
        CHECK(text(sim::slots_of({pcg::ScheduleKind::dual_pipe, ranks, 2, m, true}, rank)) == text(expected));
      }
}

TEST_CASE("micro-batches that a rank keeps") {
  using enum pcg::ScheduleKind;
  // Until the gradients of their weights are made.
  const auto most = [](const sim::Schedule& s, int rank) {
    int kept = 0, largest = 0;
    for (const Slot& x : sim::slots_of(s, rank)) {
      kept += x.pass == sim::Pass::forward ? 1 : x.pass == sim::Pass::inputs ? 0 : -1;
      largest = std::max(largest, kept);
    }
    return largest;
  };
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(most({one_f_one_b, 4, 1, 16}, rank) == 4 - rank);
    CHECK(most({zero_bubble, 4, 1, 16}, rank) == 4);
    // Three chunks: two rounds of four, and two or one for each rank behind.
    CHECK(most({interleaved, 4, 3, 16}, rank) == 2 * 4 + 2 * (3 - rank) + 1);
    CHECK(most({interleaved, 4, 3, 16, false, 0, true}, rank) == 2 * 4 + (3 - rank) + 1);
    // DualPipe: p + 1, of p = 8 places (its table 2), until gradients of inputs are made; what is left for the weights comes at the end.
    CHECK(most({dual_pipe, 4, 2, 16, true}, rank) == 9);
    CHECK(most({breadth_first, 4, 3, 16}, rank) == 48);
  }
}

TEST_CASE("with as many micro-batches as ranks interleaving runs all forward first, as Megatron-LM does") {
  CHECK(text(sim::slots_of({pcg::ScheduleKind::interleaved, 2, 2, 2}, 1)) == "F0 F1 F0' F1' B0' B1' B0 B1 ");
}

TEST_CASE("the share of an iteration that a schedule leaves empty where stages are equal") {
  using enum pcg::ScheduleKind;
  const auto share = [](pcg::ScheduleKind kind, int ranks, int chunks, int m) {
    return sim::empty_share({.kind = kind, .ranks = ranks, .chunks = chunks, .micro_batches = m});
  };
  // p - 1 slots of a forward and a backward pass (docs/formats/plans.md has the forms).
  CHECK(share(one_f_one_b, 16, 1, 64) == test::about(15.0 / 79));
  CHECK(share(gpipe, 4, 1, 1) == test::about(3.0 / 4));
  CHECK(share(interleaved, 4, 2, 8) == test::about(3.0 / (2 * 8 + 3)));
  CHECK(share(breadth_first, 4, 3, 8) == test::about(3.0 / (3 * 8 + 3)));
  // (p - 1)(F + B - W) of passes that take as long as each other.
  CHECK(share(zero_bubble, 4, 1, 12) == test::about(3.0 / (3 * 12 + 3)));
  CHECK(share(dual_pipe, 2, 2, 8) < share(one_f_one_b, 4, 1, 16));
  CHECK(share(one_f_one_b, 1, 1, 4) == 0);
  CHECK(share(two_bw, 4, 1, 8) == 0);
}
