#include "scenarios/question/capacity.hpp"

#include <doctest/doctest.h>

#include "scenarios/answer/run.hpp"
#include "tests/about.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace {

// Two GPUs on one wire, as in scenario_text.hpp, with a section; its lines begin at 15.
std::string with_capacity(const std::string& section) { return test::kTwoGpus + "plans: [data-parallel]\ncapacity:\n" + section; }

const std::string kWork = "  train: {samples: 1e6}\n";
const std::string kPair =
    "cluster: {name: pair, links: {wire: {bandwidth: 1 GB/s, latency: 1 us}}, node: {gpus: {type: v100-sxm2-16gb, count: 2}, components: "
    "[switch0, nic0], wires: [{all_pairs: [gpu0, switch0], link: wire}, {all_pairs: [gpu1, switch0], link: wire}, {all_pairs: [switch0, "
    "nic0], link: wire}]}, network: {type: switch, link: wire}}";

std::string candidate(const std::string& more) { return "    - {" + kPair + ", " + more + "}\n"; }

scenarios::CapacityQuestion loaded(const std::string& section) { return *test::load(with_capacity(section)).capacity; }

// The message about one line, without the lines that quote it.
std::string problem(const std::string& section) {
  std::string text = test::problems(with_capacity(section));
  const std::size_t quoted = text.find('\n'), hint = text.find("^~~ ");
  std::string all = text.substr(0, quoted);
  if (hint != std::string::npos) all += " | " + text.substr(hint + 4, text.find('\n', hint) - hint - 4);
  return all.substr(all.find(": ") + 2);
}

}  // namespace

TEST_CASE("a section has its terms, its plans and the machines to simulate") {
  const auto q = loaded(
      "  train: {samples: 300e9}\n  deadline: 30 days\n  budget: 2 MUSD\n  plans: [{fsdp: {stage: zero1}, name: sharded}]\n  "
      "candidates:\n" +
      candidate("name: rented, nodes: [1, 2], price: 2.50 USD/gpu/h, power: 10.2 kW/node, pue: 1.2") +
      candidate("name: mixed, nodes: [2, 4], price: 20 USD/node/h, power: 0.7 kW/gpu, owned: {nodes: 3, capex: 0.3 MUSD/node, years: 4, "
                "utilisation: 0.8, operations: 20 kUSD/year, electricity: 100 USD/MWh}") +
      "  reliability: {mtbf_per_gpu: 50000 h, restart: 5 min, checkpoint: {size: 10 GB, bandwidth: 2 GB/s/node, interval: 1 h}}\n");
  CHECK(q.terms.work.unit == scenarios::Work::Unit::samples);
  CHECK(q.terms.work.amount == 300e9);
  CHECK(q.terms.deadline->value() == 30 * 86400);
  CHECK(q.terms.budget->value() == 2e6);
  REQUIRE(q.plans.size() == 1);
  CHECK(q.plans[0].name == "sharded");

  REQUIRE(q.terms.candidates.size() == 2);
  const scenarios::CandidateTerms& rented = q.terms.candidates[0];
  CHECK(rented.name == "rented");
  CHECK((rented.price->per == scenarios::Per::gpu && rented.price->amount.value() == 2.5));
  CHECK((rented.power->per == scenarios::Per::node && rented.power->amount.value() == 10200));
  CHECK(rented.pue == 1.2);
  CHECK_FALSE(rented.owned);
  const scenarios::Owned& owned = *q.terms.candidates[1].owned;
  CHECK(owned.nodes == std::optional(3));
  CHECK((owned.capex->per == scenarios::Per::node && owned.capex->amount.value() == 3e5));
  CHECK((owned.years == 4 && owned.utilisation == 0.8));
  CHECK((owned.operations.per == scenarios::Per::all && owned.operations.amount.value() == 20000));
  CHECK(owned.electricity.value() == test::about(0.1));

  const scenarios::Reliability& r = *q.terms.reliability;
  CHECK((r.mtbf_per_gpu.value() == 50000.0 * 3600 && !r.mtbf_is_default));
  CHECK((r.restart.value() == 300 && !r.restart_is_default));
  CHECK((r.checkpoints.bandwidth.per == scenarios::Per::node && r.checkpoints.bandwidth.amount.value() == 2e9));
  CHECK(r.checkpoints.size->value() == 10e9);
  CHECK(r.checkpoints.interval->value() == 3600);

  // Both candidates have two nodes of the same machine: it is simulated once.
  CHECK(q.machines.size() == 3);
  REQUIRE(q.points.size() == 4);
  CHECK(q.points[1].machine == q.points[2].machine);
  CHECK((q.points[1].fleet.owned_nodes == 0 && q.points[1].fleet.gpus == 4));
  CHECK((q.points[2].fleet.owned_nodes == 2 && q.points[2].fleet.rented_gpus() == 0));
  CHECK((q.points[3].fleet.owned_nodes == 3 && q.points[3].fleet.rented_gpus() == 2));
  CHECK(q.machines[0].model == q.machines[1].model);  // the scenario's, loaded once
}

