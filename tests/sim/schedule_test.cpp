#include "sim/schedules/schedule.hpp"

#include <doctest/doctest.h>

#include <map>

using sim::Slot;

namespace {

std::string text(const std::vector<Slot>& slots) {
  std::string s;
  for (const Slot& x : slots) s += (x.pass == sim::Pass::forward ? "F" : "B") + std::to_string(x.micro_batch) + (x.chunk ? "'" : "") + " ";
  return s;
}

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

TEST_CASE("every schedule runs each chunk and micro-batch once forward, then once backward") {
  for (auto kind : {pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::interleaved}) {
    const int chunks = kind == pcg::ScheduleKind::interleaved ? 3 : 1;
    for (int rank = 0; rank < 4; ++rank) {
      std::map<std::pair<int, int>, int> state;
      for (const Slot& s : sim::slots_of({kind, 4, chunks, 8}, rank)) {
        int& x = state[{s.chunk, s.micro_batch}];
        CHECK(x == (s.pass == sim::Pass::forward ? 0 : 1));
        ++x;
      }
      CHECK(state.size() == static_cast<std::size_t>(8 * chunks));
      for (const auto& [key, x] : state) CHECK(x == 2);
    }
  }
}
