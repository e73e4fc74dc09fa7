// `rocm-smi --showtopo`: matrices of weights, hops and link types, and NUMA nodes, as the matrix that nvidia-smi would print of such a
// node.
#include <fmt/core.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <map>

#include "topology/imports/node_sketch.hpp"
#include "topology/imports/smi_matrix.hpp"

namespace topology::imports {
namespace {

constexpr const char* kRocmFormat = "rocm-smi --showtopo";

struct RocmTables {
  std::vector<SmiDevice> gpus;
  std::map<std::string, std::vector<std::vector<std::string>>> tables;  // by title: "Hops", "Link Type"; one row per GPU
};

// Tables that are read ("Bandwidth" is that of `rocm-smi --shownodesbw`) or say nothing of speed; another may have any figure.
const std::vector<std::string> kRead = {"Hops", "Link Type", "Bandwidth"}, kIgnored = {"Weight", "Link accessibility"};

RocmTables read_tables(const SourceText& source) {
  RocmTables r;
  std::string title;
  for (const auto& [line, words] : smi_rows(source.text())) {
    if (words[0].starts_with("====")) {
      const auto text = boost::algorithm::join(words, " ");
      const auto end = text.find(" between two GPUs");
      title = end == std::string::npos ? "" : text.substr(words[0].size() + 1, end - words[0].size() - 1);
      const auto known = [&](const auto& titles) { return std::ranges::find(titles, title) != titles.end(); };
      if (!title.empty() && !known(kRead) && !known(kIgnored))
        refuse(source.at(line), fmt::format("a table \"{} between two GPUs\" is not known, and it may have a bandwidth", title),
               "import what rocm-smi --showtopo prints");
    } else if (!title.empty() && is_smi_gpu(words[0]) && (words.size() == 1 || is_smi_gpu(words[1]))) {
      std::vector<SmiDevice> gpus;
      for (const auto& name : words) gpus.push_back({.name = name, .gpu = true, .line = line});
      if (gpus.size() > kMaxDevices) refuse(source.at(line), fmt::format("more than {} devices in one node", kMaxDevices));
      if (r.gpus.empty()) r.gpus = std::move(gpus);
      else if (!std::ranges::equal(gpus, r.gpus, {}, &SmiDevice::name, &SmiDevice::name))
        refuse(source.at(line), "the tables are of different GPUs", "one node per file");
    } else if (!title.empty() && is_smi_gpu(words[0])) {
      auto& rows = r.tables[title];
      if (rows.size() == r.gpus.size() || words[0] != r.gpus[rows.size()].name || words.size() != r.gpus.size() + 1)
        refuse(source.at(line),
               fmt::format("{} of table \"{}\" is no row of {} cells in the order of its columns", words[0], title, r.gpus.size()),
               "is the text cut off?");
      rows.emplace_back(words.begin() + 1, words.end());
    } else if (words[0].starts_with("GPU") && words.size() > 2 && words[words.size() - 2] == "Node:") {  // "GPU[0]", older ones "GPU 0"
      const auto gpu = parse_count(words[0] == "GPU" ? words[1] : words[0].substr(4, words[0].find(']') - 4));
      if (gpu && *gpu < static_cast<int>(r.gpus.size())) r.gpus[static_cast<std::size_t>(*gpu)].numa = parse_count(words.back());
    }
  }
  for (const auto& name : kRead)
    if (const auto rows = r.tables[name].size(); r.gpus.empty() || (rows != r.gpus.size() && (rows > 0 || name == "Link Type")))
      refuse(source.at(1), fmt::format("rocm-smi's table \"{} between two GPUs\" is missing or cut off", name),
             "copy the whole output of rocm-smi --showtopo");
  return r;
}

// Links between two GPUs: "50000-200000" MB/s are one and four of them, as AMD's driver counts.
int links_between(const std::string& bandwidth) {
  const auto dash = bandwidth.find('-');
  const auto least = parse_count(bandwidth.substr(0, dash)),
             most = parse_count(dash == std::string::npos ? "" : bandwidth.substr(dash + 1));
  return least && most && *least > 0 ? std::clamp(*most / *least, 1, 16) : 1;
}

SmiCell cell(const SourceText& source, RocmTables& r, std::size_t a, std::size_t b) {
  if (a == b) return {};
  const auto& hops_of = r.tables["Hops"];  // --showtopotype prints none
  const std::string type = r.tables["Link Type"][a][b], hop = hops_of.empty() ? "1" : hops_of[a][b];
  const auto bad = [&](const std::string& what) {
    refuse(source.at(r.gpus[a].line), fmt::format("{} to {}: {}", r.gpus[a].name, r.gpus[b].name, what));
  };
  if (type != "XGMI" && type != "PCIE") bad(fmt::format("\"{}\" is no link type that is known: XGMI, PCIE", type));
  const auto hops = parse_count(hop);
  if (!hops || *hops < 1) bad(fmt::format("\"{}\" is no number of hops", hop));
  if (r.tables["Link Type"][b][a] != type || (!hops_of.empty() && hops_of[b][a] != hop)) bad("not the same the other way round");
  // More hops lead through other GPUs.
  if (type == "XGMI" && hops == 1)
    return {Distance::unknown, r.tables["Bandwidth"].empty() ? 1 : links_between(r.tables["Bandwidth"][a][b])};
  return {r.gpus[a].numa == r.gpus[b].numa ? Distance::node : Distance::sys, 0};
}

}  // namespace

std::optional<ImportedTopology> import_rocm_smi(std::string_view text, const std::string& file, const ImportConfig& config) {
  if (text.find(" between two GPUs") == std::string_view::npos) return std::nullopt;
  const SourceText source(text, file);
  auto tables = read_tables(source);
  SmiMatrix matrix{.devices = tables.gpus, .peers = "xgmi"};
  for (std::size_t a = 0; a < tables.gpus.size(); ++a)
    for (std::size_t b = 0; b < tables.gpus.size(); ++b) matrix.cells.push_back(cell(source, tables, a, b));
  if (tables.tables["Bandwidth"].empty())
    matrix.notes.emplace_back(
        "One xGMI link joins GPUs one hop apart (all, without a table of hops); rocm-smi --shownodesbw knows of more: append its output.");
  return node_of_matrix(matrix, source, kRocmFormat, file, config);
}

}  // namespace topology::imports
