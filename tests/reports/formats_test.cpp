// JSON, CSV and traces, whole.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "made_result.hpp"
#include "reports/answer.hpp"

TEST_CASE("the JSON result, format 2") {
  auto r = test::made_result();
  r.runs.resize(2);
  r.runs[0].planning = scenarios::Planning{.searched = true, .objective = base::Seconds(0.5), .bound = base::Seconds(0.375)};
  const std::string want = R"({
 "foreshard": 2,
 "scenario": "made up",
 "question": null,
 "program": {
  "version": "",
  "commit": ""
 },
 "seed": 1,
 "engine": "network/model:CM02 network/crosstraffic:0 network/TCP-gamma:1e15 network/weight-S:0 surf/precision:1e-12",
 "runs": [
  {
   "plan": "data-parallel",
   "variant": "base",
   "framework": "generic",
   "replanned": true,
   "status": "ok",
   "iteration_time_s": 0.5,
   "throughput_samples_per_s": 128.0,
   "tokens_per_s": 65536.0,
   "mfu": 0.25,
   "mfu_causal": 0.125,
   "breakdown_s": {
    "compute": 0.25,
    "exposed_communication": 0.125,
    "bubble": 0.0625,
    "imbalance": 0.0,
    "idle": 0.0625
   },
   "communication_bytes": {
    "total": 3000000000,
    "by_collective": {
     "all_gather": 1000000000,
     "all_reduce": 2000000000
    },
    "by_link": {
     "nvlink": 3000000000
    }
   },
   "memory_bytes": {
    "peak": 8589934592,
    "capacity": 17179869184,
    "weights": 1073741824,
    "gradients": 1073741824,
    "optimizer": 2147483648,
    "activations": 3221225472,
    "workspace": 1073741824
   },
   "iteration_time_interval_s": [
    0.375,
    0.625
   ],
   "gpus": 8,
   "search_time_s": 0.5,
   "simulation_time_s": 0.25,
   "busiest_link": {
    "type": "nvlink",
    "name": "node0:gpu0->gpu1",
    "busy": 0.5
   },
   "compute_basis_s": {
    "measured": 0.0,
    "fitted": 0.0,
    "extrapolated": 0.0,
    "defaults": 0.25
   },
   "plan_summary": "data 8",
   "objective_s": 0.5,
   "bound_s": 0.375,
   "stop_reason": "complete",
   "notes": [
    {
     "kind": "caution",
     "code": "code",
     "text": "not calibrated"
    }
   ]
  },
  {
   "plan": "megatron",
   "variant": "base",
   "framework": "generic",
   "replanned": true,
   "status": "infeasible",
   "iteration_time_s": null,
   "throughput_samples_per_s": null,
   "tokens_per_s": null,
   "mfu": null,
   "mfu_causal": null,
   "iteration_time_interval_s": null,
   "gpus": 8,
   "search_time_s": 0.0,
   "simulation_time_s": 0.0,
   "plan_summary": "",
   "notes": [
    {
     "kind": "problem",
     "code": "no-plan",
     "text": "8 devices do not divide by tensor 3 x pipeline 1 x context 1"
    }
   ]
  }
 ]
}
)";
  CHECK(reports::json(r) == want);
}

TEST_CASE("bytes are whole: a third of 10 GiB is rounded, not printed as a fraction") {
  auto r = test::made_result();
  r.runs.resize(1);
  sim::SimulationResult& s = *r.runs[0].simulation;
  s.memory.optimizer = base::Bytes(10737418240.0 / 3);  // 3579139413.33...
  s.bytes.by_collective["all_gather"] = base::Bytes(0.75);
  const auto j = nlohmann::json::parse(reports::json(r));
  CHECK(j["runs"][0]["memory_bytes"]["optimizer"].dump() == "3579139413");
  CHECK(j["runs"][0]["communication_bytes"]["by_collective"]["all_gather"].dump() == "1");
  s.spans = {{0, "gradients", "all-reduce", base::Seconds(0), base::Seconds(1e-3), base::Bytes(100.5)}};
  s.memory_over_time = {{0, base::Seconds(5e-4), base::Bytes(100.0 / 3)}};
  const std::string trace = reports::chrome_trace(r);
  CHECK(trace.find("\"bytes\":101") != std::string::npos);
  CHECK(trace.find("\"bytes\":33}") != std::string::npos);
}

