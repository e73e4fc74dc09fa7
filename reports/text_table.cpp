#include "reports/answer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/numbers.hpp"
#include "reports/capacity/capacity.hpp"
#include "reports/comparison.hpp"
#include "reports/layout/speedups.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"
#include "reports/question/question.hpp"
#include "reports/what_if/what_if.hpp"
#include "search/problem/search_result.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::Status;

constexpr std::string_view kRed = kEscapes[0], kGreen = kEscapes[1], kBold = kEscapes[2], kPlain = kEscapes[3];

std::string coloured(const std::string& text, std::string_view code, Colour colour) {
  return colour == Colour::terminal ? fmt::format("{}{}{}", code, text, kPlain) : text;
}

double share(base::Seconds part, const Run& r) {
  return r.simulation->iteration_time.value() > 0 ? part / r.simulation->iteration_time : 0;
}

std::string status_text(const Run& r, Colour colour) {
  constexpr std::array kWords = {"tight", "no memory", "no plan", "no time", "lost", "crashed"};  // as Status has them
  const bool is_well = r.status == Status::ok && !(r.simulation && r.simulation->memory.is_tight());
  return is_well ? coloured("ok", kGreen, colour) : coloured(kWords[static_cast<std::size_t>(r.status)], kRed, colour);
}

// Where the interval of "vs base" stands: behind the factor, or in the words of the row, where figures have no room for it.
enum class Ends { in_figures, in_words };

// Throughput, not time: a variant with more GPUs has a larger batch, so its longer iteration may still be the better one.
std::string against_base(const Run& r, Ends ends) {
  if (!r.against_base) return "";
  return ends == Ends::in_figures ? speedup_cell(*r.against_base) : ratio_text(*r.against_base);
}

// A plan that is not timed as the others are says so in its row.
std::string described(const Run& r) {
  return r.has_own_framework && r.simulation ? fmt::format("{}, under {}", r.plan_summary, r.framework) : r.plan_summary;
}

// The plan; of a row without figures, why it has none.
std::string how(const Run& r, bool repeated) {
  if (!r.simulation && r.planning && !r.planning->termination.has_plan()) return search::to_text(r.planning->termination);
  if (!r.simulation)
    for (const base::Note& n : r.notes)
      if (n.kind == base::NoteKind::problem) return n.text;
  if (r.is_of_base() || !r.simulation) return described(r);
  if (repeated) return "unchanged: " + described(r);
  return fmt::format("{}: {}", r.replanned ? "re-planned" : "same plan", described(r));
}

// "; vs base 1.22 to 1.38".
std::string ends_in_words(const Run& r, Ends ends) {
  if (ends == Ends::in_figures || !r.against_base || r.against_base->is_exact()) return "";
  return fmt::format("; vs base {}", speedup_range(*r.against_base));
}

// Points of sweeps have tables of their own.
bool is_in_table(const Run& r) { return r.sweep.empty(); }

bool is_based_on_assumptions(const Run& r) {
  return std::ranges::any_of(r.notes, [](const base::Note& n) { return n.kind == base::NoteKind::assumption; });
}

bool is_of_other_kinds(const Run& r) {
  return std::ranges::any_of(r.notes, [](const base::Note& n) { return n.code == "interval-other-kinds"; });
}

struct Facts {
  std::vector<base::Seconds> times;
  bool tokens = true;  // per second; else samples
  bool what_ifs = false;
  bool ends = false;    // some of these have an interval
  bool marks = false;   // some times are marked as based on assumptions
  bool pooled = false;  // some intervals are marked as those of other kinds of questions
  bool uneven = false;  // stages of some pipelines wait for slower ones
};

constexpr double kVisibleShare = 0.0005;  // less is 0.0 %

Facts facts_of(const scenarios::ScenarioResult& result) {
  Facts f;
  for (const Run& r : result.runs) {
    if (!is_in_table(r)) continue;
    f.what_ifs = f.what_ifs || !r.is_of_base();
    f.ends = f.ends || (r.against_base && !r.against_base->is_exact());
    if (!r.simulation) continue;
    f.times.push_back(r.simulation->iteration_time);
    f.tokens = f.tokens && r.tokens_per_s > 0;
    f.marks = f.marks || is_based_on_assumptions(r);
    f.pooled = f.pooled || is_of_other_kinds(r);
    f.uneven = f.uneven || share(r.simulation->breakdown.imbalance, r) >= kVisibleShare;
  }
  return f;
}

