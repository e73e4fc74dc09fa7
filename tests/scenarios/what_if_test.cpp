// Sweeps, sensitivities, and answers that are kept.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenario_text.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/answer/work_list.hpp"
#include "tests/about.hpp"

namespace {

namespace fs = std::filesystem;

using scenarios::Sensitivity;

scenarios::ScenarioResult answers_to(const std::string& text, const scenarios::RunOptions& options = {}) {
  return scenarios::run_scenario(test::load(text), options);
}

// Those of the first plan, by parameter.
std::map<std::string, Sensitivity> by_parameter(const scenarios::ScenarioResult& r) {
  std::map<std::string, Sensitivity> all;
  for (const Sensitivity& s : r.sensitivity) all.emplace(s.parameter, s);
  return all;
}

double sum_of(const std::map<std::string, Sensitivity>& all) {
  double sum = 0;
  for (const auto& [name, s] : all) sum += name.ends_with(".latency") ? -s.elasticity : s.elasticity;
  return sum;
}

// Wide layers over a wire of 1 GB/s: the wire decides.
std::string wide_mlp(const std::string& wire, double compute = 1) {
  std::string text = test::in_fp32(test::kTwoGpus) + "plans: [data-parallel]\nsensitivity: true\n";
  const std::string from = "{bandwidth: 1 GB/s, latency: 1 us}";
  text.replace(text.find(from), from.size(), wire);
  const std::string count = "count: 2}";
  text.replace(text.find(count), count.size(), fmt::format("count: 2, compute_speed: {}}}", compute));
  return text;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / "foreshard-resume-test";
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::size_t files() const {
    return fs::exists(path) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator())) : 0;
  }
};

std::string without_clocks(scenarios::ScenarioResult r) {
  for (scenarios::Run& x : r.runs) x.search_time = x.simulation_time = {};
  return scenarios::encode(r.runs).dump();
}

const std::string kSweep = test::kTwoGpus +
                           "plans: [data-parallel, {megatron: search}]\n"
                           "what_if: [{name: s, sweep: {cluster.links.wire.bandwidth: [1x, 2x], training.batch_per_gpu: [32, 64]}}]\n";

}  // namespace

TEST_CASE("a sweep is the product of its lists, the last key first") {
  const scenarios::Scenario s = test::load(kSweep);
  std::string names;
  for (const scenarios::WhatIf& v : s.variants) names += v.name + "\n";
  CHECK(names ==
        "base\n"
        "s: cluster.links.wire.bandwidth=1x, training.batch_per_gpu=32\n"
        "s: cluster.links.wire.bandwidth=1x, training.batch_per_gpu=64\n"
        "s: cluster.links.wire.bandwidth=2x, training.batch_per_gpu=32\n"
        "s: cluster.links.wire.bandwidth=2x, training.batch_per_gpu=64\n");
  CHECK(s.variants[4].sweep == "s");
  CHECK(s.variants[4].settings ==
        std::vector<std::pair<std::string, std::string>>{{"cluster.links.wire.bandwidth", "2x"}, {"training.batch_per_gpu", "64"}});
  CHECK(s.variants.load(4).training.global_batch == 128);
  CHECK(s.variants[0].sweep.empty());
}

TEST_CASE("a sweep beside what is set, of models, and with the same plan alone") {
  const auto r = answers_to(test::kTwoGpus +
                            "plans: [data-parallel]\nwhat_if:\n  - {name: s, replan: false, set: {cluster.links.wire.latency: 2x}, sweep: "
                            "{cluster.links.wire.bandwidth: [2x, 4x]}}\n  - {name: m, sweep: {model: [{builtin: mlp}]}}\n");
  REQUIRE(r.runs.size() == 4);
  CHECK_FALSE(r.runs[1].replanned);
  CHECK(r.runs[1].settings.size() == 2);
  CHECK(r.runs[3].variant == "m: model={builtin: mlp}");
  CHECK(r.runs[3].replanned);  // there is no same plan
}

