#include "scenarios/training.hpp"

#include <array>

namespace scenarios {

pcg::TrainingConfig read_training(const base::Yaml& section, const std::string& path, int gpus, base::Diagnostics& sink) {
  static const std::vector<std::string> precisions = {"fp32", "tf32", "fp16", "bf16", "fp8"};
  constexpr std::array precision_values = {pcg::Precision::fp32, pcg::Precision::tf32, pcg::Precision::fp16, pcg::Precision::bf16, pcg::Precision::fp8};
  static const std::vector<std::string> optimizers = {"sgd", "momentum", "adam"};
  constexpr std::array optimizer_values = {pcg::Optimizer::sgd, pcg::Optimizer::momentum, pcg::Optimizer::adam};
  static const std::vector<std::string> frameworks = {"generic", "megatron", "deepspeed", "pytorch"};
  constexpr std::array framework_values = {pcg::Framework::generic, pcg::Framework::megatron, pcg::Framework::deepspeed, pcg::Framework::pytorch};

  base::MapReader in(section, path, sink);
  pcg::TrainingConfig t;
  const auto per_gpu = in.integer("batch_per_gpu", 1, 1 << 30);
  const auto global = in.integer("global_batch", 1, std::int64_t{1} << 40);
  if (in.has("batch_per_gpu") && in.has("global_batch"))
    in.complain("global_batch", "batch_per_gpu is given as well", "keep one of them");
  else if (section.is_map() && !in.has("batch_per_gpu") && !in.has("global_batch"))
    sink.add(section.mark, path, "the batch is missing", "write batch_per_gpu: 4, or global_batch: 96");
  if (global) t.global_batch = *global;
  if (per_gpu) t.global_batch = *per_gpu * std::max(1, gpus);
  t.precision = precision_values[in.choice("precision", precisions).value_or(0)];
  t.optimizer = optimizer_values[in.choice("optimizer", optimizers).value_or(2)];
  t.framework = framework_values[in.choice("framework", frameworks).value_or(0)];
  t.fp32_gradients = in.boolean("fp32_gradients").value_or(false);
  in.finish();
  return t;
}

}  // namespace scenarios