std::string gibibytes(base::Bytes b) { return fmt::format("{:.1f}", b.value() / (1024.0 * 1024 * 1024)); }

// The interval's ends, as differences from the time.
std::string interval_text(const Run& r) {
  const base::Seconds t = r.simulation->iteration_time;
  if (!(t > base::Seconds(0))) return "-";
  return fmt::format("-{:.0f} +{:.0f}", 100 * ((t - r.interval_low) / t), 100 * ((r.interval_high - t) / t));
}

Columns<Run> columns_of(const Facts& f, Colour colour, Ends ends) {
  Columns<Run> c;
  const auto add = [&](const Table::Column& heading, auto cell) {  // "-" of a run without a simulation
    c.add(heading, [cell](const Run& r) { return r.simulation ? cell(r) : std::string("-"); });
  };
  const auto add_share = [&](const char* title, auto share_of) {
    add(right(title, "%"), [share_of](const Run& r) { return fmt::format("{:.1f}", 100 * share_of(r)); });
  };
  c.add(right("GPUs"), [](const Run& r) { return fmt::format("{}", r.gpus); });
  const TimeUnit unit = unit_of(f.times);
  c.add(f.marks ? right("time ", fmt::format("{} ", unit.name)) : right("time", unit.name), [unit, marks = f.marks](const Run& r) {
    const char* mark = !marks ? "" : r.simulation && is_based_on_assumptions(r) ? "*" : " ";
    return (r.simulation ? unit.text(r.simulation->iteration_time) : "-") + mark;
  });
  add(f.pooled ? right("90 % ", "% ") : right("90 %", "%"), [pooled = f.pooled](const Run& r) {
    return interval_text(r) + (!pooled ? "" : is_of_other_kinds(r) ? "?" : " ");
  });
  add(right(f.tokens ? "tokens/s" : "samples/s"),
      [tokens = f.tokens](const Run& r) { return base::plain_number(tokens ? r.tokens_per_s : r.samples_per_s, 4); });
  if (f.what_ifs)
    c.add(f.ends && ends == Ends::in_figures ? right("vs base", "%") : right("vs base"),
          [ends](const Run& r) { return against_base(r, ends); });
  add_share("MFU", [](const Run& r) { return r.mfu_causal; });
  add_share("comm.", [](const Run& r) { return share(r.simulation->breakdown.exposed_communication, r); });
  add_share("bubble", [](const Run& r) { return share(r.simulation->breakdown.bubble, r); });
  if (f.uneven) add_share("imbal.", [](const Run& r) { return share(r.simulation->breakdown.imbalance, r); });
  add_share("host", [](const Run& r) { return share(r.simulation->breakdown.idle, r); });
  add(right("memory", "GiB"),
      [](const Run& r) { return gibibytes(r.simulation->memory.peak) + "/" + gibibytes(r.simulation->memory.capacity); });
  c.add(left("status"), [colour](const Run& r) { return status_text(r, colour); });
  return c;
}

// A row of the table before it is laid out.
struct Line {
  const Run* run;
  std::string what;  // its plan, or why there is none
  std::vector<std::string> figures;
};

std::vector<Line> lines_of(const scenarios::ScenarioResult& result, const Columns<Run>& columns, Ends ends) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const Run& r = result.runs[i];
    if (!is_in_table(r)) continue;
    if (i > 0 && is_repeated(r, result.runs[i - 1])) continue;
    const bool repeated = i + 1 < result.runs.size() && is_repeated(result.runs[i + 1], r);
    lines.push_back({&r, how(r, repeated) + ends_in_words(r, ends), columns.row(r)});
  }
  return lines;
}

constexpr const char* kRowIndent = "  ";
constexpr std::size_t kDeepIndent = 4;

void add_wrapped(Table& table, const std::string& text, std::size_t width) {
  for (const std::string& l : wrapped(text, width - kDeepIndent)) table.heading(std::string(kDeepIndent, ' ') + l);
}