TEST_CASE("a point of a sweep is what a what-if of its own would be") {
  const auto swept = answers_to(kSweep);
  const auto alone = answers_to(test::kTwoGpus +
                                "plans: [data-parallel, {megatron: search}]\n"
                                "what_if: [{name: a, set: {cluster.links.wire.bandwidth: 2x, training.batch_per_gpu: 64}}]\n");
  std::map<std::string, double> times;
  for (const scenarios::Run& r : swept.runs)
    if (r.variant.ends_with("=2x, training.batch_per_gpu=64")) times[r.plan] = r.simulation->iteration_time.value();
  for (const scenarios::Run& r : alone.runs)
    if (!r.is_of_base()) CHECK(times.at(r.plan) == r.simulation->iteration_time.value());
}

TEST_CASE("what is wrong with a sweep is said at its place, once") {
  const auto problem = [](const std::string& sweep) {
    return test::problems(test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: s, sweep: " + sweep + "}]\n");
  };
  CHECK(problem("{}").find("what_if[0].sweep: it changes nothing") != std::string::npos);
  CHECK(problem("{cluster.nodes: 2}").find("what_if[0].sweep[cluster.nodes]: expected a list of values") != std::string::npos);
  CHECK(problem("{cluster.nodes: []}").find("expected a list of values") != std::string::npos);
  CHECK(problem("{cluster.nodes: [1, 1]}").find("\"1\" is in the list twice") != std::string::npos);
  CHECK(problem("{cluster.node: [1], cluster.nodez: [1]}").find("unknown key \"cluster.nodez\"") != std::string::npos);
  const std::string many = problem("{cluster.nodez: [1, 2], training.batch_per_gpu: [1, 2, 3]}");
  std::size_t times = 0;
  for (std::size_t at = many.find("unknown key"); at != std::string::npos; at = many.find("unknown key", at + 1)) ++times;
  CHECK(times == 1);  // whatever the values
  std::string values = "1";
  for (int i = 2; i <= 400; ++i) values += fmt::format(", {}", i);
  CHECK(problem("{cluster.nodes: [" + values + "], training.batch_per_gpu: [" + values + "]}").find("its lists make 160000 variants") !=
        std::string::npos);
  CHECK(test::problems(test::kTwoGpus +
                       "plans: [data-parallel]\nwhat_if: [{name: s, set: {cluster.nodes: 1}, sweep: {cluster.nodes: [1]}}]\n")
            .find("the key is set beside the sweep, too") != std::string::npos);
}

TEST_CASE("one way of giving the batch replaces the other, and both contradict each other") {
  const auto with = [](const std::string& what_if) { return test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [" + what_if + "]\n"; };
  CHECK(test::load(with("{name: a, set: {training.global_batch: 4}}")).variants.load(1).training.global_batch == 4);
  for (const char* both :
       {"{training.global_batch: 4, training.batch_per_gpu: 8}", "{training.batch_per_gpu: 8, training.global_batch: 4}"})
    CHECK(test::problems(with(std::string("{name: a, set: ") + both + "}")).find("batch_per_gpu is given as well") != std::string::npos);
  for (const char* name : {"\"\"", "\"two\\nlines\""})
    CHECK(test::problems(with(std::string("{name: ") + name + ", set: {training.global_batch: 4}}")).find("expected a name of one line") !=
          std::string::npos);
}

TEST_CASE("GPUs can be asked to be so many times as fast, as large, or as quick to launch, though nothing is said of them") {
  const auto r = answers_to(test::kTwoGpus +
                            "plans: [data-parallel]\nwhat_if: [{name: c, set: {cluster.node.gpus.compute_speed: 2x}}, {name: m, set: "
                            "{cluster.node.gpus.memory: 2x}}, {name: h, set: {cluster.node.gpus.host_speed: 0.01x}}]\n");
  std::map<std::string, const scenarios::Run*> of;
  for (const scenarios::Run& x : r.runs) of[x.variant] = &x;
  CHECK(of["c"]->simulation->iteration_time <= of["base"]->simulation->iteration_time);
  CHECK(of["h"]->simulation->iteration_time > of["base"]->simulation->iteration_time);
  CHECK(of["m"]->simulation->memory.capacity > 1.9 * of["base"]->simulation->memory.capacity);  // some is reserved
  // Model FLOPs are counted against the peak of the GPUs that there are.
  CHECK(of["c"]->mfu * of["c"]->simulation->iteration_time.value() * 2 ==
        test::about(of["base"]->mfu * of["base"]->simulation->iteration_time.value()));
}

TEST_CASE("GPUs held to a power take longer over products, by the cube root, and the run says so; a limit that cannot be is told") {
  std::string text = test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: held, set: {cluster.node.gpus.power_limit: 150 W}}]\n";
  for (const auto& [from, to] : {std::pair("builtin: mlp-mnist", "builtin: gpt3-125m"), std::pair("optimizer: sgd", "precision: fp16")})
    text.replace(text.find(from), std::string_view(from).size(), to);
  const auto r = answers_to(text);
  std::map<std::string, const scenarios::Run*> of;
  for (const scenarios::Run& x : r.runs) of[x.variant] = &x;
  const scenarios::Run &free = *of.at("base"), &held = *of.at("held");
  const double slower = held.simulation->iteration_time / free.simulation->iteration_time;
  CHECK(slower > 1);
  CHECK(slower < std::cbrt(2.0));  // 150 of a V100's 300 W
  CHECK(std::ranges::any_of(held.notes, [](const base::Note& n) {
    return n.text.find("v100-sxm2-16gb may draw 150 of 300 W: tensor cores run at 0.79 of their clock") != std::string::npos;
  }));
  CHECK(held.mfu == test::about(free.mfu / slower));  // of the data sheet's peak
  CHECK(test::problems(test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: held, set: {cluster.node.gpus.power_limit: 1 kW}}]\n")
            .find("v100-sxm2-16gb draws 300 W at most") != std::string::npos);
}