TEST_CASE("a scenario that asks what to buy needs neither plans nor a cluster of its own") {
  const std::string cluster = test::kTwoGpus.substr(0, test::kTwoGpus.find("cluster:")), training = "training: {batch_per_gpu: 32}\n";
  const std::string section = "capacity:\n" + kWork + "  candidates:\n" + candidate("nodes: [2, 4]");
  const auto s = test::load(cluster + training + section);
  CHECK(s.plans.empty());
  CHECK(s.base().cluster->nodes() == 2);  // the first machine, which nothing is asked about
  REQUIRE(s.capacity->plans.size() == 1);
  CHECK(s.capacity->plans[0].name == "megatron");
  CHECK(s.capacity->notes.at(0).text == "no plans are named: each machine trains by the best plan of megatron: search");
  const scenarios::ScenarioResult r = scenarios::run_scenario(s, {});
  CHECK(r.runs.empty());
  REQUIRE(r.capacity_runs.size() == 2);
  CHECK(r.capacity_runs[0].status == scenarios::Status::ok);

  // The question is the scenario's, whatever the first candidate trains otherwise.
  const std::string bf16 = "capacity:\n" + kWork + "  plans: [data-parallel]\n  candidates:\n" +
                           candidate("nodes: [2, 4], name: a, training: {global_batch: 8, optimizer: sgd}") +
                           candidate("nodes: 2, name: b");
  const auto differs = test::load(cluster + "training: {global_batch: 64, optimizer: adam}\n" + bf16);
  CHECK(differs.subject.global_batch == 64);
  CHECK(differs.subject.optimizer == pcg::Optimizer::adam);
  CHECK(differs.capacity->machines.at(0).training.global_batch == 8);
  CHECK(differs.capacity->machines.at(2).training.global_batch == 64);

  // Plans of the section are its own; those of a cluster that nobody asks about are not made.
  const auto own = test::load(test::kTwoGpus + section + "  plans: [data-parallel]\n");
  CHECK(own.plans.empty());
  CHECK(own.capacity->plans.at(0).name == "data-parallel");
  CHECK(own.capacity->machines[0].model == own.base().model);
  CHECK(scenarios::run_scenario(own, {}).runs.empty());
}

