#pragma once
// What the plans of scenarios are called as files of one folder, known before any work.

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "scenarios/answer/result.hpp"
#include "scenarios/question/scenario.hpp"

namespace cli {

class PlanFiles {
 public:
  // Throws: base::InputError when a plan's file is one that has been read, or cannot be written.
  PlanFiles(std::filesystem::path folder, std::span<const scenarios::Scenario> asked);
  // Writes the plans of the base, and those of variants that are other ones.
  void save(std::span<const scenarios::ScenarioResult> results) const;

 private:
  using Key = std::tuple<std::size_t, std::string, std::string>;  // scenario, plan, variant

  std::filesystem::path folder_;
  std::map<Key, std::filesystem::path> files_;
};

}  // namespace cli
