#include "profiles/imports/formats/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/kernel_names.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports::nccl {
namespace {

constexpr int kMostRanks = 65536;  // above any cluster of today: a larger number is a misread column

struct Range {
  double low, high;
  [[nodiscard]] bool meets(Range o) const { return low <= o.high && o.low <= high; }
};

Range range(Printed p) { return {p.value - p.half, p.value + p.half}; }
Range scaled(Range r, double by) { return {r.low * by, r.high * by}; }
// A part in a thousand for how the program itself rounds on the way.
Range slackened(Range r) { return {r.low * 0.999, r.high * 1.001}; }

Range size_over_time(double bytes, Printed time_us) {
  const Range t = range(time_us);
  return {bytes / 1e3 / t.high, t.low > 0 ? bytes / 1e3 / t.low : HUGE_VAL};  // GB/s
}

bool fits(const Row& row, profiles::CollectiveKind kind, int ranks) {
  return std::ranges::all_of(row.timings, [&](const Timing& t) {
    const Range wanted = scaled(range(t.algbw), bus_factor(kind, ranks));
    return slackened(wanted).meets(range(t.busbw));
  });
}

// Ranks that all rows agree with, when there is one such number only.
int ranks_from_ratio(const Table& table, profiles::CollectiveKind kind) {
  if (bus_factor(kind, 2) == bus_factor(kind, 3)) return 0;
  int found = 0;
  for (int n = 2; n <= 1024; ++n) {
    if (!std::ranges::all_of(table.rows, [&](const Row& r) { return fits(r, kind, n); })) continue;
    if (found != 0) return 0;
    found = n;
  }
  return found;
}

// Names of the tests of nccl-tests; a value that the simulator has no kind for is nullopt.
constexpr std::array<std::pair<std::string_view, std::optional<profiles::CollectiveKind>>, 10> kTests{{
    {"all_reduce", profiles::CollectiveKind::all_reduce},
    {"all_gather", profiles::CollectiveKind::all_gather},
    {"reduce_scatter", profiles::CollectiveKind::reduce_scatter},
    {"alltoall", profiles::CollectiveKind::all_to_all},
    {"broadcast", profiles::CollectiveKind::broadcast},
    {"sendrecv", profiles::CollectiveKind::send},
    {"reduce", std::nullopt},
    {"gather", std::nullopt},
    {"scatter", std::nullopt},
    {"hypercube", std::nullopt},
}};

struct Identified {
  bool known = false;                            // the test is known, perhaps as one that has no kind
  std::optional<profiles::CollectiveKind> kind;  // of the simulator
};

// One rank has a busbw of 0, whatever it measures and however fast it is.
bool moves_nothing(const Table& table) {
  return std::ranges::all_of(table.rows, [](const Row& r) {
    return std::ranges::all_of(r.timings, [](const Timing& t) { return t.busbw.value == 0 && t.algbw.value > 2 * t.algbw.half; });
  });
}

// From the columns alone. A reduction without a root whose elements fill the size is an all-reduce: a reduce-scatter prints one rank's.
Identified identified_by_columns(const Row& row, int ranks) {
  const bool reduces = !row.redop.empty() && row.redop != "none";
  const bool rooted = !row.root.empty() && row.root != "-1";
  const ElementType* type = element_type(row.type);
  if (rooted) return {true, reduces ? std::nullopt : std::optional(profiles::CollectiveKind::broadcast)};
  const bool whole = type != nullptr && row.count > 0 && row.count * type->bytes == row.size;
  if (reduces && whole && (ranks < 2 || fits(row, profiles::CollectiveKind::all_reduce, ranks)))
    return {true, profiles::CollectiveKind::all_reduce};
  if (!reduces || ranks < 2) return {};
  const bool all = fits(row, profiles::CollectiveKind::all_reduce, ranks),
             scatter = fits(row, profiles::CollectiveKind::reduce_scatter, ranks);
  if (all == scatter) return {};
  return {true, all ? profiles::CollectiveKind::all_reduce : profiles::CollectiveKind::reduce_scatter};
}

Identified kind_of(const Row& row, int ranks) {
  const auto* named = std::ranges::find(kTests, std::string_view(row.test), [](const auto& t) { return t.first; });
  if (named != kTests.end()) return {true, named->second};
  return identified_by_columns(row, ranks);
}

void check(const Row& row, const Timing& t, std::optional<profiles::CollectiveKind> kind, int ranks, const std::string& file) {
  const std::string_view place = t.in_place ? "in place" : "out of place";
  const auto wrong = [&](const std::string& what) { refuse(file, fmt::format("{}, {}", what, place), {}, row.line); };
  if (!(t.time_us.value > 0)) wrong(fmt::format("the time of {} B is {} us", row.size, t.time_us.value));
  if (t.wrong > 0) wrong(fmt::format("nccl-tests found {} wrong elements in the result of {} B", t.wrong, row.size));
  if (!slackened(size_over_time(row.size, t.time_us)).meets(range(t.algbw)))
    wrong(fmt::format("algbw {} GB/s contradicts {} B in {} us", t.algbw.value, row.size, t.time_us.value));
  if (!kind || ranks < 1) return;
  const double factor = bus_factor(*kind, ranks);
  if (!slackened(scaled(range(t.algbw), factor)).meets(range(t.busbw)))
    wrong(fmt::format("busbw {} GB/s contradicts algbw {} GB/s of {} on {} ranks (factor {:.4g})", t.busbw.value, t.algbw.value,
                      to_text(*kind), ranks, factor));
}

// The ranks of a table that does not list them, by busbw / algbw; 0: not known.
int concluded_ranks(const Table& table, std::vector<std::string>& notes) {
  const Row& first = table.rows.front();
  const Identified identified = kind_of(first, 0);
  const bool one_test = std::ranges::all_of(table.rows, [&](const Row& r) { return r.test == first.test; });
  const int ranks = identified.kind && one_test ? ranks_from_ratio(table, *identified.kind) : 0;
  notes.push_back(ranks > 0 ? fmt::format("the ranks are not listed; {} follow from busbw / algbw", ranks)
                            : std::string("the ranks are not listed: the size of the group is unknown, busbw could not be checked"));
  return ranks;
}

void add_row(const Row& row, int ranks, int nodes, ImportedTrace& trace) {
  const Identified identified = kind_of(row, ranks);
  if (!identified.known)
    refuse(trace.file, "does not say which collective it measures, and its columns fit more than one",
           "put the line \"# Collective test starting: all_gather_perf\" (or which it was) above the table, as new versions do", row.line);
  const ElementType* type = element_type(row.type);
  for (const Timing& t : row.timings) {
    check(row, t, identified.kind, ranks, trace.file);
    ImportedCollective c{.name = trace.names.id(row.test.empty() && identified.kind ? std::string(to_text(*identified.kind)) : row.test),
                         .kind = identified.kind};
    c.bytes = base::Bytes(row.size);
    const bool gathers = identified.kind == profiles::CollectiveKind::all_gather;
    if (!gathers) c.sent = c.bytes;
    else if (ranks > 0) c.sent = base::Bytes(row.size / ranks);
    c.element = type != nullptr ? std::string(type->name) : row.type;
    c.group_size = ranks;
    c.nodes = nodes;
    c.in_place = t.in_place;
    c.duration = base::Seconds(t.time_us.value * 1e-6);
    c.source = row.source;
    trace.collectives.push_back(std::move(c));
  }
}

}  // namespace

