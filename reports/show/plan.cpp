#include "reports/show/show.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/explanation.hpp"
#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "search/solve/operators/strategies.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

std::string sharding_text(const pcg::PcgNode& node) { return search::cut_text(*node.space, node.sharding); }

std::string devices_text(const pcg::MachineView& view, const pcg::Sharding& sharding) {
  std::vector<pcg::DeviceId> devices = pcg::devices_of(view, sharding);
  std::ranges::sort(devices);
  const auto repeated = std::ranges::unique(devices);
  devices.erase(repeated.begin(), repeated.end());
  return pcg::to_text(devices);
}

// Layers repeat: a block whose operators are cut like those of a block before it, name apart, is not listed again.
std::string block_signature(const pcg::Plan& p, int block) {
  std::string text;
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    if (node.block != block || node.is_source()) continue;
    text += fmt::format("{}{};", kind_name(node), node.computes() ? sharding_text(node) : "");
  }
  return text;
}

// " for 2 of 4 blocks", where ZeRO does not shard all.
std::string sharded_blocks_text(const pcg::Plan& p) {
  const std::vector<int>& blocks = p.memory.zero.blocks;
  return blocks.empty() ? std::string() : fmt::format(" for {} of {} blocks", blocks.size(), p.pcg.blocks().size());
}

// "layer 0 (zero 3)", where ZeRO does not shard all.
std::string block_heading(const pcg::Plan& p, std::size_t block) {
  const std::string& name = p.pcg.blocks()[block].name;
  const int zero = pcg::zero_of_block(p.zero, p.memory.zero, static_cast<int>(block));
  return p.memory.zero.blocks.empty() || zero == 0 ? name : fmt::format("{} (zero {})", name, zero);
}

// ", bf16 in the first 1 and the last 14 layers"
std::string kept_in_bf16(const pcg::Bf16Layers& kept) {
  std::vector<std::string> parts;
  if (kept.first > 0) parts.push_back(fmt::format("the first {}", kept.first));
  if (kept.last > 0) parts.push_back(fmt::format("the last {}", kept.last));
  std::string text = parts.empty() ? "" : fmt::format("{} layers", fmt::join(parts, " and "));
  if (kept.mtp) text += text.empty() ? "modules of prediction" : " and in modules of prediction";
  return text.empty() ? "" : ", bf16 in " + text;
}

}  // namespace

std::string plan_text(const pcg::Plan& p, const std::filesystem::path& directory, std::size_t width) {
  std::string out = hanging(fmt::format("{}: {}", p.name, p.summary), width) +
                    hanging(fmt::format("{} GPUs, {} micro-batches, {} virtual stages ({} chunks), schedule {}, recompute {}, zero {}{}",
                                        p.gpus, p.micro_batches, p.stages, p.chunks, pcg::name_of(p.schedule), pcg::name_of(p.recompute),
                                        p.zero, sharded_blocks_text(p)),
                            width);
  out += fmt::format("global batch {}{}, {}{}{}{}, {}, framework {}\n\n", p.training.global_batch,
                     p.training.constant_tokens ? " of constant tokens" : "", pcg::to_text(p.training.precision),
                     p.training.precision == pcg::Precision::fp8 ? fmt::format(" ({})", pcg::name_of(p.training.fp8_recipe)) : "",
                     p.training.fp8_attention ? " with attention in it" : "", kept_in_bf16(p.training.bf16_layers),
                     pcg::name_of(p.training.optimizer), pcg::name_of(p.training.framework));
  if (p.overlap != pcg::Overlap{}) out.insert(out.size() - 1, pcg::to_text(p.overlap) + "\n");
  if (p.between_stages != pcg::BetweenStages::local_all_gather)
    out.insert(out.size() - 1, fmt::format("between stages {}\n", pcg::name_of(p.between_stages)));
  out += plan_explanation_text(p, directory, width) + "\n";
  Table table({left("operator"), left("kind"), left("cut"), left("result"), right("stage"), left("GPUs")});
  std::vector<std::pair<std::string, std::string>> listed;  // signature, block
  for (std::size_t b = 0; b < p.pcg.blocks().size(); ++b) {
    const std::string& name = p.pcg.blocks()[b].name;
    const std::string signature = block_signature(p, static_cast<int>(b));
    const auto same = std::ranges::find(listed, signature, &std::pair<std::string, std::string>::first);
    if (same != listed.end()) {
      table.heading(fmt::format("{}: as {}", block_heading(p, b), same->second));
      continue;
    }
    listed.emplace_back(signature, name);
    table.heading(block_heading(p, b));
    for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
      const pcg::PcgNode& node = p.pcg.nodes()[n];
      if (node.block != static_cast<int>(b) || node.is_source()) continue;
      table.row({"  " + node.name, std::string(kind_name(node)), node.computes() ? sharding_text(node) : "", pcg::to_text(node.outputs[0]),
                 fmt::format("{}", p.stage[n]), node.computes() ? devices_text(p.mapping[n], node.sharding) : ""});
    }
  }
  return out + table.text(2, width);
}

std::string plan_json(const pcg::Plan& p, const std::filesystem::path& directory) {
  Json j = {{"name", p.name},
            {"summary", p.summary},
            {"gpus", p.gpus},
            {"stages", p.stages},
            {"chunks", p.chunks},
            {"schedule", pcg::name_of(p.schedule)},
            {"micro_batches", p.micro_batches},
            {"recompute", pcg::name_of(p.recompute)},
            {"zero", p.zero}};
  for (const int b : p.memory.zero.blocks) j["zero_blocks"].push_back(p.pcg.blocks()[static_cast<std::size_t>(b)].name);
  for (const auto& [word, choice] : pcg::kOverlapWords)
    if (p.overlap.*choice) j["overlap"][word] = *(p.overlap.*choice);
  if (p.between_stages != pcg::BetweenStages::local_all_gather) j["between_stages"] = pcg::name_of(p.between_stages);
  j["global_batch"] = p.training.global_batch;
  j["precision"] = pcg::to_text(p.training.precision);
  add_rewrites(j, p.rewrites);
  add_plan_explanation(j, p, directory);
  j["operators"] = Json::array();
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    Json o = {{"name", node.name},
              {"kind", kind_name(node)},
              {"block", p.pcg.blocks()[static_cast<std::size_t>(node.block)].name},
              {"stage", p.stage[n]},
              {"outputs", Json::array()}};
    for (const pcg::ParallelShape& s : node.outputs) o["outputs"].push_back(pcg::to_text(s));
    if (node.computes()) {
      o["cut"] = sharding_text(node);
      o["devices"] = ids(pcg::devices_of(p.mapping[n], node.sharding));
    }
    j["operators"].push_back(std::move(o));
  }
  return j.dump(1) + "\n";
}

}  // namespace reports
