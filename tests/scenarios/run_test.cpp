#include "scenarios/answer/run.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pcg/plan/plan_text.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/check.hpp"
#include "scenarios/answer/result.hpp"
#include "tests/about.hpp"

namespace {

using scenarios::Run;
using scenarios::Status;

scenarios::ScenarioResult run(const std::string& text, int jobs = 1) {
  scenarios::RunOptions options;
  options.jobs = jobs;
  return scenarios::run_scenario(test::load(text), options);
}

const Run& find(const scenarios::ScenarioResult& r, const std::string& variant, bool replanned) {
  for (const Run& x : r.runs)
    if (x.variant == variant && x.replanned == replanned) return x;
  FAIL("no run for " << variant);
  return r.runs.front();
}

// The runs without what a clock measured.
std::string timeless(scenarios::ScenarioResult r) {
  for (Run& x : r.runs) x.search_time = x.simulation_time = {};
  std::string text = scenarios::encode(r.runs).dump();
  for (const scenarios::Sensitivity& s : r.sensitivity)
    text += fmt::format("{} {} {} {}\n", s.plan, s.parameter, s.elasticity, s.improved.value_or(base::Seconds()).value());
  return text;
}

}  // namespace

TEST_CASE("micro-batches are left out where the end of the iteration has settled, too") {
  // Hosts get ahead of their devices from micro-batch to micro-batch: an update that waits for its host does so no more after some twenty.
  const auto seconds = [](int batch) {
    return run(fmt::format(
                   "foreshard: 1\nname: s\nmodel: {{transformer: {{layers: 3, hidden: 2048, heads: 8, kv_heads: 2, vocab: 32000, "
                   "sequence_length: 4096, parallel_residual: true}}}}\ncluster: {{preset: dgx-b300, nodes: 2}}\n"
                   "training: {{global_batch: {}, precision: bf16, framework: pytorch}}\n"
                   "plans: [{{megatron: {{pipeline: 2, schedule: dualpipe, zero: 1, recompute: full, layers_per_stage: [1, 2]}}}}]\n",
                   batch))
        .runs.at(0)
        .simulation->iteration_time.value();
  };
  CHECK(seconds(768) - seconds(704) == test::about(seconds(640) - seconds(576)));
}

TEST_CASE("a transformer that says nothing of dropout has its framework's, and the answer says so") {
  const auto answer = [](const std::string& dropout) {
    return run("foreshard: 1\nname: d\nmodel: {" + dropout +
               "transformer: {layers: 2, hidden: 64, heads: 2, ffn: 256, vocab: 128, sequence_length: 16}}\n"
               "cluster: {preset: dgx-a100-80gb, nodes: 1}\ntraining: {global_batch: 8, precision: bf16, framework: megatron}\n"
               "plans: [data-parallel]\n")
        .runs.at(0);
  };
  const auto says = [](const Run& r) {
    return std::ranges::any_of(r.notes,
                               [](const base::Note& n) { return n.text.find("dropout 0.1, megatron's default") != std::string::npos; });
  };
  CHECK(says(answer("")));
  CHECK(!says(answer("dropout: 0, ")));
  CHECK(answer("dropout: 0.1, ").simulation->iteration_time == answer("").simulation->iteration_time);
  CHECK(answer("dropout: 0, ").simulation->iteration_time < answer("").simulation->iteration_time);
}

TEST_CASE("a search leaves a margin of memory, unless nothing else fits") {
  const auto answer = [](double bytes, const std::string& margin, const std::string& plan) {
    return run("foreshard: 1\nname: m\nmodel: {transformer: {layers: 4, hidden: 1024, heads: 16, vocab: 8192, sequence_length: 1024}}\n"
               "cluster: {preset: dgx-a100-80gb, nodes: 1, node.gpus.count: 1, node.gpus.memory: " +
               std::to_string(bytes) + " B}\ntraining: {global_batch: 4, precision: bf16" + margin + "}\nplans: [" + plan + "]\n")
        .runs.at(0);
  };
  const std::string search = "{megatron: {search: true}}", all = ", memory_margin: 0";
  const auto peak = [](const Run& r) { return r.simulation->memory.peak.value(); };
  const double quickest = peak(answer(80e9, "", search)), least = peak(answer(80e9, "", "{megatron: {micro_batch: 1, recompute: full}}"));
  REQUIRE(least < 0.9 * quickest);
  CHECK(peak(answer(quickest / 0.98, all, search)) == quickest);
  const Run roomy = answer(quickest / 0.98, "", search);
  CHECK(roomy.status == Status::ok);
  CHECK(peak(roomy) <= 0.97 * quickest / 0.98);
  CHECK(roomy.simulation->memory.capacity.value() == test::about(quickest / 0.98));
  CHECK_FALSE(roomy.simulation->memory.is_tight());
  CHECK(peak(answer(quickest / 0.98, ", memory_margin: 1 %", search)) == quickest);
  const Run tight = answer(least / 0.99, "", search);
  CHECK(tight.status == Status::ok);
  CHECK(tight.simulation->memory.is_tight());
}

