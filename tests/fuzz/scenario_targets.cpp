#include <fmt/format.h>

#include <array>

#include "base/yaml/parse.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/question/scenario.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {
namespace {

// Only bytes that are given are read.
bool names_files(std::string_view text) {
  return text.find("file") != std::string_view::npos || text.find("huggingface") != std::string_view::npos ||
         text.find("onnx") != std::string_view::npos || text.find("rules") != std::string_view::npos ||
         text.find("graph") != std::string_view::npos;
}

// Takes choices from bytes; 0 when they are spent.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  std::size_t below(std::size_t count) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % count;
  }
  template <std::size_t n>
  std::string_view of(const std::array<std::string_view, n>& words) {
    return words[below(n)];
  }
  [[nodiscard]] bool spent() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

// Small, odd and absurd.
constexpr std::array<std::string_view, 16> kCounts{"1", "2",  "4",   "3",    "8",  "0",  "16",      "5",
                                                   "7", "64", "100", "1000", "12", "-1", "1000000", "9223372036854775807"};
constexpr std::array<std::string_view, 14> kBandwidths{"100 GB/s",   "1 GB/s",   "1 B/s",  "0 B/s",      "1e-320 GB/s",
                                                       "1e308 GB/s", "1e6 TB/s", "3 MB/s", "200 Gbit/s", "1e-9 GB/s",
                                                       "2x",         "-50%",     "1e300x", "0.5x"};
constexpr std::array<std::string_view, 8> kTimes{"1 us", "0 s", "1e-15 s", "1 s", "1000 h", "1e-300 s", "3.3 ns", "1e308 s"};

constexpr std::array<std::string_view, 23> kModelKeys{
    "kv_heads",     "ffn",           "head_dim",         "positions",       "experts",
    "top_k",        "expert_every",  "shared_experts",   "dense_layers",    "window",
    "global_every", "mtp_layers",    "kv_rank",          "rope_dim",        "value_dim",
    "query_rank",   "expert_groups", "groups_per_token", "capacity_factor", "expert_imbalance",
    "dropout",      "token_types"};
constexpr std::array<std::string_view, 12> kModelFlags{"gated",  "causal",          "rms_norm",  "rope",
                                                       "biases", "tied_embeddings", "post_norm", "parallel_residual",
                                                       "head",   "pooler",          "qk_norm",   "softcap"};
constexpr std::array<std::string_view, 12> kPresets{"dgx-a100-80gb", "summit",      "dgx-h100",        "pcie-v100",
                                                    "gb200-nvl72",   "titan-xp-4",  "aws-p3.16xlarge", "mi250x-frontier",
                                                    "dgx-2",         "pcie-l40s-4", "h20-node",        "dgx-b200"};
constexpr std::array<std::string_view, 14> kGridKeys{
    "tensor", "pipeline",           "data",     "context", "expert", "expert_tensor", "micro_batch", "chunks", "micro_batch_group", "zero",
    "shard",  "context_all_to_all", "pipeline", "tensor"};
constexpr std::array<std::string_view, 24> kGridWords{"schedule: gpipe",
                                                      "schedule: 1f1b",
                                                      "schedule: interleaved",
                                                      "schedule: flexible",
                                                      "schedule: breadth-first",
                                                      "schedule: zb-h1",
                                                      "schedule: dualpipe",
                                                      "schedule: 2bw",
                                                      "context_kind: gather",
                                                      "context_kind: ulysses",
                                                      "dispatch: deepep",
                                                      "dispatch: hybridep",
                                                      "warm_up: lean",
                                                      "sequence_parallel: true",
                                                      "recompute: full",
                                                      "recompute: selective",
                                                      "recompute: {modules: [norm, mlp], blocks: 1}",
                                                      "layers_per_stage: balanced",
                                                      "layers_per_stage: [1, 1]",
                                                      "cuda_graphs: true",
                                                      "graphed: {attention: true, router: true}",
                                                      "offload: {activations: true, optimizer: true}",
                                                      "offload: {activations: true}, offload_blocks: 1",
                                                      "overlap: {gradients: false, tensor: true}"};
constexpr std::array<std::string_view, 12> kOtherPlans{"data-parallel",
                                                       "fsdp",
                                                       "intra-op: {budget: 0.1 s}",
                                                       "expert-dlrm",
                                                       "pp-dp: {budget: 0.1 s}",
                                                       "inter-op: {budget: 0.1 s}",
                                                       "alpa: {budget: 0.1 s}",
                                                       "uniap: {budget: 0.1 s}",
                                                       "galvatron: {budget: 0.1 s}",
                                                       "flexflow: {budget: 0.1 s}",
                                                       "fsdp: {stage: search, budget: 0.1 s}",
                                                       "megatron: {search: true, budget: 0.1 s, simulate_best: 1}"};