TEST_CASE("what is missing beside capacity alone is said, and said once") {
  const std::string model = test::kTwoGpus.substr(0, test::kTwoGpus.find("cluster:")), training = "training: {batch_per_gpu: 32}\n";
  const std::string section = "capacity:\n" + kWork + "  candidates:\n" + candidate("nodes: [2, 4]");
  const auto lines = [](const std::string& text) {
    std::string all;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      if (text.compare(at, 2, "s.") == 0) all += text.substr(at, text.find('\n', at) - at) + "\n";
    return all;
  };
  CHECK(lines(test::problems(model + training + section + "sensitivity: true\nwhat_if: []\n")) ==
        "s.yaml:9:14: sensitivity: there are no plans to ask about\ns.yaml:10:10: what_if: there are no plans to ask about\n");
  CHECK(lines(test::problems(model + "training: {batch_per_gpu: 32, optimiser: sgd}\n" + section)) ==
        "s.yaml:4:31: training: unknown key \"optimiser\"\n");
  CHECK(lines(test::problems(model + training)) == "s.yaml:1:1: missing key \"cluster\"\ns.yaml:1:1: missing key \"plans\"\n");
  CHECK(lines(test::problems(model + training + "capacity:\n" + kWork + "  candidates:\n" +
                             candidate("nodes: [2, 4], training: {precision: bf16}")))
            .find("capacity.candidates[0].training.precision: v100-sxm2-16gb has no bf16") != std::string::npos);
}

TEST_CASE("what is left out has its default") {
  const auto q = loaded(kWork + "  candidates:\n" + candidate("nodes: 1") + candidate("training: {batch_per_gpu: 64}, nodes: 1") +
                        "  reliability: {checkpoint: {bandwidth: 1 GB/s}}\n");
  CHECK(q.plans[0].name == "data-parallel");  // the scenario's
  CHECK(q.terms.candidates[0].name == "pair");
  CHECK(q.terms.candidates[1].name == "pair#2");
  CHECK(q.machines[0].training.global_batch == 64);
  CHECK(q.machines[1].training.global_batch == 128);
  REQUIRE(q.notes.size() == 1);  // of the batches that differ
  CHECK(q.terms.reliability->mtbf_per_gpu.value() / 3600 == test::about(50676, 1e-4));
  CHECK(q.terms.reliability->mtbf_is_default);
  CHECK_FALSE(q.terms.reliability->checkpoints.size);
  CHECK_FALSE(q.terms.reliability->checkpoints.interval);
  const std::string whole = kPair.substr(0, kPair.find("links:")) + "nodes: 3, " + kPair.substr(kPair.find("links:"));
  CHECK(loaded(kWork + "  candidates:\n    - {" + whole + "}\n").points[0].fleet.nodes == 3);
}

TEST_CASE("every problem of a section at once") {
  const std::string text =
      test::problems(with_capacity("  train: {tokens: 3e9, samples: 1}\n"
                                   "  deadline: 30\n"
                                   "  budget: 2\n"
                                   "  candidates:\n"
                                   "    - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}\n"
                                   "    - {nodes: 1, prize: 1 USD/h}\n"
                                   "  reliability: {mtbf_per_gpu: 0 s, checkpoint: {size: 3, interval: 0 s}}\n"));
  CHECK(text == R"(s.yaml:16:33: capacity.train.samples: another amount of work is given as well
   16 |   train: {tokens: 3e9, samples: 1}
      |                                 ^~~ keep one of them
s.yaml:17:13: capacity.deadline: "30" has no unit
   17 |   deadline: 30
      |             ^~~ write e.g. "1.5 us" or "30 days"
s.yaml:18:11: capacity.budget: "2" has no unit
   18 |   budget: 2
      |           ^~~ write e.g. "300 kUSD" or "2 MUSD"
s.yaml:20:26: capacity.candidates[0].cluster.preset: no preset is called "dgx-a10"
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                          ^~~ did you mean "dgx-a100-40gb"?
s.yaml:20:44: capacity.candidates[0].nodes[0]: nodes must be at least 1, found 0
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                                            ^
s.yaml:20:50: capacity.candidates[0].nodes[2]: 2 nodes are asked for twice
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                                                  ^~~ keep one of them
s.yaml:20:61: capacity.candidates[0].price: "2.5" has no unit
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                                                             ^~~ write e.g. "2.50 USD/gpu/h", "20 USD/node/h" or "160 USD/h"
s.yaml:20:73: capacity.candidates[0].power: "10 kW/nod" is not a power
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                                                                         ^~~ write e.g. "10.2 kW/node" or "700 W/gpu"
s.yaml:20:89: capacity.candidates[0].pue: pue must be at least 1, found 0.9
   20 |     - {cluster: {preset: dgx-a10}, nodes: [0, 2, 2], price: 2.5, power: 10 kW/nod, pue: 0.9}
      |                                                                                         ^
s.yaml:21:7: capacity.candidates[1]: missing key "cluster"
   21 |     - {nodes: 1, prize: 1 USD/h}
      |       ^
s.yaml:21:18: capacity.candidates[1]: unknown key "prize"
   21 |     - {nodes: 1, prize: 1 USD/h}
      |                  ^~~ did you mean "price"?
s.yaml:22:31: capacity.reliability.mtbf_per_gpu: failures have some time between them
   22 |   reliability: {mtbf_per_gpu: 0 s, checkpoint: {size: 3, interval: 0 s}}
      |                               ^~~ write e.g. 50000 h
s.yaml:22:48: capacity.reliability.checkpoint: missing key "bandwidth"
   22 |   reliability: {mtbf_per_gpu: 0 s, checkpoint: {size: 3, interval: 0 s}}
      |                                                ^
s.yaml:22:55: capacity.reliability.checkpoint.size: "3" has no unit
   22 |   reliability: {mtbf_per_gpu: 0 s, checkpoint: {size: 3, interval: 0 s}}
      |                                                       ^~~ write e.g. "16 GiB" or "80 GB"
s.yaml:22:68: capacity.reliability.checkpoint.interval: between two checkpoints there is some training
   22 |   reliability: {mtbf_per_gpu: 0 s, checkpoint: {size: 3, interval: 0 s}}
      |                                                                    ^~~ write e.g. 30 min
)");
}

