#pragma once
// Reads a file and says what is wrong with it; a plan is also shown to compute what its model computes.

#include <cstdint>
#include <filesystem>
#include <string>

namespace scenarios {

struct CheckResult {
  bool sound = true;    // false: a plan that does not compute what its model computes
  std::string summary;  // one line or more, for people: "scenario: 3 plans, 2 what-ifs", "equivalent at 3 sizes: ..."
};

// The file's keys identify its kind: scenario, plan, cluster, device, framework or network profile, accuracy file, rules, model (ours, a
// graph, a Hugging Face config). Throws: base::InputError with every problem found.
// `processes`: that prove rules.
[[nodiscard]] CheckResult check_file(const std::filesystem::path& file, std::uint64_t seed, int processes = 1);

}  // namespace scenarios