TEST_CASE("elasticities by hand") {
  using base::Seconds;
  CHECK(scenarios::elasticity(Seconds(1.05), Seconds(1 / 1.05)) == test::about(-1));                               // T = 1 / x
  CHECK(scenarios::elasticity(Seconds(1 / 1.05), Seconds(1.05)) == test::about(1));                                // T = x, a latency
  CHECK(scenarios::elasticity(Seconds(7), Seconds(7)) == 0);                                                       // T does not depend on x
  CHECK(scenarios::elasticity(Seconds(1.5 + 0.5 * 1.05), Seconds(1.5 + 0.5 / 1.05)) == test::about(-0.25, 1e-3));  // T = 1.5 + 0.5 / x
}

// T is homogeneous of degree -1 in rates and 1/latencies, so the elasticities add up to -1, less what no key says: here the shortest time
// of a kernel (profiles: kernel_floor).
TEST_CASE("elasticities of independent parts add up to -1 where every part can be changed") {
  const auto slow_wire = by_parameter(answers_to(wide_mlp("{bandwidth: 10 MB/s, latency: 1 us}")));
  CHECK(slow_wire.at("cluster.links.wire.bandwidth").elasticity < -0.95);  // the wire is all that matters
  CHECK(sum_of(slow_wire) == test::about(-1, 0.01));
  const auto slow_chip = by_parameter(answers_to(wide_mlp("{bandwidth: 900 GB/s, latency: 1 us}", 0.002)));
  CHECK(slow_chip.at("cluster.node.gpus.compute_speed").elasticity < -0.9);
  CHECK(sum_of(slow_chip) == test::about(-1, 0.02));
  const auto far = by_parameter(answers_to(wide_mlp("{bandwidth: 1 GB/s, latency: 1 s}")));
  CHECK(far.at("cluster.links.wire.latency").elasticity == test::about(1, 0.01));
  CHECK(far.at("cluster.links.wire.latency").change == 0.5);
  CHECK(far.at("cluster.links.wire.latency").improved->value() ==
        test::about(0.5 * far.at("cluster.links.wire.latency").time.value(), 0.01));
}

