// Sweeps and sensitivities as people read them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>

#include "made_result.hpp"
#include "reports/answer.hpp"
#include "reports/what_if/what_if.hpp"

namespace {

scenarios::Run point(const scenarios::Run& base, const std::string& nodes, double seconds, bool replanned) {
  scenarios::Run r = base;
  r.sweep = "more nodes";
  r.variant = "more nodes: cluster.nodes=" + nodes;
  r.settings = {{"cluster.links.nvlink.bandwidth", "2x"}, {"cluster.nodes", nodes}};
  r.replanned = replanned;
  r.simulation->iteration_time = base::Seconds(seconds);
  r.samples_per_s = 64 / seconds;
  r.tokens_per_s = 512 * r.samples_per_s;
  const double ratio = 0.5 / seconds;
  r.against_base = ratio == 1 ? scenarios::Speedup{} : scenarios::Speedup{.ratio = ratio, .low = 0.8 * ratio, .high = 1.25 * ratio};
  return r;
}

scenarios::ScenarioResult swept() {
  scenarios::ScenarioResult r = test::made_result();
  r.runs.resize(1);
  const scenarios::Run base = r.runs[0];
  r.runs.push_back(point(base, "1", 0.5, false));
  r.runs.push_back(point(base, "1", 0.5, true));
  r.runs.push_back(point(base, "2", 0.25, true));
  r.runs.back().gpus = 16;
  r.runs.back().made = std::make_shared<const pcg::Plan>(pcg::Plan{.micro_batches = 2});
  r.runs.back().plan_summary = "data 16";
  r.runs.push_back(point(base, "4", 0.125, true));
  r.runs.back().status = scenarios::Status::out_of_memory;
  r.runs.push_back(point(base, "8", 0.125, true));
  r.runs.back().status = scenarios::Status::infeasible;
  r.runs.back().simulation.reset();
  return r;
}

}  // namespace

TEST_CASE("a sweep is a table of its own, with the keys that vary") {
  const scenarios::ScenarioResult r = swept();
  CHECK(reports::sweeps_text(r, 100) ==
        "\nmore nodes, data-parallel\n"
        "nodes  GPUs  same plan  re-planned        vs base  plan\n"
        "                    ms          ms              %\n"
        "    1     8      500.0       500.0          1.00x  the base's\n"
        "    2    16          -       250.0  2.00x -20 +25  data 16\n"
        "    4     8          -      125.0!              -  the base's\n"
        "    8     8          -  infeasible              -\n"
        "!: does not fit into memory.\n");
  const std::string all = reports::text_table(r, {.width = 100});
  CHECK(all.find("more nodes: cluster.nodes=1") == std::string::npos);  // not in the table of plans
  CHECK(all.find("more nodes, data-parallel") != std::string::npos);
}

TEST_CASE("of a long sweep the first points are shown") {
  scenarios::ScenarioResult r = swept();
  r.runs.resize(1);
  for (int i = 1; i <= 100; ++i) r.runs.push_back(point(r.runs[0], fmt::format("{}", i), 0.5, true));
  CHECK(reports::sweeps_text(r, 100).find("40 more points are in the JSON") != std::string::npos);
}

TEST_CASE("what helps most comes first, and what helps nothing is named") {
  scenarios::ScenarioResult r = test::made_result();
  const base::Seconds time(0.5);
  r.sensitivity = {{"ours", "cluster.node.gpus.compute_speed", -0.5, 2, false, base::Seconds(0.4), time},
                   {"ours", "cluster.links.nvlink.bandwidth", -0.25, 2, false, base::Seconds(0.25), time},
                   {"ours", "cluster.links.nvlink.latency", 0, 0.5, false, time, time},
                   {"ours", "cluster.node.gpus.memory", 0, 2, true, base::Seconds(0.45), time}};
  CHECK(reports::sensitivities_text(r, 100) ==
        "\nwhat would help most: ours, 500 ms\n"
        "part of the cluster      elasticity  twice as good         time\n"
        "                                                ms\n"
        "links.nvlink.bandwidth       -0.250          250.0  50.0 % less\n"
        "node.gpus.compute_speed      -0.500          400.0  20.0 % less\n"
        "node.gpus.memory         re-planned          450.0  10.0 % less\n"
        "nothing is won by links.nvlink.latency\n"
        "elasticity: percent by which 1 % more of the part changes the time, with the same plan\n");
  CHECK(reports::sensitivities_text(test::made_result(), 100).empty());
}

TEST_CASE("what may help nothing is no gain: its interval holds 0, and the advice says so") {
  scenarios::ScenarioResult r = test::made_result();
  const base::Seconds time(0.5);
  const scenarios::Speedup sure{.ratio = 2, .low = 1.25, .high = 4}, unsure{.ratio = 1.25, .low = 0.8, .high = 2};
  r.sensitivity = {{"data-parallel", "cluster.node.gpus.compute_speed", -0.5, 2, false, base::Seconds(0.25), time, sure},
                   {"data-parallel", "cluster.links.nvlink.bandwidth", -0.25, 2, false, base::Seconds(0.4), time, unsure}};
  // Of the first 1 - 1/1.25 to 1 - 1/4 is saved, of the other -1/4 to 1/2.
  CHECK(reports::sensitivities_text(r, 100) ==
        "\nwhat would help most: data-parallel, 500 ms\n"
        "part of the cluster      elasticity  twice as good         time       90 %\n"
        "                                                ms                  % less\n"
        "node.gpus.compute_speed      -0.500          250.0  50.0 % less   20 to 75\n"
        "links.nvlink.bandwidth       -0.250          400.0  20.0 % less  -25 to 50\n"
        "no sure gain by links.nvlink.bandwidth: the interval holds 0\n"
        "elasticity: percent by which 1 % more of the part changes the time, with the same plan\n");
  r.runs[0].simulation->breakdown.exposed_by_link = {{"nvlink", base::Seconds(0.125)}};
  r.runs[0].simulation->breakdown.exposed_by_collective = {{"all_reduce", base::Seconds(0.125)}};
  CHECK(reports::advice_text(r.runs[0], r.sensitivity).find("twice its bandwidth is no sure gain: 0.80 to 2.00 times as quick") !=
        std::string::npos);
  r.sensitivity[1].speedup = sure;
  CHECK(reports::advice_text(r.runs[0], r.sensitivity).find("twice its bandwidth takes 20.0 % off") != std::string::npos);
}

TEST_CASE("an interruption says what was not begun") {
  scenarios::ScenarioResult r = test::made_result();
  r.unanswered = 7;
  CHECK(reports::text_table(r, {.width = 200}).find("interrupted: 7 more answers were asked for") != std::string::npos);
}
