#include "reports/show/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/table.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// "b 4 x n 2, 2 copies": the degrees above 1 by the names of their loops.
std::string sharding_text(const pcg::Pcg& pcg, pcg::NodeId id) {
  const pcg::PcgNode& node = pcg.node(id);
  const pcg::IterationSpace& space = *node.space;
  std::string text;
  for (std::size_t l = 0; l < space.loops.size(); ++l)
    if (node.sharding.degrees[l] > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : " x ", space.loops[l].name, node.sharding.degrees[l]);
  if (node.sharding.copies > 1) text += fmt::format("{}{} copies", text.empty() ? "" : ", ", node.sharding.copies);
  if (node.sharding.sums > 1) text += fmt::format("{}{} partial sums", text.empty() ? "" : ", ", node.sharding.sums);
  if (node.sharding.through >= 0) text += fmt::format(" of input {}", node.sharding.through);
  return text.empty() ? "whole" : text;
}

std::string devices_text(const pcg::MachineView& view, const pcg::Sharding& sharding) {
  const auto devices = pcg::devices_of(view, sharding);
  std::uint32_t low = devices[0].value, high = low;
  for (pcg::DeviceId d : devices) {
    low = std::min(low, d.value);
    high = std::max(high, d.value);
  }
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

// Layers repeat: a block whose operators are cut like those of a block before it, name apart, is not listed again.
std::string block_signature(const pcg::Plan& p, int block) {
  std::string text;
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    if (node.block != block || node.is_source()) continue;
    text += node.parallel_operator() != nullptr ? std::string(pcg::kind_name(*node.parallel_operator()))
                                                : std::string(pcg::kind_name(*node.operation())) + sharding_text(p.pcg, pcg::NodeId(n));
    text += ";";
  }
  return text;
}

}  // namespace

std::string plan_text(const pcg::Plan& p) {
  std::string out =
      fmt::format("{}: {}\n{} GPUs, {} micro-batches, {} virtual stages ({} chunks), schedule {}, recompute {}, zero {}\n", p.name,
                  p.summary, p.gpus, p.micro_batches, p.stages, p.chunks, pcg::schedule_names()[static_cast<std::size_t>(p.schedule)],
                  pcg::recompute_names()[static_cast<std::size_t>(p.recompute)], p.zero);
  out += fmt::format("global batch {}, {}, {}, framework {}\n\n", p.training.global_batch, pcg::to_text(p.training.precision),
                     pcg::optimizer_names()[static_cast<std::size_t>(p.training.optimizer)],
                     pcg::framework_names()[static_cast<std::size_t>(p.training.framework)]);
  if (p.overlap != pcg::Overlap{}) out.insert(out.size() - 1, pcg::to_text(p.overlap) + "\n");
  Table table({{"operator", Align::left},
               {"kind", Align::left},
               {"cut", Align::left},
               {"result", Align::left},
               {"stage", Align::right},
               {"GPUs", Align::left}});
  std::vector<std::pair<std::string, std::string>> listed;  // signature, block
  for (std::size_t b = 0; b < p.pcg.blocks().size(); ++b) {
    const std::string& name = p.pcg.blocks()[b].name;
    const std::string signature = block_signature(p, static_cast<int>(b));
    const auto same = std::ranges::find(listed, signature, &std::pair<std::string, std::string>::first);
    if (same != listed.end()) {
      table.heading(fmt::format("{}: as {}", name, same->second));
      continue;
    }
    listed.emplace_back(signature, name);
    table.heading(name);
    for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
      const pcg::PcgNode& node = p.pcg.nodes()[n];
      if (node.block != static_cast<int>(b) || node.is_source()) continue;
      const bool moves = node.parallel_operator() != nullptr;
      table.row({"  " + node.name, std::string(moves ? pcg::kind_name(*node.parallel_operator()) : pcg::kind_name(*node.operation())),
                 moves ? "" : sharding_text(p.pcg, pcg::NodeId(n)), pcg::to_text(node.outputs[0]), fmt::format("{}", p.stage[n]),
                 moves ? "" : devices_text(p.mapping[n], node.sharding)});
    }
  }
  return out + table.text();
}

std::string plan_json(const pcg::Plan& p) {
  Json j;
  j["name"] = p.name;
  j["summary"] = p.summary;
  j["gpus"] = p.gpus;
  j["stages"] = p.stages;
  j["chunks"] = p.chunks;
  j["schedule"] = pcg::schedule_names()[static_cast<std::size_t>(p.schedule)];
  j["micro_batches"] = p.micro_batches;
  j["recompute"] = pcg::recompute_names()[static_cast<std::size_t>(p.recompute)];
  j["zero"] = p.zero;
  for (const auto& [word, choice] : pcg::kOverlapWords)
    if (p.overlap.*choice) j["overlap"][word] = *(p.overlap.*choice);
  j["global_batch"] = p.training.global_batch;
  j["precision"] = pcg::to_text(p.training.precision);
  j["operators"] = Json::array();
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    Json o;
    o["name"] = node.name;
    o["kind"] = node.parallel_operator() != nullptr ? pcg::kind_name(*node.parallel_operator()) : pcg::kind_name(*node.operation());
    o["block"] = p.pcg.blocks()[static_cast<std::size_t>(node.block)].name;
    o["stage"] = p.stage[n];
    o["outputs"] = Json::array();
    for (const pcg::ParallelShape& s : node.outputs) o["outputs"].push_back(pcg::to_text(s));
    if (node.computes()) {
      o["cut"] = sharding_text(p.pcg, pcg::NodeId(n));
      o["devices"] = Json::array();
      for (pcg::DeviceId d : pcg::devices_of(p.mapping[n], node.sharding)) o["devices"].push_back(d.value);
    }
    j["operators"].push_back(std::move(o));
  }
  return j.dump(1) + "\n";
}

}  // namespace reports
