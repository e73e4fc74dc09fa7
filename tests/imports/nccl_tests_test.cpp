// Output of nccl-tests: by header, checked against itself.
#include <doctest/doctest.h>

#include "made_files.hpp"
#include "tests/about.hpp"

using namespace imports;
using namespace profiles;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

const std::string kJson =
    R"({"version": 2, "args": ["./build/all_gather_perf", "-b", "1M"], "env": ["A=b"], "nccl_version": 22903,
"config": {"nthreads": 1, "ngpus": 1, "devices": [
  {"rank": 0, "group": 0, "hostname": "a", "device": 0, "device_info": "NVIDIA H100 80GB HBM3"},
  {"rank": 1, "group": 0, "hostname": "a", "device": 1, "device_info": "NVIDIA H100 80GB HBM3"}]},
"results": [{"size": 1048576, "count": 131072, "type": "float", "redop": "none", "root": "    -1",
  "out_of_place": {"time": 20.0, "alg_bw": 52.428800, "bus_bw": 26.214400, "nwrong": null}, "in_place": null,
  "actual_iterations": 20, "experiment_name": "all_gather_perf"}]})";

}  // namespace

TEST_CASE("rows are collectives, out of place and in place, with ranks and nodes from the list of devices") {
  const ImportedTrace t = made::import_text(made::nccl_tests());
  REQUIRE(t.collectives.size() == 4);
  const ImportedCollective& c = t.collectives[1];
  CHECK(c.kind == CollectiveKind::all_reduce);
  CHECK(c.bytes->value() == 1048576);
  CHECK(c.element == "fp32");
  CHECK(c.group_size == 4);
  CHECK(c.nodes == 2);
  CHECK(*c.in_place);
  CHECK(!c.start);
  CHECK(c.duration.value() == test::about(49e-6));
  CHECK(c.source.ends_with("f:13"));
  CHECK(t.devices.size() == 4);
  CHECK(t.devices[3].profile == "a100-sxm-40gb");
  CHECK(t.notes.empty());
}

TEST_CASE("columns may be added, tags of launchers stand before lines, the reduction may be blank") {
  const std::string tagged =
      "[1,0]<stdout>:# Collective test starting: all_gather_perf\n[1,0]<stdout>:#   size  count  type  redop  root  time  algbw  busbw "
      "#wrong i_min "
      "i_max  time  algbw  busbw #wrong i_min i_max\n"
      "[1,0]<stdout>: 1048576 65536 float -1 50.00 20.97 15.73 0 48 52 50.00 20.97 15.73 0 48 52\n";
  const ImportedTrace t = made::import_text(tagged);
  REQUIRE(t.collectives.size() == 2);
  CHECK(t.collectives[0].kind == CollectiveKind::all_gather);
  // busbw / algbw = 0.750 = (n - 1) / n, so 4 ranks; each puts in a quarter.
  CHECK(t.collectives[0].group_size == 4);
  CHECK(t.collectives[0].sent->value() == 262144);
  CHECK(t.notes[0].find("the closing lines") != std::string::npos);
  CHECK(t.notes[1] == "the ranks are not listed; 4 follow from busbw / algbw");
}

TEST_CASE("without a name the columns tell a reduction; an all-gather they cannot tell from an all-to-all") {
  const std::string nameless = replaced(made::nccl_tests(), "# Collective test starting: all_reduce_perf\n", "");
  CHECK(made::import_text(nameless).collectives[0].kind == CollectiveKind::all_reduce);
  std::string none = nameless;
  for (int i = 0; i < 2; ++i) none = replaced(none, " sum ", " none ");
  CHECK(made::refusal(none).find("does not say which collective it measures") != std::string::npos);
}

TEST_CASE("rows that contradict themselves are refused with their line") {
  CHECK(made::refusal(replaced(made::nccl_tests(), "20.97   31.46", "20.97   41.46"))
            .find("f:13:1: busbw 41.46 GB/s contradicts algbw 20.97 GB/s of all_reduce on 4 ranks (factor 1.5), out of place") == 0);
  CHECK(made::refusal(replaced(made::nccl_tests(), "49.00   21.40", "49.00   25.00"))
            .find("f:13:1: algbw 25 GB/s contradicts 1048576 B in 49 us, in place") == 0);
  CHECK(made::refusal(replaced(made::nccl_tests(), "62.91      0", "62.91      3")).find("found 3 wrong elements") != std::string::npos);
  CHECK(made::refusal(replaced(made::nccl_tests(), "100.00   41.94", "0.00   41.94")).find("the time of 4194304 B is 0 us") !=
        std::string::npos);
  CHECK(made::refusal(replaced(made::nccl_tests(), "100.00   41.94   62.91      0   101.00   41.53   62.29      0", "100.00   41.94"))
            .find("f:14:1: a row of 7 cells under a header of 13 columns") == 0);
  CHECK(made::refusal(replaced(made::nccl_tests(), "100.00   41.94", "x   41.94")).find("time is \"x\", which is no number") !=
        std::string::npos);
}

