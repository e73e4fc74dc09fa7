#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/diagnostics.hpp"
#include "base/numbers.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/diff/diff.hpp"

namespace cli {
namespace {

struct DiffFlags {
  std::string before, after, limit;
};

nlohmann::ordered_json read_result(const std::string& file) {
  nlohmann::ordered_json j = nlohmann::ordered_json::parse(read_text(file), nullptr, false);
  if (j.is_discarded() || !reports::is_result(j))
    base::refuse(file, j.is_discarded() ? "is no JSON" : "is no result of format 2", "write it with foreshard run --json");
  return j;
}

// "5%", "5 %" or 0.05, as a share; nullopt: none was given.
std::optional<double> limit_of(std::string text) {
  if (text.empty()) return std::nullopt;
  const std::string written = text;
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const std::optional<double> number = base::parse_number(text);
  if (!number || *number < 0 || (!percent && *number > 1))
    base::refuse("--limit", fmt::format("\"{}\" is no share", written), "write e.g. 5%");
  return percent ? *number / 100 : *number;
}

int diff(const DiffFlags& f) {
  const std::optional<double> limit = limit_of(f.limit);
  const std::vector<reports::ResultDiff> all = reports::diff_of(read_result(f.before), read_result(f.after));
  for (const reports::ResultDiff& d : all) print(reports::diff_text(d, wanted_width()));
  const bool beyond = limit && std::ranges::any_of(all, [&](const reports::ResultDiff& d) { return d.is_beyond(*limit); });
  if (beyond) print(fmt::format("beyond the limit of {}\n", f.limit));
  return beyond ? kNo : kAnswered;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto f = std::make_shared<DiffFlags>();
  CLI::App* c = app.add_subcommand("diff", "Say what changed between two results of run --json, in the question and in the answers");
  c->add_option("before", f->before, "The first result")->required();
  c->add_option("after", f->after, "The second result")->required();
  c->add_option("--limit", f->limit, "Exit with 1 where a time differs by more (5%), or a status, or a run is in one of them alone");
  set_action(*c, action, [f] { return diff(*f); });
}

}  // namespace cli