TEST_CASE("amounts need their units, and say which") {
  const auto of_candidate = [](const std::string& more) { return problem(kWork + "  candidates:\n" + candidate("nodes: 1, " + more)); };
  CHECK(of_candidate("price: 2.5") ==
        "capacity.candidates[0].price: \"2.5\" has no unit | write e.g. \"2.50 USD/gpu/h\", \"20 USD/node/h\" or \"160 USD/h\"");
  CHECK(of_candidate("price: 2.5 USD").starts_with("capacity.candidates[0].price: \"2.5 USD\" is not a price | write e.g."));
  CHECK(of_candidate("price: 2.5 EUR/gpu/h").starts_with("capacity.candidates[0].price: \"2.5 EUR/gpu/h\" is not a price"));
  CHECK(of_candidate("price: -1 USD/h").starts_with("capacity.candidates[0].price: \"-1 USD/h\" is negative"));
  CHECK(of_candidate("price: 1e16 USD/h").starts_with("capacity.candidates[0].price: \"1e16 USD/h\" is too large"));
  CHECK(of_candidate("price: 1e-300 USD/h").starts_with("capacity.candidates[0].price: \"1e-300 USD/h\" is too small"));
  CHECK(loaded(kWork + "  candidates:\n" + candidate("nodes: 1, price: 0 USD/h")).terms.candidates[0].price->amount.value() == 0);
  CHECK(of_candidate("price: [1 USD/h]").starts_with("capacity.candidates[0].price: expected a price"));
  CHECK(of_candidate("power: 10 kWh/node").starts_with("capacity.candidates[0].power: \"10 kWh/node\" is not a power"));
  CHECK(problem("  train: {samples: 1}\n  budget: 5\n  candidates:\n" + candidate("nodes: 1")) ==
        "capacity.budget: \"5\" has no unit | write e.g. \"300 kUSD\" or \"2 MUSD\"");
  CHECK(problem(kWork + "  reliability: {checkpoint: {bandwidth: 0 GB/s}}\n  candidates:\n" + candidate("nodes: 1"))
            .starts_with("capacity.reliability.checkpoint.bandwidth: \"0 GB/s\" is too small"));
}

