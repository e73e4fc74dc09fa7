// Tables of collective times: our CSV round-trips, damaged ones are refused with their line.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "profiles/measured/tables.hpp"
#include "tests/about.hpp"

namespace {

using measured::Measurements;
using profiles::CollectiveKind;

Measurements read(const std::string& text) { return measured::read_measurements(text, "table.csv"); }

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const base::InputError& e) { return e.what(); }
  return {};
}

void check_row(const measured::CollectiveMeasurement& m, const std::string& cluster, int nodes, int gpus, CollectiveKind kind, double bytes,
               double seconds) {
  CHECK(m.cluster == cluster);
  CHECK(m.nodes == nodes);
  CHECK(m.gpus == gpus);
  CHECK(m.kind == kind);
  CHECK(m.bytes.value() == bytes);
  CHECK(m.time.value() == test::about(seconds));
}

bool noted(const Measurements& m, const std::string& what) {
  for (const std::string& note : m.notes)
    if (note.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("our own table, there and back") {
  const std::string text = "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,2,16,all_gather,1048576,0.00012\nmine,1,4,send,10,1e-05\n";
  const Measurements m = read(text);
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "dgx-h100", 2, 16, CollectiveKind::all_gather, 1048576, 120e-6);
  CHECK(m.collectives[0].source == "table.csv:2");
  CHECK(measured::to_csv(m.collectives) == text);
}

TEST_CASE("what cannot be true is refused with its line") {
  const std::string head = "cluster,nodes,gpus,kind,bytes,seconds\n";
  CHECK(refusal(head + "a,2,15,all_reduce,8,1\n").find("table.csv:2: 15 GPUs on 2 nodes") != std::string::npos);
  CHECK(refusal(head + "a,0,4,all_reduce,8,1\n").find("table.csv:2") != std::string::npos);
  CHECK(refusal(head + "a,1,1e30,all_reduce,8,1\n").find("table.csv:2") != std::string::npos);
  CHECK(refusal(head + "a,1,4,all_reduced,8,1\n").find("all_reduced") != std::string::npos);
  CHECK(refusal(head + "a,1,4,all_reduce,many,1\n").find("many") != std::string::npos);
  CHECK(refusal(head + ",1,4,all_reduce,8,1\n").find("cluster is empty") != std::string::npos);
  CHECK(refusal(head + "a,1,,all_reduce,8,1\n").find("gpus is empty") != std::string::npos);
  CHECK(noted(read(head + "a,1,4,all_reduce,8,0\na,1,4,all_reduce,8,\n"), "2 rows left out: no time"));
}
