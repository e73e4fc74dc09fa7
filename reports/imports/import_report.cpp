#include "reports/imports/import_report.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ranges>

#include "base/numbers.hpp"
#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;
using imports::CollectiveTotal;
using imports::ImportedIteration;
using imports::ImportedTrace;
using imports::TraceSummary;

// A figure that a file does not give is null: 0 would be a figure.
Json known(double value) { return value > 0 ? Json(value) : Json(nullptr); }
Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Names come from files: what is no UTF-8 is replaced when written.
std::string dump(const Json& j) { return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json devices_json(const ImportedTrace& t) {
  Json list = Json::array();
  for (const imports::ImportedDevice& d : t.devices)
    list.push_back({{"id", d.id},
                    {"name", known(d.name)},
                    {"profile", known(d.profile)},
                    {"memory_bytes", d.memory.value() > 0 ? count(d.memory.value()) : Json()}});
  return list;
}

Json iterations_json(const ImportedTrace& t) {
  Json list = Json::array();
  for (const ImportedIteration& i : t.iterations)
    list.push_back({{"name", i.name},
                    {"start_s", i.start ? Json(i.start->value()) : Json()},
                    {"duration_s", i.duration.value()},
                    {"busy_s", i.busy ? Json(i.busy->value()) : Json()}});
  return list;
}

Json kinds_json(const TraceSummary& s) {
  Json kinds = Json::object();
  for (const imports::KindTotal& k : s.kinds) kinds[k.kind] = {{"kernels", k.count}, {"time_s", k.time.value()}, {"with_shape", k.shaped}};
  return kinds;
}

Json streams_json(const TraceSummary& s) {
  Json list = Json::array();
  for (const imports::StreamTotal& x : s.streams)
    list.push_back(
        {{"device", x.device}, {"stream", x.stream}, {"kernels", x.kernels}, {"collectives", x.collectives}, {"time_s", x.time.value()}});
  return list;
}

Json collectives_json(const TraceSummary& s) {
  Json list = Json::array();
  for (const CollectiveTotal& c : s.collectives)
    list.push_back({{"kind", c.kind},
                    {"element", known(c.element)},
                    {"group_size", c.group_size > 0 ? Json(c.group_size) : Json()},
                    {"count", c.count},
                    {"time_s", c.time.value()},
                    {"with_bytes", c.sized},
                    {"bytes", c.sized > 0 ? count(c.bytes.value()) : Json()},
                    {"algbw_bytes_per_s", known(c.algbw.value())},
                    {"busbw_bytes_per_s", known(c.busbw.value())}});
  return list;
}

std::string share_of(base::Seconds part, base::Seconds whole) {
  return whole.value() > 0 ? fmt::format("{:.1f} %", 100 * (part / whole)) : std::string("-");
}

std::string kinds_text(const TraceSummary& s) {
  base::Seconds all;
  for (const auto& k : s.kinds) all += k.time;
  Table table({left("kernels"), right("count"), right("time"), right("share"), right("with shape")});
  for (const auto& k : s.kinds)
    table.row({k.kind, fmt::format("{}", k.count), base::to_text(k.time), share_of(k.time, all), fmt::format("{}", k.shaped)});
  return table.text();
}

std::string rate(base::BytesPerSecond r) { return r.value() > 0 ? base::to_text(r) : "-"; }

std::string collectives_text(const TraceSummary& s) {
  Table table(
      {left("collectives"), left("type"), right("group"), right("count"), right("time"), right("bytes"), right("algbw"), right("busbw")});
  for (const CollectiveTotal& c : s.collectives)
    table.row({c.kind, c.element.empty() ? "-" : c.element, c.group_size > 0 ? fmt::format("{}", c.group_size) : "-",
               fmt::format("{}", c.count), base::to_text(c.time), c.sized > 0 ? traffic_text(c.bytes) : "-", rate(c.algbw), rate(c.busbw)});
  return table.text();
}

std::string iterations_text(const ImportedTrace& t) {
  constexpr std::size_t kShown = 12;  // enough to see whether iterations are even; a trace may hold thousands
  Table table({left("iterations"), right("duration"), right("device busy")});
  for (const ImportedIteration& i : t.iterations | std::views::take(kShown))
    table.row({i.name, base::to_text(i.duration), i.busy ? share_of(*i.busy, i.duration) : "-"});
  if (t.iterations.size() > kShown) table.row({fmt::format("and {} more", t.iterations.size() - kShown), "", ""});
  return table.text();
}

std::string header_text(const ImportedTrace& t) {
  std::string text = fmt::format("{}: {}", t.file, imports::to_text(t.format));
  if (t.rank) text += fmt::format(", rank {}", *t.rank);
  if (t.world_size) text += fmt::format("{} of {}", t.rank ? "" : ", world", *t.world_size);
  text += fmt::format("\n{} kernels, {} collectives, {} iterations in {}\n", t.kernels.size(), t.collectives.size(), t.iterations.size(),
                      base::to_text(t.span));
  std::vector<std::string> names;
  for (const auto& d : t.devices) {
    const std::string name = d.name.empty() ? "device of no name" : d.name + (d.profile.empty() ? "" : " (" + d.profile + ")");
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (!names.empty()) text += fmt::format("{} device{}: {}\n", t.devices.size(), t.devices.size() == 1 ? "" : "s", fmt::join(names, ", "));
  return text;
}

}  // namespace

std::string import_text(const ImportedTrace& t) {
  const TraceSummary s = imports::summarise(t);
  std::string text = header_text(t);
  if (!s.kinds.empty()) text += "\n" + kinds_text(s);
  if (!s.collectives.empty()) text += "\n" + collectives_text(s);
  if (!t.iterations.empty()) text += "\n" + iterations_text(t);
  if (!t.notes.empty()) text += "\n";
  for (const std::string& note : t.notes) text += "note: " + note + "\n";
  return text;
}

std::string import_json(const ImportedTrace& t) {
  const TraceSummary s = imports::summarise(t);
  return dump({{"format", imports::to_text(t.format)},
               {"file", t.file},
               {"kernels", t.kernels.size()},
               {"collectives", t.collectives.size()},
               {"devices", devices_json(t)},
               {"rank", t.rank ? Json(*t.rank) : Json()},
               {"world_size", t.world_size ? Json(*t.world_size) : Json()},
               {"span_s", t.span.value()},
               {"iterations", iterations_json(t)},
               {"by_kind", kinds_json(s)},
               {"by_stream", streams_json(s)},
               {"by_collective", collectives_json(s)},
               {"notes", t.notes}});
}

std::string topology_text(const topology::ImportedTopology& t, const std::string& file) {
  std::string text = fmt::format("{}: {}\n{}", file, t.format, base::counted(t.nodes, "node"));
  if (t.gpus > 0)
    text += fmt::format("; in each {}, {}, {}, {}, {}", base::counted(t.gpus, "GPU"), base::counted(t.cpus, "CPU"),
                        t.switches == 1 ? "1 switch" : fmt::format("{} switches", t.switches), base::counted(t.nics, "NIC"),
                        base::counted(t.wires, "wire"));
  text += '\n';
  for (const std::string& note : t.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string topology_json(const topology::ImportedTopology& t, const std::string& file) {
  return dump({{"format", t.format},
               {"file", file},
               {"nodes", t.nodes},
               {"per_node", {{"gpus", t.gpus}, {"cpus", t.cpus}, {"switches", t.switches}, {"nics", t.nics}, {"wires", t.wires}}},
               {"notes", t.notes}});
}

}  // namespace reports
