#pragma once
// What is fuzzed: each function reads bytes as one reader would read a file, and does with the value what the program does before work
// begins; `run` goes on to the forecast. An input that is refused as it should be (base::InputError) is caught; whatever else leaves a
// function is a fault of ours.

#include <span>
#include <string_view>

namespace fuzz {

// base
void read_yaml(std::string_view bytes);  // also written and read again
void read_csv(std::string_view bytes);
void read_units(std::string_view bytes);
// topology
void read_cluster(std::string_view bytes);
void read_topology(std::string_view bytes);  // also behind a node, and before Slurm's file
// pcg
void read_huggingface(std::string_view bytes);
void read_model(std::string_view bytes);  // a section `model` of ours, with graphs
void read_plan(std::string_view bytes);
void read_onnx(std::string_view bytes);
// profiles, measurements, imports, substitutions
void read_profile(std::string_view bytes);  // of devices, frameworks, networks
void read_tables(std::string_view bytes);   // measured kernels, collectives, points
void read_trace(std::string_view bytes);    // Kineto, Nsight Systems, nccl-tests, Chakra
void read_rules(std::string_view bytes);
// scenarios
void read_own_trace(std::string_view bytes);  // of run --trace, with its parts
void read_scenario(std::string_view bytes);
void run_scenario(std::string_view bytes);  // bytes choose the words of a small scenario, which is answered

struct Target {
  std::string_view name;  // its folder of cases
  void (*read)(std::string_view);
};
inline constexpr Target kTargets[] = {{"yaml", read_yaml},           {"csv", read_csv},           {"units", read_units},
                                      {"cluster", read_cluster},     {"topology", read_topology}, {"huggingface", read_huggingface},
                                      {"model", read_model},         {"plan", read_plan},         {"onnx", read_onnx},
                                      {"profile", read_profile},     {"tables", read_tables},     {"trace", read_trace},
                                      {"own_trace", read_own_trace}, {"rules", read_rules},       {"scenario", read_scenario},
                                      {"run", run_scenario}};

}  // namespace fuzz
