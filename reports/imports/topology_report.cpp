#include "reports/imports/topology_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace reports {

std::string topology_text(const topology::ImportedTopology& t, const std::string& file) {
  std::string text = fmt::format("{}: {}\n{} nodes", file, t.format, t.nodes);
  if (t.gpus > 0)
    text += fmt::format("; in each {} GPUs, {} CPUs, {} switches, {} NICs, {} wires", t.gpus, t.cpus, t.switches, t.nics, t.wires);
  text += '\n';
  for (const std::string& note : t.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string topology_json(const topology::ImportedTopology& t, const std::string& file) {
  nlohmann::ordered_json j;
  j["format"] = t.format;
  j["file"] = file;
  j["nodes"] = t.nodes;
  j["per_node"] = {{"gpus", t.gpus}, {"cpus", t.cpus}, {"switches", t.switches}, {"nics", t.nics}, {"wires", t.wires}};
  j["notes"] = t.notes;
  // Names come from files: bytes that are no UTF-8 are replaced.
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace reports