std::string legend(const Facts& f, std::size_t width) {
  std::string text =
      "90 %: the confidence interval around the time; comm.: exposed communication; host: the GPU waits for its host, above all to launch "
      "kernels; MFU, comm., bubble and host are shares of the peak or of the time; memory: peak of capacity";
  if (f.uneven) text += "; imbal.: pipeline stages wait for slower ones";
  if (f.ends) text += "; vs base: how many times as quick, with its own interval";
  if (f.pooled) text += "; ?: nothing measured is of this kind, so the interval is that of the most similar kinds";
  if (f.marks) text += "; *: based on assumptions, which are named below";
  return "\n" + labelled("", 0, text, width);
}

// How a row is laid out, the first that fits the screen: plan and figures in one line; the plan below the figures; figures below the plan.
enum class Layout { one_line, plan_below, figures_below };

Table laid_out(const std::vector<Line>& lines, std::vector<Table::Column> all, Layout layout, std::size_t width, Colour colour) {
  if (layout == Layout::one_line) all.push_back(left("plan"));
  all.insert(all.begin(), left(layout == Layout::figures_below ? "   " : ""));
  Table table(std::move(all));
  const std::string* variant = nullptr;
  for (const Line& l : lines) {
    if (variant == nullptr || *variant != l.run->variant) table.heading(coloured(l.run->variant, kBold, colour));
    variant = &l.run->variant;
    std::vector<std::string> row = l.figures;
    if (layout == Layout::one_line) row.push_back(l.what);
    if (layout == Layout::figures_below)
      for (const std::string& part : wrapped(l.what.empty() ? l.run->plan : l.run->plan + ": " + l.what, width - kDeepIndent))
        table.heading(kRowIndent + part);
    row.insert(row.begin(), layout == Layout::figures_below ? "   " : kRowIndent + l.run->plan);
    table.row(std::move(row));
    if (layout == Layout::plan_below && !l.what.empty()) add_wrapped(table, l.what, width);
  }
  return table;
}

// The first layout and gap that fit the width; nullopt: none does.
std::optional<std::string> rows_within(const std::vector<Line>& lines, const Columns<Run>& columns, std::size_t width, Colour colour) {
  for (const Layout layout : {Layout::one_line, Layout::plan_below, Layout::figures_below}) {
    const Table table = laid_out(lines, columns.headings, layout, width, colour);
    for (const std::size_t gap : {std::size_t{2}, std::size_t{1}}) {
      if (table.width(gap) <= width) return table.text(gap);
      if (layout == Layout::one_line) break;  // crowded lines are harder to read than two
    }
  }
  return std::nullopt;
}

std::string table_text(const scenarios::ScenarioResult& result, std::size_t width, Colour colour) {
  const Facts facts = facts_of(result);
  for (const Ends ends : {Ends::in_figures, Ends::in_words}) {
    const Columns<Run> columns = columns_of(facts, colour, ends);
    const std::vector<Line> lines = lines_of(result, columns, ends);
    if (const auto rows = rows_within(lines, columns, width, colour)) return *rows + legend(facts, width);
    if (ends == Ends::in_words || !facts.ends)
      return laid_out(lines, columns.headings, Layout::figures_below, width, colour).text(1) + legend(facts, width);
  }
  return "";
}

// Two conventions are in use, and they differ where attention is causal.
std::string mfu_text(const Run& r) {
  if (r.mfu_causal == r.mfu) return percent(r.mfu);
  return fmt::format("{} without the masked half of attention's squares, as in the table; {} with it", percent(r.mfu_causal),
                     percent(r.mfu));
}

std::string paragraph(std::string_view label, const std::string& text, std::size_t width) { return labelled(label, 10, text, width); }