TEST_CASE("a plan inside the margin of memory is no first answer while a roomy one is nearly as quick") {
  const auto made = [](double time_s, double peak) {
    Run r{.plan = "p", .variant = std::string(scenarios::kBaseName)};
    r.simulation.emplace();
    r.simulation->iteration_time = base::Seconds(time_s);
    r.simulation->memory = {.peak = base::Bytes(peak), .capacity = base::Bytes(100), .margin = 0.05};
    return r;
  };
  scenarios::ScenarioResult r;
  r.runs = {made(1, 96), made(1.01, 90)};
  CHECK(r.best_of_base() == &r.runs[1]);
  r.runs = {made(1, 96), made(1.03, 90)};
  CHECK(r.best_of_base() == &r.runs[0]);
  r.runs = {made(1, 95), made(1.01, 90)};
  CHECK(r.best_of_base() == &r.runs[0]);
}

TEST_CASE("a warm-up is lean where a full one does not fit, unless the framework has no other or the plan says so") {
  // The first of four ranks with two chunks keeps 2 x 3 + 4 + 1 chunks of micro-batches in full, 3 fewer lean (decision 15).
  const auto answer = [](double gib, const std::string& framework, const std::string& warm_up) {
    return run("foreshard: 1\nname: w\nmodel: {transformer: {layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 1024, sequence_length: "
               "1024, dropout: 0}}\ncluster: {preset: dgx-a100-80gb, nodes: 1, node.gpus.count: 4, node.gpus.memory: " +
               std::to_string(gib) + " GiB}\ntraining: {global_batch: 64, precision: bf16, optimizer: adam, framework: " + framework +
               "}\nplans: [{megatron: {pipeline: 4, chunks: 2, micro_batch: 4" + warm_up + "}}]\n")
        .runs.at(0);
  };
  const auto peak = [&](const std::string& warm_up) {
    return answer(80, "generic", ", warm_up: " + warm_up).simulation->memory.peak.value() / (1024.0 * 1024 * 1024);
  };
  const double full = peak("full"), lean = peak("lean"), between = (full + lean) / 2;
  REQUIRE(lean < full);
  const auto is_low_memory = [](const Run& r) { return r.plan_summary.find("lean warm-up") != std::string::npos; };
  CHECK(is_low_memory(answer(between, "generic", "")));
  CHECK(answer(between, "generic", "").status == Status::ok);
  CHECK_FALSE(is_low_memory(answer(80, "generic", "")));
  CHECK_FALSE(is_low_memory(answer(between, "generic", ", warm_up: full")));
  CHECK_FALSE(is_low_memory(answer(between, "megatron", "")));
  CHECK_FALSE(is_low_memory(answer(lean / 2, "generic", "")));  // fits neither way
}

TEST_CASE("what-ifs come after the base: the same plan first, then planned anew") {
  const auto r =
      run(test::kTwoGpus + "plans: [data-parallel, fsdp]\nwhat_if: [{name: slower, set: {cluster.links.wire.bandwidth: 0.01x}}]\n");
  std::string order;
  for (const Run& x : r.runs) order += x.plan + "/" + x.variant + (x.replanned ? "" : "/same") + " ";
  CHECK(order == "data-parallel/base fsdp/base data-parallel/slower/same data-parallel/slower fsdp/slower/same fsdp/slower ");
  const Run& base = find(r, "base", true);
  const Run& same = find(r, "slower", false);
  CHECK(base.status == Status::ok);
  CHECK(have_same_plan(same, base));
  CHECK(same.simulation->iteration_time > base.simulation->iteration_time);
  CHECK(find(r, "slower", true).simulation->iteration_time == same.simulation->iteration_time);  // a fixed plan comes out the same
}

