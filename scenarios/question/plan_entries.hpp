#pragma once
// The `plans:` list of a scenario: which plans are asked for. Each entry is a word ("data-parallel"), a map of one planner and its
// options ({megatron: {tensor: 2}, name: ours, framework: deepspeed}), or a saved plan ({file: my.plan.yaml}). Planners, their options and
// what is wrong with them come from search/planners.hpp.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/question/training.hpp"
#include "search/planners.hpp"

namespace scenarios {

// Names head tables and rows.
[[nodiscard]] inline bool is_name(std::string_view text) { return !text.empty() && text.find('\n') == std::string_view::npos; }
inline constexpr std::string_view kNoName = "expected a name of one line";

struct PlannerEntry {
  const search::Planner* planner;  // one of search::planners()
  search::OptionValues options;
};
struct FileEntry {
  std::shared_ptr<const pcg::Plan> plan;  // as it was saved; null where it could not be read, which was reported
  base::Mark mark = {};                   // where the entry names its file
};

struct PlanEntry {
  std::string name;    // unique: the entry's `name:`, else its kind, "#2" for repeats
  base::Yaml section;  // as it is written
  std::string text;    // the same in one line: what it asks for
  std::variant<PlannerEntry, FileEntry> kind;
  std::optional<Framework> framework;  // its own, in place of the scenario's
};

// Returns the entries in order, with unique names; saved plans are read once to find what is wrong with them. Files are
// named from `directory`. Problems go to `sink`.
[[nodiscard]] std::vector<PlanEntry> read_plan_entries(const base::Yaml& list, const std::string& path,
                                                       const std::filesystem::path& directory, base::Diagnostics& sink);

// A key of a what-if that changes an option of a plan: "plans.NAME.tensor", or "plans.NAME.framework".
inline constexpr std::string_view kPlansPath = "plans.";
struct PlanChange {
  std::size_t plan = 0;
  std::string key;  // "tensor"
};
// Returns the change that a key asks for; nullopt: it does not begin with kPlansPath, or no plan has the name that follows.
[[nodiscard]] std::optional<PlanChange> plan_change(const std::vector<PlanEntry>& plans, std::string_view target);
// Returns the entry with one option changed; as it was where that is not possible, which goes to `sink` with `place`.
[[nodiscard]] PlanEntry changed_entry(const PlanEntry& entry, std::string_view key, const base::Yaml& value, const std::string& place,
                                      const std::filesystem::path& directory, base::Diagnostics& sink);

}  // namespace scenarios