TEST_CASE("the trace is the best plan's of the base, or the first that was traced where none fits") {
  auto r = test::made_result();
  r.runs.erase(r.runs.begin() + 1, r.runs.end());
  r.runs[0].simulation->spans = {{0, "compute", "first", base::Seconds(0), base::Seconds(1e-3), base::Bytes(0)}};
  r.runs.push_back(r.runs[0]);
  r.runs[1].simulation->spans[0].name = "second";
  r.runs[1].simulation->iteration_time = r.runs[0].simulation->iteration_time * 0.5;
  CHECK(reports::chrome_trace(r).find("second") != std::string::npos);
  r.runs[1].status = scenarios::Status::out_of_memory;
  CHECK(reports::chrome_trace(r).find("first") != std::string::npos);
  r.runs[0].status = scenarios::Status::out_of_memory;
  CHECK(reports::chrome_trace(r).find("first") != std::string::npos);
}

TEST_CASE("CSV: one row per run, quoted where needed, empty where there is nothing") {
  auto r = test::made_result();
  r.runs.erase(r.runs.begin() + 2);
  r.runs[1].settings = {{"cluster.nodes", "2x"}};
  r.subject = {.model = "gpt",
               .parameters = 1,
               .global_batch = 64,
               .sequence_length = 512,
               .precision = pcg::Precision::bf16,
               .cluster = "c",
               .nodes = 1};
  const std::string question = "run,made up,gpt,64,512,bf16,adam,c,1,";
  CHECK(reports::csv(std::span(&r, 1)) ==
        "kind,scenario,model,global_batch,sequence_length,precision,optimizer,cluster,nodes,variant,set.cluster.nodes,plan,framework,"
        "replanned,status,plan_summary,gpus,iteration_time_s,interval_low_s,interval_high_s,throughput_samples_per_s,tokens_per_s,speedup,"
        "speedup_low,speedup_high,mfu,mfu_causal,compute_s,exposed_communication_s,bubble_s,imbalance_s,idle_s,communication_bytes,peak_"
        "memory_bytes,"
        "memory_capacity_bytes,"
        "search_time_s,simulation_time_s\n" +
            question +
            "base,,data-parallel,generic,true,ok,data "
            "8,8,0.5,0.375,0.625,128.0,65536.0,,,,0.25,0.125,0.25,0.125,0.0625,0.0,0.0625,3000000000,"
            "8589934592,17179869184,0.5,0.25\n" +
            question + "base,2x,megatron,generic,true,infeasible,,8,,,,,,,,,,,,,,,,,,,0,0\n" + question +
            "\"faster, by far\",,data-parallel,generic,true,ok,data "
            "8,8,0.25,0.1875,0.3125,256.0,131072.0,2.0,1.6,2.5,0.25,0.125,0.125,0.0625,0.03125,"
            "0.0,0.03125,3000000000,8589934592,17179869184,0.5,0.25\n");
}