TEST_CASE("what is printed is rounded: that is no contradiction") {
  // 0.00 of 8 B in 12.34 us, and 2 digits for large times.
  const std::string text = replaced(made::nccl_tests(), "     1048576        262144     float     sum      -1    50.00   20.97   31.46",
                                    "           8             2     float     sum      -1    12.34    0.00    0.00");
  CHECK(made::import_text(replaced(text, "49.00   21.40   32.10", "1.2e+01    0.00    0.00")).collectives.size() == 4);
}

TEST_CASE("a run without results, and several runs in one file") {
  const std::string text = made::nccl_tests();
  const std::size_t rows = text.find("     1048576"), end = text.find("# Out of");
  CHECK(made::refusal(text.substr(0, rows) + text.substr(end)).find("without a single row") != std::string::npos);
  const ImportedTrace t = made::import_text(text + replaced(text, "all_reduce_perf", "reduce_perf").substr(0, rows));
  CHECK(t.collectives.size() == 4);
}

TEST_CASE("the JSON form says the same") {
  const ImportedTrace t = made::import_text(kJson);
  CHECK(t.format == TraceFormat::nccl_tests);
  REQUIRE(t.collectives.size() == 1);
  CHECK(t.collectives[0].kind == CollectiveKind::all_gather);
  CHECK(t.collectives[0].bytes->value() == 1048576);
  CHECK(t.collectives[0].sent->value() == 524288);
  CHECK(t.collectives[0].group_size == 2);
  CHECK(t.collectives[0].nodes == 1);
  CHECK(t.devices[0].profile == "h100-sxm-80gb");
  CHECK(made::refusal(replaced(kJson, "26.2144", "52.4288"))
            .find("busbw 52.4288 GB/s contradicts algbw 52.4288 GB/s of all_gather on 2 ranks") != std::string::npos);
  CHECK(made::refusal(replaced(kJson, "20.0", "\"nan\"")).find("results[0].out_of_place: time is \"nan\", not a number") !=
        std::string::npos);
  CHECK(made::refusal(kJson.substr(0, 500)).find("is cut short") != std::string::npos);
}

TEST_CASE("what is printed counts to half of its last digit, and the program's rounding to a thousandth") {
  // 20.97 +- 0.005 GB/s times 1.5 is at most 31.4625, a thousandth more 31.494: 31.49 is within, 31.55 is not.
  CHECK(made::import_text(replaced(made::nccl_tests(), "20.97   31.46", "20.97   31.49")).collectives.size() == 4);
  CHECK(made::refusal(replaced(made::nccl_tests(), "20.97   31.46", "20.97   31.55")).find("contradicts algbw") != std::string::npos);
}

TEST_CASE("where several numbers of ranks fit the columns none is taken") {
  // 1.00 / 1.00 is (n - 1) / n of any n that is large enough.
  const ImportedTrace t = made::import_text(
      "# Collective test starting: all_gather_perf\n#   size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
      "#wrong\n 1048576 65536 float none -1 1048.58 1.00 1.00 0 1048.58 1.00 1.00 0\n");
  CHECK(t.collectives.at(0).group_size == 0);
  CHECK(t.notes.at(1).find("the size of the group is unknown") != std::string::npos);
}

TEST_CASE("a reduction whose elements fill its size is an all-reduce, on two ranks too") {
  // 4 x 268435456 = 1073741824 B; busbw / algbw = 1 = 2 (n - 1) / n, so n = 2. A reduce-scatter prints half as many elements.
  const std::string header = "# size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n";
  const std::string times = " float sum -1 9300.0 115.46 115.46 0 9290.0 115.58 115.58 0\n";
  const ImportedTrace t = made::import_text(header + " 1073741824 268435456" + times);
  REQUIRE(t.collectives.size() == 2);
  CHECK(t.collectives[0].kind == CollectiveKind::all_reduce);
  CHECK(t.collectives[0].group_size == 2);
  CHECK(made::refusal(header + " 1073741824 134217728" + times).find("does not say which collective it measures") != std::string::npos);
}

TEST_CASE("one rank exchanges nothing") {
  const std::string table =
      "# size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
      " 4194304 1048576 float sum -1 35.50 118.15 0.00 0 36.00 116.51 0.00 0\n";
  CHECK(made::refusal(table).find("f:2:1: is a table of one rank, which exchanges nothing") == 0);
  CHECK(made::refusal("#  Rank  0 Group  0 Pid    100 on node-1 device  0 [0x00] NVIDIA A10G\n" + table).find("of one rank") !=
        std::string::npos);
}
