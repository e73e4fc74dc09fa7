#include "profiles/measured/tables.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>

namespace measured {
namespace {

constexpr std::array<std::string_view, 6> kCollectiveColumns = {"cluster", "nodes", "gpus", "kind", "bytes", "seconds"};

double required(const CsvTable& t, const CsvRow& row, std::string_view column) {
  const auto value = t.number(row, column);
  if (!value) t.complain(row, fmt::format("{} is empty", column));
  return *value;
}

CollectiveMeasurement collective_of(const CsvTable& t, const CsvRow& row) {
  constexpr double kMost = 1e6;
  const auto kind = profiles::collective_kind(t.cell(row, "kind"));
  if (!kind) t.complain(row, fmt::format("kind: \"{}\" is no collective", t.cell(row, "kind")));
  if (t.cell(row, "cluster").empty()) t.complain(row, "cluster is empty", "a preset's name");
  const double nodes = required(t, row, "nodes"), gpus = required(t, row, "gpus");
  const auto whole = [](double x) { return x >= 1 && x <= kMost && x == static_cast<double>(static_cast<int>(x)); };
  if (!whole(nodes) || !whole(gpus) || gpus < nodes || static_cast<int>(gpus) % static_cast<int>(nodes) != 0)
    t.complain(row, fmt::format("{} GPUs on {} nodes", gpus, nodes), "whole numbers, as many GPUs on each node");
  return {t.cell(row, "cluster"),
          static_cast<int>(nodes),
          static_cast<int>(gpus),
          *kind,
          base::Bytes(required(t, row, "bytes")),
          base::Seconds(t.number(row, "seconds").value_or(0)),
          t.source(row)};
}

}  // namespace

bool read_collective_table(const CsvTable& t, Measurements& into) {
  if (!t.has_all(kCollectiveColumns)) return false;
  LeftOutRows left_out(t, into);
  for (const CsvRow& row : t.rows()) {
    CollectiveMeasurement m = collective_of(t, row);
    if (!(m.bytes.value() > 0)) left_out.add("no bytes");
    else if (m.gpus < 2) left_out.add("one GPU alone");
    else if (!(m.time.value() > 0)) left_out.add("no time");
    else into.collectives.push_back(std::move(m));
  }
  return true;
}

std::string to_csv(const std::vector<CollectiveMeasurement>& collectives) {
  std::string text = fmt::format("{}\n", fmt::join(kCollectiveColumns, ","));
  for (const CollectiveMeasurement& m : collectives)
    text += fmt::format("{},{},{},{},{},{}\n", m.cluster, m.nodes, m.gpus, to_text(m.kind), m.bytes.value(), m.time.value());
  return text;
}

}  // namespace measured