TEST_CASE("numbers of a run") {
  const auto r = run(test::in_fp32(test::kTwoGpus) + "plans: [data-parallel]\n");
  const Run& x = r.runs[0];
  const double t = x.simulation->iteration_time.value();
  CHECK(x.samples_per_s == test::about(64 / t));
  CHECK(x.tokens_per_s == 0);  // no sequence
  // mlp-mnist multiplies 784 x 512 and 512 x 10 weights: 2 FLOPs each, forward once and backward twice; a V100 has 15.7 TFLOP/s in fp32.
  CHECK(x.mfu == test::about(3.0 * 2 * (784 * 512 + 512 * 10) * 64 / (t * 2 * 15.7e12)));
  CHECK(x.gpus == 2);
  CHECK(x.interval_low.value() < t);
  CHECK(x.interval_high.value() > t);
}

// Of a layer of width h and sequence s, products take 24 b s h^2 FLOPs forward and whole attention squares 4 b s^2 h (Narayanan et al.,
// arXiv 2104.04473, appendix); the head takes 2 b s h v. With s = h = v = 64 and b = 1 these are 24, 4 and 2 times 64^3: a causal mask
// throws away 2 of the 30.
TEST_CASE("MFU is given with whole attention squares and without what causal masks throw away") {
  for (const bool causal : {true, false}) {
    std::string text = test::in_fp32(test::kTwoGpus);
    const std::string model = "{builtin: mlp-mnist}";
    text.replace(text.find(model), model.size(),
                 std::string("{transformer: {layers: 1, hidden: 64, heads: 2, vocab: 64, sequence_length: 64, causal: ") +
                     (causal ? "true" : "false") + "}}");
    const auto r = run(text + "plans: [data-parallel]\n");
    const Run& x = r.runs[0];
    CHECK(x.mfu == test::about(3.0 * 30 * 64 * 64 * 64 * 64 / (x.simulation->iteration_time.value() * 2 * 15.7e12)));
    CHECK(x.mfu_causal == test::about(x.mfu * (causal ? 28.0 / 30 : 1)));
  }
}

TEST_CASE("selective recomputation that finds no scores says that it changes nothing") {
  const auto says = [](const std::string& attention, const std::string& recompute) {
    std::string text = test::in_fp32(test::kTwoGpus);
    const std::string model = "{builtin: mlp-mnist}";
    text.replace(text.find(model), model.size(),
                 "{transformer: {layers: 1, hidden: 64, heads: 2, vocab: 64, sequence_length: 64, attention: " + attention + "}}");
    const auto r = run(text + "plans: [fsdp: {recompute: " + recompute + "}]\n");
    return std::ranges::any_of(r.runs[0].notes,
                               [](const base::Note& n) { return n.text.starts_with("recompute: selective changes nothing"); });
  };
  CHECK(says("flash", "selective"));
  CHECK(!says("unfused", "selective"));
  CHECK(!says("flash", "full"));
}

TEST_CASE("another number of GPUs asks for another plan, and the batch grows with it") {
  const auto r = run(test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: two nodes, set: {cluster.nodes: 2x}}]\n");
  REQUIRE(r.runs.size() == 2);
  CHECK(r.runs[1].replanned);
  CHECK(r.runs[1].gpus == 4);
  CHECK(r.runs[1].made.value()->training.global_batch == 128);
  CHECK(std::ranges::count(scenarios::run_notes(r.runs[1]), "the plan is made anew, because the base's is for 2 GPUs and here are 4",
                           &base::Note::text) == 1);
}

TEST_CASE("a plan that cannot be made is an answer with its reason") {
  const auto r = run(test::kTwoGpus + "plans: [{megatron: {tensor: 3}}]\n");
  CHECK(r.runs[0].status == Status::infeasible);
  CHECK(scenarios::run_notes(r.runs[0]) ==
        std::vector<base::Note>{{base::NoteKind::problem, "no-plan", "2 devices do not divide by tensor 3 x pipeline 1 x context 1"}});
}

TEST_CASE("too little memory is an answer with times, and what makes it") {
  const auto r = run(test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: small, set: {cluster.node.gpus.memory: 1000 MiB}}]\n");
  const Run& x = find(r, "small", false);  // the libraries' 1 GiB alone is more
  CHECK(x.status == Status::out_of_memory);
  CHECK(x.simulation->iteration_time.value() > 0);
  CHECK(scenarios::run_notes(x)[0].text.find("too much; the largest part is workspace") != std::string::npos);
}