std::optional<Printed> printed(std::string_view text) {
  Printed p;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), p.value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(p.value) || p.value < 0) return std::nullopt;
  const std::size_t point = text.find('.'), exponent = text.find_first_of("eE");
  const std::size_t digits_end = std::min(exponent, text.size());
  const double decimals = point == std::string_view::npos ? 0 : static_cast<double>(digits_end - point - 1);
  double power = -decimals;
  if (exponent != std::string_view::npos) {
    int e = 0;
    std::string_view digits = text.substr(exponent + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), e);
    power += e;
  }
  p.half = 0.5 * std::pow(10.0, power);
  return p;
}

std::string test_named_in(std::string_view text) {
  for (std::size_t at = text.find("_perf"); at != std::string_view::npos; at = text.find("_perf", at + 1))
    for (const auto& [name, kind] : kTests) {
      if (!text.substr(0, at).ends_with(name)) continue;
      const std::size_t from = at - name.size();
      const bool starts = from == 0 || (text[from - 1] != '_' && std::isalnum(static_cast<unsigned char>(text[from - 1])) == 0);
      if (starts) return std::string(name);
    }
  return {};
}

ImportedTrace to_trace(const Table& table, const std::string& file) {
  if (table.ranks > kMostRanks) refuse(file, fmt::format("lists {} ranks", table.ranks));
  if (table.rows.empty()) refuse(file, "is output of nccl-tests without a single row of results", "did the run fail?");
  if (table.ranks == 1 || moves_nothing(table))
    refuse(file, "is a table of one rank, which exchanges nothing", "run nccl-tests on two GPUs or more", table.rows.front().line);
  ImportedTrace trace{.format = TraceFormat::nccl_tests, .file = file, .notes = table.notes};
  const int ranks = table.ranks > 0 ? table.ranks : concluded_ranks(table, trace.notes);
  for (const Row& row : table.rows) add_row(row, ranks, table.nodes, trace);
  for (std::size_t rank = 0; rank < table.devices.size(); ++rank)
    trace.devices.push_back({.id = static_cast<int>(rank), .name = table.devices[rank]});
  if (table.ranks > 0) trace.world_size = table.ranks;
  finish_trace(trace);
  return trace;
}

}  // namespace imports::nccl
