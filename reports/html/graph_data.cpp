#include "reports/html/page_data.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/json_numbers.hpp"
#include "search/solve/operators/strategies.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

struct BlockData {
  Json nodes = Json::array();
  int low = 0, high = -1;  // virtual stages
  std::set<std::uint32_t> devices;
};

std::vector<BlockData> blocks_of(const pcg::Plan& plan) {
  std::vector<BlockData> blocks(plan.pcg.blocks().size());
  std::vector<int> place(plan.pcg.nodes().size(), -1);  // of a node in its block; -1: a source
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (node.is_source()) continue;
    BlockData& block = blocks[static_cast<std::size_t>(node.block)];
    place[n] = static_cast<int>(block.nodes.size());
    Json j{{"name", node.name.substr(node.name.find('.') + 1)},  // without its block: operators of alike blocks differ in it alone
           {"kind", kind_name(node)}};
    if (node.computes()) j["cut"] = search::cut_text(*node.space, node.sharding);
    j["shape"] = pcg::to_text(node.outputs[0]);
    j["inputs"] = Json::array();
    for (const pcg::TensorRef& input : node.inputs)
      if (const pcg::PcgNode& from = plan.pcg.node(input.node); !from.is_source())
        j["inputs"].push_back(from.block == node.block ? place[input.node.value] : -1);
    block.nodes.push_back(std::move(j));
    block.low = block.high < 0 ? plan.stage[n] : std::min(block.low, plan.stage[n]);
    block.high = std::max(block.high, plan.stage[n]);
    if (node.computes())
      for (const pcg::DeviceId d : pcg::devices_of(plan.mapping[n], node.sharding)) block.devices.insert(d.value);
  }
  return blocks;
}

}  // namespace

Json graph_data(const pcg::Plan& plan, std::size_t most_bytes) {
  const std::vector<BlockData> blocks = blocks_of(plan);
  Json j{{"gpus", plan.gpus},
         {"stages", plan.stages},
         {"ranks", pcg::ranks_of(plan)},
         {"micro_batches", plan.micro_batches},
         {"schedule", pcg::name_of(plan.schedule)},
         {"recompute", pcg::name_of(plan.recompute)},
         {"zero", plan.zero},
         {"parts", Json::array()},
         {"blocks", Json::array()}};
  std::map<std::string, std::size_t> parts;  // by their text
  std::size_t bytes = 0, lost = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const BlockData& block = blocks[b];
    std::string text = block.nodes.dump();
    Json about{{"name", plan.pcg.blocks()[b].name},
               {"part", 0},
               {"stages", {block.low, std::max(block.low, block.high)}},
               {"devices", device_ranges({block.devices.begin(), block.devices.end()})}};
    bytes += about.dump().size();
    const auto [at, added] = parts.emplace(std::move(text), parts.size());
    about["part"] = at->second;
    if (bytes <= most_bytes) j["blocks"].push_back(std::move(about));
    if (!added) continue;
    const bool fits = bytes + at->first.size() <= most_bytes;
    if (fits) bytes += at->first.size();
    else ++lost;
    j["parts"].push_back(fits ? block.nodes : Json(nullptr));
  }
  if (lost > 0)
    j["left_out"] = fmt::format(
        "To keep the file small, the operators of {} of {} different blocks are left out; --save-plans writes all of "
        "them, and show plan prints them.",
        lost, parts.size());
  return j;
}

}  // namespace reports