TEST_CASE("a search of which nothing fits is an answer with times, and says that it found nothing better") {
  const auto r = run(test::kTwoGpus + "plans: [{megatron: search}]\nwhat_if: [{name: small, set: {cluster.node.gpus.memory: 1000 MiB}}]\n");
  const Run& x = find(r, "small", true);
  CHECK(x.status == Status::out_of_memory);
  REQUIRE(x.simulation);
  CHECK(x.simulation->iteration_time.value() > 0);
  CHECK(search::stop_reason(x.planning->termination) == "infeasible");
  const std::vector<base::Note> notes = scenarios::run_notes(x);
  CHECK(std::ranges::any_of(
      notes, [](const base::Note& n) { return n.text.find("nothing fits into memory: the least is") != std::string::npos; }));
  CHECK(scenarios::encode(scenarios::decode(scenarios::encode(r.runs))) == scenarios::encode(r.runs));
}

TEST_CASE("a planner never answers with worse than the plan it had") {
  const auto r =
      run(test::kTwoGpus +
          "plans: [{megatron: {search: true, simulate_best: 1}}]\n"
          "what_if: [{name: slow, set: {cluster.links.wire.bandwidth: 0.01x}}, {name: fast, set: {cluster.links.wire.bandwidth: 100x}}]\n");
  for (const char* v : {"slow", "fast"}) CHECK(find(r, v, true).simulation->iteration_time <= find(r, v, false).simulation->iteration_time);
}

TEST_CASE("an MFU above 100 % has its reason") {
  CHECK_FALSE(scenarios::high_mfu_note(1));
  CHECK(scenarios::high_mfu_note(1.1)->text ==
        "MFU is above 100 %: some kernels do less work than the convention counts, or the device profile's peak is too low");
}

TEST_CASE("the same answer whatever the number of worker processes") {
  const std::string text =
      test::kTwoGpus +
      "plans: [data-parallel, fsdp, {megatron: {tensor: 2}}, {megatron: search}, {megatron: {search: true, budget: 0 s}}, {megatron: "
      "{tensor: 5}}]\n"
      "what_if: [{name: faster, set: {cluster.links.wire.bandwidth: 4x}}, {name: two nodes, set: {cluster.nodes: 2x}}]\n";
  const std::string one = timeless(run(text));
  CHECK(one == timeless(run(text)));
  CHECK(one == timeless(run(text, 2)));
  CHECK(one == timeless(run(text, 7)));
}

TEST_CASE("a search that its budget or its candidates ended says so") {
  const scenarios::ScenarioResult r = run(test::kTwoGpus +
                                          "plans: [{flexflow: {budget: 0 s}, name: timed}, {flexflow: {candidates: 3}, name: counted}, "
                                          "{flexflow: {candidates: 3}, name: again}]\n");
  const auto note_of = [&](const char* plan) {
    const auto notes = scenarios::run_notes(*std::ranges::find(r.runs, plan, &scenarios::Run::plan));
    return std::ranges::find(notes, "search-limit", &base::Note::code)->text;
  };
  CHECK(note_of("timed") ==
        "the search ended when its budget was spent, on every machine at the same place: there may be better plans that "
        "it has not evaluated");
  CHECK(note_of("counted") == "the search ended at its limit of candidates: there may be better plans that it has not evaluated");
  CHECK(search::stop_reason(std::ranges::find(r.runs, "counted", &scenarios::Run::plan)->planning->termination) == "candidate_limit");
  CHECK(r.runs[1].simulation->iteration_time == r.runs[2].simulation->iteration_time);
}

TEST_CASE("runs survive the way between processes") {
  auto scenario = test::load(test::kTwoGpus + "plans: [data-parallel, {megatron: {tensor: 5}}]\n");
  scenarios::RunOptions options;
  options.trace = true;
  const auto runs = scenarios::run_scenario(scenario, options).runs;
  CHECK_FALSE(runs[0].simulation->spans.empty());
  const auto back = scenarios::decode(scenarios::encode(runs));
  CHECK(scenarios::encode(back) == scenarios::encode(runs));
  CHECK(*back[0].made.value() == *runs[0].made);
  CHECK(back[0].simulation->iteration_time == runs[0].simulation->iteration_time);
}