std::string best_text(const scenarios::ScenarioResult& result, const Run& r, std::size_t width, Colour colour) {
  const sim::SimulationResult& s = *r.simulation;
  const sim::Breakdown& b = s.breakdown;
  const sim::MemoryUse& m = s.memory;
  const auto part = [&](const char* name, base::Seconds t) {
    return fmt::format("{} {} ({})", name, base::to_text(t), percent(share(t, r)));
  };
  const std::string plan = r.plan_summary.empty() ? r.plan : r.plan + ", " + described(r);
  const std::string best = labelled("", 0, fmt::format("best: {} on {}", plan, base::counted(r.gpus, "GPU")), width);
  std::string out = "\n" + (best.starts_with("best: ") ? coloured("best", kBold, colour) + best.substr(4) : best);
  out += paragraph("  time",
                   fmt::format("{}, {}, {}, {}{}; 90 % interval {} to {}", part("compute", b.compute),
                               part("exposed communication", b.exposed_communication), part("bubble", b.bubble),
                               share(b.imbalance, r) >= kVisibleShare ? part("imbalance", b.imbalance) + ", " : "", part("idle", b.idle),
                               base::to_text(r.interval_low), base::to_text(r.interval_high)),
                   width);
  if (const auto& f = result.favourite) out += paragraph("  sure", favourite_text(*f), width);
  if (const std::string wait = advice_text(r, result.sensitivity); !wait.empty()) out += paragraph("  waits", wait, width);
  out += paragraph("  MFU", mfu_text(r), width);
  out += paragraph("  memory",
                   fmt::format("{} of {} free{}; weights {}, gradients {}, optimizer {}, activations {}, workspace {}",
                               search::memory_text(m.capacity - m.peak), search::memory_text(m.capacity),
                               m.is_tight() ? ", which is tight" : "", search::memory_text(m.weights), search::memory_text(m.gradients),
                               search::memory_text(m.optimizer), search::memory_text(m.activations), search::memory_text(m.workspace)),
                   width);
  std::string sent = traffic_text(s.bytes.total);
  for (const auto& [name, bytes] : s.bytes.by_collective) sent += fmt::format(", {} {}", name, traffic_text(bytes));
  if (s.busiest_link)
    sent += fmt::format("; busiest link: {} ({}), at work {} of the time", s.busiest_link->type, s.busiest_link->name,
                        percent(s.busiest_link->busy));
  return out + paragraph("  sent", sent, width);
}

// The number of candidates that lost a search and are shown: more would hide the other notes. The JSON result has more.
constexpr std::size_t kMostLost = 3;

}  // namespace

std::string text_table(const scenarios::ScenarioResult& result, const TextStyle& style, Explained explained) {
  const std::size_t width = std::max(style.width, kNarrowest);
  std::string out = coloured(result.scenario, kBold, style.colour) + "\n";
  if (!result.subject.model.empty()) out += hanging(subject_text(result.subject), width);
  if (!result.runs.empty()) out += "\n" + table_text(result, width, style.colour);
  if (const Run* best = result.best_of_base()) out += best_text(result, *best, width, style.colour);
  out += sweeps_text(result, width) + sensitivities_text(result, width) + capacity_text(result, width);
  if (result.unanswered > 0)
    out += "\n" +
           hanging(fmt::format(
                       "interrupted: {} more answers were asked for; --resume DIRECTORY keeps answers as they come, and goes on with them",
                       result.unanswered),
                   width);
  scenarios::ScenarioResult all = result;  // the runs of capacity, too: what holds for all is said once
  all.runs.insert(all.runs.end(), result.capacity_runs.begin(), result.capacity_runs.end());
  if (explained == Explained::no) return out + notes_text(all, kMostLost, width, style.notes);
  return out + comparison_text(result, width) + notes_text(all, 0, width, style.notes) + explanation_text(result, width);
}

std::string markdown(const scenarios::ScenarioResult& result) {
  std::string out = fmt::format("**{}**: {}\n", result.scenario, subject_text(result.subject));
  if (result.runs.empty()) return out;
  const Columns<Run> columns = columns_of(facts_of(result), Colour::none, Ends::in_figures);
  std::vector<Table::Column> all = columns.headings;
  all.insert(all.begin(), {left("variant"), left("plan")});
  all.push_back(left("what it is"));
  Table table(std::move(all));
  for (const Line& l : lines_of(result, columns, Ends::in_figures)) {
    std::vector<std::string> row = l.figures;
    row.insert(row.begin(), {l.run->variant, l.run->plan});
    row.push_back(l.what);
    table.row(std::move(row));
  }
  return out + "\n" + table.markdown();
}

}  // namespace reports