constexpr std::array<std::string_view, 8> kWhatIfs{"cluster.links.infiniband.bandwidth",
                                                   "cluster.nodes",
                                                   "training.global_batch",
                                                   "training.precision",
                                                   "model.sequence_length",
                                                   "cluster.network.oversubscription",
                                                   "model.transformer.hidden",
                                                   "training.framework"};
constexpr std::array<std::string_view, 5> kFrameworks{"generic", "megatron", "megatron-core", "pytorch", "deepspeed"};
constexpr std::array<std::string_view, 7> kPrecisions{"bf16", "fp16", "fp32", "tf32", "fp8", "mxfp8", "nvfp4"};

std::string model_of(Choices& c) {
  std::string text = fmt::format("layers: {}, hidden: {}, heads: {}, vocab: {}, sequence_length: {}", 1 + c.below(5),
                                 c.below(8) == 7 ? 1000000 : 16 * (1 + c.below(4)), c.of<4>({"4", "2", "1", "3"}),
                                 c.of<4>({"64", "1", "50", "1000"}), c.of<5>({"8", "16", "1", "31", "128"}));
  for (std::size_t n = c.below(4); n > 0; --n) text += fmt::format(", {}: {}", c.of(kModelKeys), c.of(kCounts));
  for (std::size_t n = c.below(4); n > 0; --n) text += fmt::format(", {}: {}", c.of(kModelFlags), c.below(2) == 0 ? "true" : "false");
  return text;
}

std::string cluster_of(Choices& c) {
  std::string text = fmt::format("preset: {}, nodes: {}", c.of(kPresets), c.of<5>({"1", "2", "3", "4", "0"}));
  for (std::size_t n = c.below(3); n > 0; --n)
    text += fmt::format(", links.{}.{}", c.of<5>({"infiniband", "nvlink", "pcie", "ethernet", "nvswitch"}),
                        c.below(2) == 0 ? fmt::format("bandwidth: {}", c.of(kBandwidths)) : fmt::format("latency: {}", c.of(kTimes)));
  return text;
}

std::string plan_of(Choices& c) {
  if (c.below(4) == 0) {
    const std::string_view other = c.of(kOtherPlans);
    return other.find(':') == std::string_view::npos ? std::string(other) : fmt::format("{{{}}}", other);
  }
  std::string text = "micro_batch: 1";
  std::string taken = ",micro_batch,";
  const auto add = [&](std::string_view key, const std::string& entry) {
    if (taken.find(fmt::format(",{},", key)) != std::string::npos) return;
    taken += fmt::format("{},", key);
    text += ", " + entry;
  };
  for (std::size_t n = c.below(5); n > 0; --n) {
    const std::string_view key = c.of(kGridKeys);
    add(key, fmt::format("{}: {}", key, c.of(kCounts)));
  }
  for (std::size_t n = c.below(4); n > 0; --n) {
    const std::string_view word = c.of(kGridWords);
    add(word.substr(0, word.find(':')), std::string(word));
  }
  return fmt::format("{{megatron: {{{}}}}}", text);
}

std::string scenario_text(Choices c) {
  std::string text = fmt::format("foreshard: 1\nmodel: {{transformer: {{{}}}}}\ncluster: {{{}}}\n", model_of(c), cluster_of(c));
  text += fmt::format("training: {{global_batch: {}, precision: {}, framework: {}}}\nplans:\n", c.of(kCounts), c.of(kPrecisions),
                      c.of(kFrameworks));
  for (std::size_t n = 1 + c.below(2); n > 0; --n) text += "  - " + plan_of(c) + "\n";
  if (c.below(3) == 1) {
    const std::string_view key = c.of(kWhatIfs);
    text += fmt::format("what_if:\n  - {{name: w, set: {{{}: {}}}}}\n", key, c.below(2) == 0 ? c.of(kBandwidths) : c.of(kCounts));
  }
  return text;
}

}  // namespace

void read_scenario(std::string_view bytes) {
  if (names_files(bytes)) return;
  refused_or_read([&] { (void)scenarios::load_scenario(base::parse_yaml(std::string(bytes), "input.yaml"), {}); });
}

void run_scenario(std::string_view bytes) {
  // A case may also be the scenario itself.
  const std::string text = bytes.starts_with("foreshard:") ? std::string(bytes) : scenario_text(Choices(bytes));
  if (std::getenv("FORESHARD_SHOW_SCENARIO") != nullptr) fmt::print(stderr, "{}", text);
  refused_or_read([&] {
    const scenarios::Scenario s = scenarios::load_scenario(base::parse_yaml(text, "input.yaml"), {});
    const scenarios::ScenarioResult r = scenarios::run_scenario(s, {});
    for (const scenarios::Run& run : r.runs)
      if (run.status == scenarios::Status::ok)
        BASE_CHECK(run.simulation && run.simulation->iteration_time.value() > 0, "{}: no time for {}", text, run.plan);
  });
}

}  // namespace fuzz
