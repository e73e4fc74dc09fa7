// Device, network and framework profiles that are files, in the scenario, its what-ifs and its candidates.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/yaml/parse.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/run.hpp"

namespace {

using scenarios::Run;

// A folder with a device profile of half the memory bandwidth, and a network profile of twice the latencies.
struct ProfileFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("foreshard-scenario-profile-files-test-" + std::to_string(::getpid()));
  ProfileFolder() {
    std::filesystem::create_directories(path);
    std::string device(profiles::device_text("v100-sxm2-16gb"));
    const std::size_t at = device.find("memory_bandwidth: ");
    device.replace(at, device.find('\n', at) - at, "memory_bandwidth: 450 GB/s");
    write("half.yaml", device);
    write("same.yaml", std::string(profiles::device_text("v100-sxm2-16gb")));
    write("net.yaml", std::string(profiles::network_text("v100-nvlink")));
    write("software.yaml", std::string(profiles::framework_text(pcg::Framework::pytorch)));
  }
  ~ProfileFolder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }

  [[nodiscard]] std::vector<Run> runs(const std::string& text) const {
    return scenarios::run_scenario(scenarios::load_scenario(base::parse_yaml(text, "s.yaml"), path), {}).runs;
  }
  [[nodiscard]] std::string problems(const std::string& text) const {
    try {
      (void)scenarios::load_scenario(base::parse_yaml(text, "s.yaml"), path);
    } catch (const base::InputError& e) { return base::render(e.diagnostics().front()); }
    return "";
  }
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}
const std::string kShippedType = "type: v100-sxm2-16gb";
std::string with_gpus(const std::string& gpus, const std::string& rest = "plans: [data-parallel]\n") {
  return replaced(test::kTwoGpus, kShippedType, gpus) + rest;
}

double seconds_of(const Run& r) { return r.simulation->iteration_time.value(); }
bool has_note(const Run& r, const std::string& what) {
  return std::ranges::any_of(r.notes, [&](const base::Note& n) { return n.text.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("a device profile's file times as what ships with the same figures, and has_note so") {
  const ProfileFolder f;
  const Run ships = f.runs(with_gpus(kShippedType)).at(0), same = f.runs(with_gpus("file: same.yaml")).at(0),
            half = f.runs(with_gpus("file: half.yaml")).at(0);
  CHECK(seconds_of(same) == seconds_of(ships));
  CHECK(seconds_of(half) > seconds_of(ships));
  CHECK(has_note(same, "device profile v100-sxm2-16gb (same.yaml)"));
  CHECK(!has_note(ships, "device profile"));
  // Nothing was measured with it, so that the interval is no narrower than that of the profile that ships.
  CHECK(same.interval_high >= ships.interval_high);
  CHECK(same.interval_low <= ships.interval_low);
  CHECK(has_note(same, "no run of this kind was measured"));
}

TEST_CASE("network and framework profiles are named in the same way") {
  const ProfileFolder f;
  const std::string text = replaced(with_gpus("file: same.yaml"), "  name: pair\n", "  name: pair\n  network_profile: {file: net.yaml}\n");
  const Run r = f.runs(replaced(text, "optimizer: sgd", "optimizer: sgd, framework: {file: software.yaml}")).at(0);
  CHECK(has_note(r, "network profile v100-nvlink (net.yaml)"));
  CHECK(has_note(r, "the framework is pytorch, as software.yaml describes it"));
}

TEST_CASE("what-ifs go from a name to a file and back, and sweep over files") {
  const ProfileFolder f;
  const std::string what_if =
      "what_if:\n"
      "  - {name: slower, set: {cluster.node.gpus.file: half.yaml}, replan: false}\n"
      "  - {name: ships, set: {cluster.node.gpus: {type: v100-sxm2-16gb}}, replan: false}\n"
      "  - {name: both, sweep: {cluster.node.gpus.file: [half.yaml, same.yaml]}, replan: false}\n"
      "  - {name: less memory, set: {cluster.node.gpus.memory: 0.5x}, replan: false}\n"
      "  - {name: network, set: {cluster.network_profile: {file: net.yaml}}, replan: false}\n";
  for (const std::string base : {"file: same.yaml", kShippedType.c_str()}) {
    const std::vector<Run> runs = f.runs(with_gpus(base, "plans: [data-parallel]\n" + what_if));
    REQUIRE(runs.size() == 7);
    CHECK(seconds_of(runs[1]) > seconds_of(runs[0]));
    CHECK(seconds_of(runs[2]) == seconds_of(runs[0]));
    CHECK(seconds_of(runs[3]) == seconds_of(runs[1]));
    CHECK(seconds_of(runs[4]) == seconds_of(runs[0]));
    CHECK(runs[3].settings.at(0).second == "half.yaml");
    CHECK(runs[5].simulation->memory.capacity < runs[0].simulation->memory.capacity);
    CHECK(has_note(runs[6], "network profile v100-nvlink (net.yaml)"));
  }
}

TEST_CASE("candidates of capacity name files, too") {
  const ProfileFolder f;
  const std::string cluster = replaced(test::kTwoGpus.substr(test::kTwoGpus.find("cluster:")), kShippedType, "file: half.yaml");
  std::string section = "capacity:\n  train: {samples: 1e6}\n  candidates:\n    - ";
  for (const char c : cluster.substr(0, cluster.find("training:"))) section += c == '\n' ? "\n      " : std::string(1, c);
  const auto s = scenarios::load_scenario(base::parse_yaml(with_gpus(kShippedType) + section + "\n", "s.yaml"), f.path);
  CHECK(s.capacity->machines.at(0).cluster->devices()[0].type == (f.path / "half.yaml").string());
}

TEST_CASE("what is wrong with a profile's file is said where it is wrong") {
  const ProfileFolder f;
  f.write("broken.yaml", "foreshard: 1\ndevice: {name: d}\n");
  CHECK(f.problems(with_gpus("file: broken.yaml")).find("broken.yaml:2:9: device") != std::string::npos);
  const std::string missing = f.problems(with_gpus("file: none.yaml"));
  CHECK(missing.starts_with("s.yaml:9:18: cluster.node.gpus.file: no file is called \"" + (f.path / "none.yaml").string() + "\"\n"));
  CHECK(f.problems(with_gpus("type: same.yaml")).find("write file: same.yaml in place of type") != std::string::npos);
  CHECK(f.problems(replaced(with_gpus("file: same.yaml"), "batch_per_gpu: 32", "batch_per_gpu: 32, precision: bf16"))
            .find("v100-sxm2-16gb has no bf16") != std::string::npos);
}

TEST_CASE("GPUs of a file can be held to a power, of which its profile says how much they draw") {
  const ProfileFolder folder;
  folder.write("ours.yaml", replaced(std::string(profiles::device_text("v100-sxm2-16gb")), "name: v100-sxm2-16gb", "name: ours-16gb"));
  const std::vector<Run> held = folder.runs(with_gpus("file: ours.yaml, power_limit: 200 W"));
  REQUIRE(held.size() == 1);
  CHECK(has_note(held[0], "ours-16gb may draw 200 of 300 W"));
  std::string silent(profiles::device_text("v100-sxm2-16gb"));
  const std::size_t at = silent.find("  power: ");
  folder.write("silent.yaml", silent.erase(at, silent.find('\n', at) + 1 - at));
  CHECK(folder.problems(with_gpus("file: silent.yaml, power_limit: 200 W")).find("what v100-sxm2-16gb draws is not known") !=
        std::string::npos);
}