TEST_CASE("comparisons are in the JSON and the CSV, of what-ifs, sensitivities and the favourite") {
  auto r = test::made_result();
  r.runs[3].against_best = scenarios::Speedup{.ratio = 1.5, .low = 1.25, .high = 1.75};
  r.favourite = scenarios::Favourite{.plans = {"data-parallel"}, .of = 2, .probability = 0.75};
  r.sensitivity = {{"data-parallel", "cluster.links.nvlink.bandwidth", -0.5, 2, false, base::Seconds(0.4), base::Seconds(0.5),
                    scenarios::Speedup{.ratio = 1.25, .low = 1.125, .high = 1.375}},
                   {"data-parallel", "cluster.node.gpus.memory", 0, 2, true, std::nullopt, base::Seconds(0.5)}};
  const auto j = nlohmann::json::parse(reports::json(r));
  CHECK_FALSE(j["runs"][0].contains("speedup"));
  CHECK(j["runs"][2]["speedup"] == 2);
  CHECK(j["runs"][2]["speedup_interval"].dump() == "[1.6,2.5]");
  CHECK_FALSE(j["runs"][2].contains("best_speedup"));
  CHECK(j["runs"][3]["best_speedup"] == 1.5);
  CHECK(j["runs"][3]["best_speedup_interval"].dump() == "[1.25,1.75]");
  CHECK(j["favourite"].dump() == R"({"of":2,"plans":["data-parallel"],"probability":0.75})");
  CHECK(j["sensitivity"][0]["improved"]["speedup_interval"].dump() == "[1.125,1.375]");
  CHECK(j["sensitivity"][1]["improved"]["speedup_interval"].is_null());
  const std::string csv = reports::csv(std::span(&r, 1));
  CHECK(csv.find(",1.25,1.125,1.375,") != std::string::npos);
}

TEST_CASE("the trace says whom a device stands for, and draws messages") {
  auto r = test::made_result();
  sim::SimulationResult& s = *r.runs[0].simulation;
  s.spans = {{0, "pipeline", "send", base::Seconds(0), base::Seconds(1e-3), base::Bytes(8), 1, false},
             {4, "pipeline", "send", base::Seconds(0), base::Seconds(1e-3), base::Bytes(8), 1, true}};
  s.stands_for = {{0, 1, 2, 7}, {4}};
  const auto trace = nlohmann::json::parse(reports::chrome_trace(r));
  std::string names, arrows;
  for (const auto& e : trace["traceEvents"]) {
    if (e["name"] == "process_name") names += e["args"]["name"].get<std::string>() + "\n";
    if (e["ph"] == "s" || e["ph"] == "f") arrows += e["ph"].get<std::string>() + std::to_string(e["pid"].get<int>()) + " ";
    if (e["ph"] == "X") CHECK(e["cat"] == "message");
  }
  CHECK(names == "GPU 0, as GPUs 0-2, 7 are\nGPU 4\n");
  CHECK(arrows == "s0 f4 ");
}

TEST_CASE("the trace names devices and streams, and counts memory") {
  auto r = test::made_result();
  sim::SimulationResult& s = *r.runs[0].simulation;
  s.spans = {{0, "compute", "forward", base::Seconds(0), base::Seconds(1e-3), {}},
             {0, "gradients", "all-reduce", base::Seconds(1e-3), base::Seconds(2e-3), base::Bytes(400)},
             {3, "compute", "forward", base::Seconds(0), base::Seconds(1e-3), {}}};
  s.memory_over_time = {{0, base::Seconds(5e-4), base::Bytes(100)}};
  const auto trace = nlohmann::json::parse(reports::chrome_trace(r));
  CHECK(trace["otherData"]["plan"] == "data-parallel");
  std::string events;
  for (const auto& e : trace["traceEvents"]) {
    events += e["ph"].get<std::string>() + " " + e["name"].get<std::string>() + " " + std::to_string(e["pid"].get<int>()) + "/" +
              std::to_string(e["tid"].get<int>());
    if (e["ph"] == "X") events += " " + std::to_string(e["ts"].get<int>()) + "+" + std::to_string(e["dur"].get<int>());
    if (e["ph"] == "M" && e["args"].contains("name")) events += " " + e["args"]["name"].get<std::string>();
    events += "\n";
  }
  CHECK(events ==
        "M process_name 0/0 GPU 0\n"
        "M process_sort_index 0/0\n"
        "M thread_name 0/1 compute\n"
        "M thread_name 0/2 gradients\n"
        "M process_name 3/0 GPU 3\n"
        "M process_sort_index 3/0\n"
        "M thread_name 3/1 compute\n"
        "X forward 0/1 0+1000\n"
        "X all-reduce 0/2 1000+2000\n"
        "X forward 3/1 0+1000\n"
        "C memory 0/0\n");
}
