#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/compare.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"

namespace reports {
namespace {

using comparison::Comparison;

constexpr std::size_t kMostListed = 12;  // of what is not all of an iteration

std::string duration_text(double seconds) { return base::to_text(base::Seconds(seconds < 1e-12 ? 0 : seconds)); }

std::string part_name(const comparison::PartKey& key) {
  const std::string kind(key.kind.empty() ? "kernels of no known kind" : key.kind);
  const std::string pass(key.pass.empty() ? "" : fmt::format(", {}", key.pass));
  switch (key.share) {
    case comparison::Share::kernel: return kind + pass;
    case comparison::Share::exposed: return kind == "transfers" ? "exposed communication" + pass : "exposed " + kind + pass;
    case comparison::Share::gap: break;
  }
  return (key.kind == "launch" ? "late launches" : kind) + pass;
}

std::string counts_text(const comparison::PartRow& row) {
  if (row.key.share == comparison::Share::gap) return "";
  const std::string what = row.key.share == comparison::Share::kernel ? "kernels" : "transfers";
  if (row.predicted.count == 0) return fmt::format("; {:.0f} {} that the forecast has not", row.measured.count, what);
  if (row.measured.count == 0) return fmt::format("; {:.0f} {} that the trace has not", row.predicted.count, what);
  if (row.measured.count == row.predicted.count) return fmt::format("; {:.0f} {} in both", row.measured.count, what);
  return fmt::format("; {:.0f} {} against {:.0f}", row.measured.count, what, row.predicted.count);
}

std::string headline(const Comparison& c) {
  const double error = c.predicted_s / c.measured_s - 1;
  const bool inside = c.measured_s >= c.low_s && c.measured_s <= c.high_s;
  return fmt::format(
      "{}, plan {}\nmeasured {}, forecast {}: {}; its interval, {} to {}, {} the measured time\naligned {} of what the device does\n",
      c.scenario, c.plan, duration_text(c.measured_s), duration_text(c.predicted_s),
      std::abs(error) < 5e-5 ? "no difference" : fmt::format("{} too {}", percent(std::abs(error)), error < 0 ? "short" : "long"),
      duration_text(c.low_s), duration_text(c.high_s), inside ? "holds" : "does not hold", percent(c.aligned_share));
}

// Of exposed communication, the transfer whose share differs most.
std::string transfer_text(const Comparison& c, const comparison::PartRow& row) {
  if (row.key.share != comparison::Share::exposed) return "";
  const auto most = std::ranges::find(c.transfers, row.key.pass, [](const comparison::PartRow& t) { return t.key.pass; });
  return fmt::format("; above all {}", most->key.kind.empty() ? "collectives of no known kind" : most->key.kind);
}

// Why the forecast is off: the first three parts.
std::string reasons(const Comparison& c, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, c.parts.size()); ++i) {
    const comparison::PartRow& row = c.parts[i];
    if (std::abs(row.difference()) < 1e-6 * c.measured_s) break;
    text += hanging(
        fmt::format("  {}. {}: {} {} in the trace ({} against {}{})", i + 1, part_name(row.key), duration_text(std::abs(row.difference())),
                    row.difference() > 0 ? "longer" : "shorter", duration_text(row.measured.seconds), duration_text(row.predicted.seconds),
                    counts_text(row) + transfer_text(c, row)),
        width);
  }
  return text.empty() ? "" : "\nWhat makes the difference\n" + text;
}

std::string count_text(double n) { return n == 0 ? "" : fmt::format("{:.0f}", n); }

std::string part_table(const Comparison& c, std::size_t width) {
  std::vector<base::Seconds> times;
  for (const comparison::PartRow& row : c.parts)
    for (const double s : {row.measured.seconds, row.predicted.seconds})
      if (s > 1e-3 * c.measured_s) times.emplace_back(s);
  const TimeUnit unit = unit_of(times);
  Table table({left("part"), right("measured", unit.name), right("forecast", unit.name), right("difference", unit.name), right("in trace"),
               right("in forecast")});
  const auto add = [&](const std::string& name, const comparison::PartRow& row) {
    const bool gap = row.key.share == comparison::Share::gap;
    table.row({name, unit.text(base::Seconds(row.measured.seconds)), unit.text(base::Seconds(row.predicted.seconds)),
               unit.text(base::Seconds(row.difference())), gap ? "" : count_text(row.measured.count),
               gap ? "" : count_text(row.predicted.count)});
  };
  for (const comparison::PartRow& row : c.parts) {
    add(part_name(row.key), row);
    if (row.key.share != comparison::Share::exposed) continue;
    for (const comparison::PartRow& transfer : c.transfers)
      if (transfer.key.pass == row.key.pass) add(fmt::format("  {}", transfer.key.kind), transfer);
  }
  table.row({"iteration", unit.text(base::Seconds(c.measured_s)), unit.text(base::Seconds(c.predicted_s)),
             unit.text(base::Seconds(c.measured_s - c.predicted_s)), "", ""});
  return "\n" + table.text(2, width);
}

std::string unaligned_text(const Comparison& c, std::size_t width) {
  if (c.unaligned.empty()) return "";
  std::string text = fmt::format("\nNot aligned: {} of what the device does\n", percent(1 - c.aligned_share));
  for (std::size_t i = 0; i < std::min(kMostListed, c.unaligned.size()); ++i) {
    const comparison::UnalignedRow& u = c.unaligned[i];
    text +=
        hanging(fmt::format("  {}, {} x {}{}: {}: {}", percent(u.share), count_text(u.count), u.name.empty() ? std::string(u.kind) : u.name,
                            u.pass.empty() ? "" : fmt::format(" ({})", u.pass), duration_text(u.seconds), u.why),
                width);
  }
  if (c.unaligned.size() > kMostListed) text += fmt::format("  and {} more: --json has them\n", c.unaligned.size() - kMostListed);
  return text;
}

std::string compared_devices_text(const Comparison& c, std::size_t width) {
  std::string text = "\n";
  for (const comparison::MeasuredDevice& d : c.devices) {
    const std::string found = d.iteration.empty() ? "as foreshard run --trace wrote it"
                              : d.by == comparison::FoundBy::marks
                                  ? fmt::format("iteration {}, of {} that the profiler marked", d.iteration, d.iterations)
                              : d.by == comparison::FoundBy::period ? fmt::format("{}, of {} that repeat", d.iteration, d.iterations)
                                                                    : d.iteration;
    text += hanging(fmt::format("GPU {}: {}, {}", d.rank, d.file, found), width);
  }
  if (c.memory)
    text += fmt::format("peak memory: {} measured, {} forecast\n", base::to_text(c.memory->measured), base::to_text(c.memory->predicted));
  for (const std::string& note : c.notes) text += hanging("note: " + note, width);
  return text;
}

}  // namespace

std::string compare_text(const Comparison& c, std::size_t width) {
  return headline(c) + reasons(c, width) + part_table(c, width) + unaligned_text(c, width) + compared_devices_text(c, width);
}

}  // namespace reports