TEST_CASE("sensitivities are ranked, lie within their bounds, and memory is answered with a new plan") {
  rc::check("within -1 and 1, and their sum within -1 and 0", [] {
    const std::string wire =
        fmt::format("{{bandwidth: {} MB/s, latency: {} us}}", *rc::gen::inRange(1, 20'000), *rc::gen::inRange(1, 1000));
    const auto r = answers_to(wide_mlp(wire, *rc::gen::element(0.01, 0.1, 1.0, 10.0)));
    RC_ASSERT(r.sensitivity.size() == 6U);
    double before = 2;
    for (const Sensitivity& s : r.sensitivity) {
      RC_ASSERT(std::abs(s.elasticity) <= 1.001);
      RC_ASSERT(std::abs(s.elasticity) <= before);
      before = std::abs(s.elasticity);
      RC_ASSERT(s.replanned == s.parameter.ends_with("memory"));
    }
    const double sum = sum_of(by_parameter(r));
    RC_ASSERT(sum <= 1e-9);
    RC_ASSERT(sum >= -1.02);  // collectives are chosen anew, and flows are counted in bits
  });
}

TEST_CASE("answers that are kept are not asked again, and are the same") {
  const Folder folder;
  scenarios::RunOptions options;
  options.resume = folder.path;
  const std::string whole = without_clocks(answers_to(kSweep));
  CHECK(without_clocks(answers_to(kSweep, options)) == whole);
  const std::size_t kept = folder.files();
  // The base, and the four points; one of these is the base again, and is kept with its same plan.
  CHECK(kept == 2 * 5);
  const auto again = answers_to(kSweep, options);
  CHECK(without_clocks(again) == whole);
  CHECK(folder.files() == kept);

  SUBCASE("whatever is in the folder") {
    for (const fs::directory_entry& e : fs::directory_iterator(folder.path)) std::ofstream(e.path()) << "{\"question\": \"";
    CHECK(without_clocks(answers_to(kSweep, options)) == whole);
    for (const fs::directory_entry& e : fs::directory_iterator(folder.path))
      std::ofstream(e.path()) << R"({"question": "another", "answer": []})";
    CHECK(without_clocks(answers_to(kSweep, options)) == whole);
  }
  SUBCASE("by worker processes, another half") {
    std::size_t i = 0;
    for (const fs::directory_entry& e : fs::directory_iterator(folder.path))
      if (++i % 2 == 0) fs::remove(e.path());
    options.jobs = 2;
    CHECK(without_clocks(answers_to(kSweep, options)) == whole);
    CHECK(folder.files() == kept);
  }
  SUBCASE("of another program") {
    options.inputs = "another";
    CHECK(without_clocks(answers_to(kSweep, options)) == whole);
    CHECK(folder.files() == 2 * kept);
  }
}

TEST_CASE("an interruption keeps what-ifs from being begun, and nothing is kept that it may have cut short") {
  const Folder folder;
  bool stop = false;
  scenarios::RunOptions options;
  options.resume = folder.path;
  options.interrupted = [&] { return stop; };
  std::size_t lines = 0;
  options.progress = [&](std::string_view text) {
    if (text.starts_with("4 of 10 answered")) stop = true;
    ++lines;
  };
  const auto r = answers_to(kSweep, options);
  CHECK(lines > 0);
  CHECK(r.unanswered == 10 - 4);
  CHECK(folder.files() == 4);
  stop = false;
  options.progress = {};
  CHECK(without_clocks(answers_to(kSweep, options)) == without_clocks(answers_to(kSweep)));
}

TEST_CASE("a folder for answers has to be one") {
  const fs::path file = fs::temp_directory_path() / "foreshard-no-folder-test";
  std::ofstream(file) << "x";
  CHECK_THROWS_AS(scenarios::AnswerStore{file}, base::InputError);
  fs::remove(file);
}

TEST_CASE("progress has a rate and the time left once there is one") {
  CHECK(scenarios::progress_text(2, 2, 100, 1) == "2 of 100 answered");
  CHECK(scenarios::progress_text(20, 10, 100, 5) == "20 of 100 answered, 2.0 each second, 40 s left");
  CHECK(scenarios::progress_text(10, 10, 100, 100) == "10 of 100 answered, 10 s each, 15 min left");
  CHECK(scenarios::progress_text(100, 90, 100, 100) == "100 of 100 answered");
}