TEST_CASE("terms that contradict each other are refused") {
  const auto of_candidate = [](const std::string& more) { return problem(kWork + "  candidates:\n" + candidate("nodes: 1, " + more)); };
  CHECK(of_candidate("pue: 1.2") == "capacity.candidates[0].pue: there is no power to multiply | add power, e.g. power: 10.2 kW/node");
  CHECK(of_candidate("owned: {capex: 1 MUSD}") ==
        "capacity.candidates[0].owned.capex: it does not say over how many years | add years, e.g. years: 4");
  CHECK(of_candidate("owned: {years: 4}") ==
        "capacity.candidates[0].owned.years: there is no capex to spread over years | add capex, or remove years");
  CHECK(of_candidate("owned: {electricity: 0.1 USD/kWh}") ==
        "capacity.candidates[0].owned.electricity: the candidate does not say how much power it draws | add power to the candidate, e.g. "
        "power: 10.2 kW/node");
  CHECK(of_candidate("price: 1 USD/h, owned: {}") ==
        "capacity.candidates[0].price: all nodes are owned, so that nothing is rented at a price | say how many are owned (owned: {nodes: "
        "4, ...}), or remove the price");
  CHECK(problem("  train: {tokens: 1e9}\n  candidates:\n" + candidate("nodes: 1")) ==
        "capacity.train.tokens: the model has no tokens | write samples: or iterations: in place of tokens");
  CHECK(problem(kWork + "  budget: 2 MUSD\n  candidates:\n" + candidate("nodes: 1")) ==
        "capacity.budget: no candidate has a price to compare with it | add e.g. price: 2.50 USD/gpu/h to the candidates");
  CHECK(problem("  train: {}\n  candidates:\n" + candidate("nodes: 1")) ==
        "capacity.train: it does not say how much is trained | write e.g. {tokens: 300e9}, {samples: 1e9} or {iterations: 500000}");
  CHECK(problem(kWork + "  candidates: []\n") ==
        "capacity.candidates: expected a list of candidates | write e.g. - {cluster: {preset: "
        "dgx-h100}, nodes: [4, 8], price: 2.50 USD/gpu/h}");
  CHECK(problem(kWork + "  candidates:\n    - {cluster: {preset: dgx-a100-80gb, nodes: 2}, nodes: 1}\n") ==
        "capacity.candidates[0].nodes: the cluster says how many nodes there are as well | keep one of them");
  for (const char* whole : {"price: 60 USD/h", "power: 13 kW"})
    CHECK(problem(kWork + "  candidates:\n" + candidate(std::string("nodes: [1, 2], ") + whole))
              .ends_with(": it is of the whole machine, which is asked about in several sizes | write it per node or per GPU"));
  for (const char* nothing : {"deadline: 0 s", "budget: 0 USD"})
    CHECK(problem(kWork + "  " + nothing + "\n  candidates:\n" + candidate("nodes: 1, price: 1 USD/h")).find(": nothing is trained ") !=
          std::string::npos);
  CHECK(problem(kWork + "  candidates:\n" + candidate("nodes: 1, training: {global_batch: 8, batch_per_gpu: 4}"))
            .find("batch_per_gpu is given as well") != std::string::npos);
  CHECK(problem(kWork + "  candidates:\n" + candidate("nodes: 0")) == "capacity.candidates[0].nodes: nodes must be at least 1, found 0");
  CHECK(problem(kWork + "  candidates:\n" + candidate("nodes: []")) ==
        "capacity.candidates[0].nodes: the list is empty | write e.g. [4, 8, 16]");
}

TEST_CASE("a machine that cannot train like this is pointed at below its candidate") {
  CHECK(problem(kWork + "  candidates:\n" + candidate("nodes: 1, training: {precision: bf16}"))
            .starts_with("capacity.candidates[0].training.precision: "));
  CHECK(problem(kWork + "  candidates:\n" + candidate("nodes: 1, training: {precison: fp16}")) ==
        "capacity.candidates[0].training: unknown key \"precison\" | did you mean \"precision\"?");
}