TEST_CASE("a saved plan checks, runs again to the same time, and a broken one is found out") {
  const auto directory = std::filesystem::temp_directory_path() / "foreshard-saved-plan-test";
  std::filesystem::create_directories(directory);
  const auto file = directory / "saved.plan.yaml";
  const auto first = run(test::kTwoGpus + "plans: [data-parallel]\n");
  std::string text = pcg::write_plan(*first.runs[0].made);
  std::ofstream(file) << text;
  const auto check = scenarios::check_file(file, 1);
  CHECK(check.sound);
  CHECK(check.summary.starts_with("equivalent"));
  const auto again = run(test::kTwoGpus + "plans: [{file: " + file.string() + ", name: ours}]\n");
  CHECK(again.runs[0].plan == "ours");
  CHECK(again.runs[0].simulation->iteration_time == first.runs[0].simulation->iteration_time);

  // Of another model it is refused, in the scenario's own and, as a row, in a what-if's.
  const std::string entry = "plans: [data-parallel, {file: " + file.string() + ", name: ours}]\n";
  std::string other = test::kTwoGpus;
  other.replace(other.find("mlp-mnist"), 9, "mlp");
  CHECK(test::problems(other + entry).find("the saved plan \"data-parallel\" is of another model: mlp-mnist, here mlp") !=
        std::string::npos);
  const auto rows = run(test::kTwoGpus + entry + "what_if: [{name: other, set: {model: {builtin: mlp}}}]\n");
  const auto row = std::ranges::find_if(rows.runs, [](const Run& r) { return r.plan == "ours" && !r.is_of_base(); });
  REQUIRE(row != rows.runs.end());
  CHECK(row->status == Status::infeasible);
  CHECK(scenarios::run_notes(*row)[0].text.find("is of another model") != std::string::npos);

  const std::string relu = "activation: relu";  // of the model's hidden layer
  const auto at = text.find(relu);
  REQUIRE(at != std::string::npos);
  text.replace(at, relu.size(), "activation: tanh");
  std::ofstream(file) << text;
  CHECK_FALSE(scenarios::check_file(file, 1).sound);
  std::filesystem::remove_all(directory);
}

TEST_CASE("a what-if may be another machine, with the keys that stand beside the preset, or another model") {
  const std::string scenario =
      "foreshard: 1\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 2, links.infiniband.bandwidth: 1 GB/s}\n"
      "training: {global_batch: 64}\nplans: [data-parallel]\nwhat_if:\n";
  const auto answer_of = [&](const std::string& set) { return run(scenario + "- {name: other, set: " + set + "}\n").runs.back(); };
  const auto answer_alone = [&](const std::string& model, const std::string& cluster) {
    return run("foreshard: 1\nmodel: {builtin: " + model + "}\ncluster: " + cluster +
               "\ntraining: {global_batch: 64}\nplans: [data-parallel]\n")
        .runs[0];
  };
  const auto time_of = [](const Run& r) { return r.simulation->iteration_time; };
  CHECK(time_of(answer_of("{cluster.preset: dgx-2}")) ==
        time_of(answer_alone("mlp-mnist", "{preset: dgx-2, nodes: 2, links.infiniband.bandwidth: 1 GB/s}")));
  CHECK(time_of(answer_of("{cluster: {preset: dgx-2, nodes: 1}}")) == time_of(answer_alone("mlp-mnist", "{preset: dgx-2, nodes: 1}")));
  CHECK(time_of(answer_of("{cluster.nodes: 2x, cluster.preset: dgx-2}")) ==
        time_of(answer_alone("mlp-mnist", "{preset: dgx-2, nodes: 4, links.infiniband.bandwidth: 1 GB/s}")));
  CHECK(time_of(answer_of("{model: {builtin: mlp}}")) ==
        time_of(answer_alone("mlp", "{preset: dgx-1v, nodes: 2, links.infiniband.bandwidth: 1 GB/s}")));
  CHECK(test::problems(scenario + "- {name: other, set: {cluster.preset: dgx-3}}\n").find("did you mean") != std::string::npos);
  CHECK(test::problems(scenario + "- {name: other, set: {cluster.preset: summit, model: {builtin: mlpp}}}\n").find("unknown model") !=
        std::string::npos);
}
