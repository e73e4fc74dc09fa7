#include "cli/commands/plan_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/terminal/output.hpp"

namespace cli {

PlanFiles::PlanFiles(std::filesystem::path folder, std::span<const scenarios::Scenario> asked) : folder_(std::move(folder)) {
  constexpr const char* kOption = "--save-plans";
  std::error_code error;
  const bool is_there = std::filesystem::is_directory(folder_, error);
  std::set<std::string> taken;  // plans whose names differ may have one file name
  for (std::size_t s = 0; s < asked.size(); ++s)
    for (const scenarios::WhatIf& v : asked[s].variants)
      for (const scenarios::PlanEntry& p : asked[s].plans) {
        std::string name = file_name(p.name);
        if (v.name != scenarios::kBaseName) name += "--" + file_name(v.name);
        if (asked.size() > 1) name = file_name(asked[s].name) + "--" + name;
        const std::string wanted = name;
        for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}-{}", wanted, copy);
        const std::filesystem::path file = folder_ / (name + ".plan.yaml");
        if (is_there) check_outputs({{kOption, file.string()}});
        files_.emplace(Key{s, p.name, v.name}, file);
      }
}

void PlanFiles::save(std::span<const scenarios::ScenarioResult> results) const {
  make_folder(folder_);
  for (std::size_t s = 0; s < results.size(); ++s)
    for (const scenarios::Run& r : results[s].runs) {
      if (!r.made || !r.replanned) continue;
      const auto same = [&](const scenarios::Run& b) { return b.is_of_base() && b.plan == r.plan && scenarios::have_same_plan(b, r); };
      if (!r.is_of_base() && std::ranges::any_of(results[s].runs, same)) continue;
      write_text(files_.at({s, r.plan, r.variant}), r.made.text());
    }
}

}  // namespace cli