TEST_CASE("a scenario is answered with its capacity, from the runs that it is based on") {
  const scenarios::ScenarioResult result = scenarios::run_scenario(
      test::load(test::in_fp32(
          with_capacity(kWork + "  deadline: 3000 days\n  plans: [data-parallel, {megatron: {tensor: 3}}]\n  candidates:\n" +
                        candidate("nodes: [1, 2], price: 1 USD/gpu/h") + candidate("name: again, nodes: 2, price: 2 USD/gpu/h") +
                        "  reliability: {checkpoint: {bandwidth: 1 GB/s}}\n"))),
      {});
  CHECK(result.runs.size() == 1);
  CHECK(result.capacity_runs.size() == 4);  // two machines, two plans
  REQUIRE(result.capacity);
  const auto& entries = result.capacity->entries;
  REQUIRE(entries.size() == 6);
  for (const scenarios::CapacityEntry& e : entries) {
    const scenarios::Run& run = result.capacity_runs[e.asked.run];
    CAPTURE(run.variant);
    CHECK(e.outcome.has_value() == (run.plan == "data-parallel"));  // 2 or 4 GPUs are no multiple of 3
    if (!e.outcome) continue;
    CHECK(run.gpus == e.asked.fleet.gpus);
    CHECK(e.outcome->time.value() == test::about(1e6 / run.samples_per_s / e.outcome->goodput));
    // SGD has no states: a checkpoint holds the weights, 4 bytes for each parameter.
    CHECK(e.outcome->losses->checkpoint_size.value() ==
          4.0 *
              static_cast<double>(test::load(with_capacity(kWork + "  candidates:\n" + candidate("nodes: 1"))).base().model->parameters()));
  }
  CHECK(entries[4].outcome->time == entries[2].outcome->time);  // the same machine at twice the price
  CHECK(entries[4].outcome->costs->total().value() == test::about(2 * entries[2].outcome->costs->total().value()));
  CHECK(result.capacity->choices.smallest == std::optional<std::size_t>(0));
}

TEST_CASE("a candidate with several precisions is several candidates, and a faster one that is not asked about is noted") {
  const auto asked = [](const std::string& precision) {
    return *test::load(
                "foreshard: 1\nmodel: {builtin: gpt3-125m}\ntraining: {global_batch: 64, precision: bf16}\ncapacity:\n"
                "  train: {tokens: 1B}\n  candidates: [{cluster: {preset: dgx-h100}, nodes: 1" +
                precision + "}]\n")
                .capacity;
  };
  const auto notes_faster = [](const scenarios::CapacityQuestion& q) {
    return std::ranges::any_of(q.notes, [](const base::Note& n) { return n.code == "faster-precision"; });
  };
  const auto both = asked(", precision: [bf16, fp8]");
  REQUIRE(both.points.size() == 2);
  CHECK(both.terms.candidates[0].name == "dgx-h100, bf16");
  CHECK(both.terms.candidates[1].name == "dgx-h100, fp8");
  CHECK(both.machines[0].training.precision == pcg::Precision::bf16);
  CHECK(both.machines[1].training.precision == pcg::Precision::fp8);
  CHECK_FALSE(notes_faster(both));
  CHECK(notes_faster(asked("")));
  CHECK(asked(", precision: fp8").machines[0].training.precision == pcg::Precision::fp8);
  CHECK(test::load("foreshard: 1\nmodel: {builtin: gpt3-125m}\ntraining: {global_batch: 64}\ncapacity:\n"
                   "  train: {tokens: 1e9}\n  candidates: [{cluster: {preset: dgx-h100}, nodes: 1}]\n")
            .capacity->terms.work.amount == 1e9);
}

TEST_CASE("a training that is less than an iteration is noted: 300 tokens are 300B as a rule") {
  const auto notes = [](const std::string& train) {
    return std::ranges::any_of(loaded("  train: {" + train + "}\n  candidates:\n" + candidate("nodes: 1")).notes,
                               [](const base::Note& n) { return n.code == "under-an-iteration"; });
  };
  CHECK(notes("samples: 1"));
  CHECK_FALSE(notes("samples: 1e6"));
  CHECK_FALSE(notes("iterations: 1"));
}
