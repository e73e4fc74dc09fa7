#include "search/grid/grid_options.hpp"

#include <fmt/core.h>

namespace search {

std::vector<Option> memory_options() {
  Flags graphed;
  for (const auto& word : pcg::kGraphedWords) graphed.words.emplace_back(word.first);
  return {
      {"recompute", ChoiceOrParts{.words = pcg::names<pcg::Recompute>(), .modules = pcg::names<pcg::Module>()},
       "`selective`: attention scores; `full`: every block from its inputs; `modules`: parts of each layer; `blocks`: of this many layers "
       "of each virtual stage alone"},
      {"moments", Choice{.words = {"fp32", "bf16"}}, "what the optimizer keeps its moments in"},
      {"activation_inputs", Choice{.words = {"bf16", "fp8"}},
       "what the inputs of activation functions and gated units are kept in for the backward pass", "as `precision` stores them"},
      {"weights", Choice{.words = pcg::names<pcg::WeightStorage>()},
       "what weights of products inside layers are kept in: bf16, or the format that `precision` multiplies", "as `precision` stores them"},
      {"cuda_graphs", Flag{false}, "hosts launch whole graphs of kernels and collectives, which takes them no time"},
      {"graphed", std::move(graphed),
       "parts of each layer whose kernels hosts launch as graphs, which takes them no time; `router` has shared experts with it", "none"},
      {"offload", Flags{.words = {"activations", "optimizer"}},
       "what lies in the hosts' memory: what layers keep for their backward pass, copied there and back overlapped with the passes; "
       "moments and master weights, which the hosts update",
       "neither"},
      {"offload_blocks", WholeNumber{.least = 1, .most = kLargestDegree, .by_default = 0},
       "number of the first layers of each virtual stage whose activations alone are offloaded; they share the passes out among their "
       "copies",
       "all"}};
}

std::optional<OptionProblem> wrong_offload(const pcg::Offload& offload) {
  if (offload.blocks == 0 || offload.activations) return std::nullopt;
  return OptionProblem{"offload_blocks", "no activations are offloaded", "write offload: {activations: true}, or leave offload_blocks out"};
}

void take_memory_options(const OptionValues& options, GridConfig& config) {
  const PartsChosen& parts = options.parts("recompute");
  config.recompute = parts.blocks > 0 && parts.modules.empty() ? pcg::Recompute::full : static_cast<pcg::Recompute>(parts.word);
  config.memory.recomputed.blocks = static_cast<int>(parts.blocks);
  for (const std::size_t m : parts.modules) config.memory.recomputed.modules.push_back(static_cast<pcg::Module>(m));
  config.memory.weights = static_cast<pcg::WeightStorage>(options.choice("weights"));
  config.memory.bf16_moments = options.choice("moments") == 1;
  config.memory.fp8_activation_inputs = options.choice("activation_inputs") == 1;
  config.cuda_graphs = options.flag("cuda_graphs");
  for (const auto& [word, part] : pcg::kGraphedWords) {
    const NamedFlags& graphed = options.flags("graphed");
    if (const auto at = graphed.find(std::string(word)); at != graphed.end()) config.graphed.*part = at->second;
  }
  const NamedFlags& offload = options.flags("offload");
  const auto is_set = [&](const char* word) { return offload.contains(word) && offload.at(word); };
  config.memory.offload = {.activations = is_set("activations"),
                           .blocks = options.given("offload_blocks") ? static_cast<int>(options.whole_number("offload_blocks")) : 0,
                           .optimizer = is_set("optimizer")};
}

Option degree_option(std::string key, int by_default, std::string help, std::string otherwise) {
  return {std::move(key), WholeNumber{.least = 1, .most = kLargestDegree, .by_default = by_default}, std::move(help), std::move(otherwise)};
}

Option shard_option() {
  return degree_option("shard", 0, "number of neighbours that share out what is sharded; each group of this size keeps a copy",
                       "all devices of data and context");
}

Option micro_batch_option(std::string otherwise) {
  return {"micro_batch", WholeNumber{.by_default = GridConfig{}.micro_batch}, "samples per replica and micro-batch", std::move(otherwise)};
}

Option overlap_option(std::vector<std::string> words) {
  return {"overlap", Flags{.words = std::move(words)}, "communication that overlaps with the kernels", "as the framework does"};
}

pcg::Overlap overlap_of(const OptionValues& options) {
  pcg::Overlap overlap;
  for (const auto& [word, choice] : pcg::kOverlapWords)
    if (const auto at = options.flags("overlap").find(std::string(word)); at != options.flags("overlap").end())
      overlap.*choice = at->second;
  return overlap;
}

std::optional<OptionProblem> wrong_overlap(const OptionValues& options, int zero) {
  const pcg::Overlap overlap = overlap_of(options);
  if (zero >= 2 && overlap.gradients == false)
    return OptionProblem{"overlap", fmt::format("zero {} keeps shards of the gradients, and reduces them as they come", zero),
                         "leave gradients out, or share out the optimizer's state alone (zero 1)"};
  if (zero == 3 && overlap.parameters)
    return OptionProblem{"overlap", "zero 3 gathers weights for every pass, not after the step",
                         "leave parameters out, or share out less (zero 1 or 2)"};
  if (zero == 0 && overlap.parameters == true)
    return OptionProblem{"overlap", "without zero every replica updates all weights: there are none to gather",
                         "leave parameters out, or write zero: 1"};
  return std::nullopt;
}

}  // namespace search
