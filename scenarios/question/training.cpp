#include "scenarios/question/training.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/yaml/reader.hpp"
#include "pcg/plan/low_precision.hpp"

namespace scenarios {
namespace {

// `true`, or the largest norm, 0 standing for none: it changes no time.
bool clips_gradients(base::MapReader& in) {
  const base::Yaml* value = in.optional("clip_gradients");
  const bool is_number = value != nullptr && value->is_scalar() && value->scalar.find_first_of("0123456789") != std::string::npos;
  return is_number ? in.number("clip_gradients", 0, 1e308).value_or(0) > 0 : in.boolean("clip_gradients").value_or(false);
}

}  // namespace

Training read_training(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory, int gpus,
                       base::Diagnostics& sink) {
  base::MapReader in(section, path, sink);
  Training training;
  pcg::TrainingConfig& t = training.config;
  const auto per_gpu = in.integer("batch_per_gpu", 1, 1 << 30);
  const auto global = in.integer("global_batch", 1, std::int64_t{1} << 40);
  if (in.has("batch_per_gpu") && in.has("global_batch")) in.complain("global_batch", "batch_per_gpu is given as well", "keep one of them");
  else if (section.is_map() && !in.has("batch_per_gpu") && !in.has("global_batch"))
    sink.add(section.mark, path, "the batch is missing", "write batch_per_gpu: 4, or global_batch: 96");
  if (global) t.global_batch = *global;
  if (per_gpu) t.global_batch = *per_gpu * std::max(1, gpus);
  t.precision = static_cast<pcg::Precision>(in.choice("precision", pcg::precision_names()).value_or(0));
  t.fp8_recipe = static_cast<pcg::Fp8Recipe>(in.choice("fp8_recipe", pcg::fp8_recipe_names()).value_or(0));
  if (in.has("fp8_recipe") && t.precision != pcg::Precision::fp8)
    in.complain("fp8_recipe", fmt::format("of precision fp8, and the precision is {}", pcg::to_text(t.precision)),
                "leave it out, or write precision: fp8");
  t.fp8_attention = in.boolean("fp8_attention").value_or(false);
  if (t.fp8_attention && !pcg::has_fp8_attention(t.precision))
    in.complain("fp8_attention", fmt::format("of fp8 and mxfp8, and the precision is {}", pcg::to_text(t.precision)),
                "leave it out, or write precision: mxfp8");
  t.bf16_layers = pcg::read_bf16_layers(in, t.precision);
  t.optimizer =
      static_cast<pcg::Optimizer>(in.choice("optimizer", pcg::optimizer_names()).value_or(static_cast<std::size_t>(pcg::Optimizer::adam)));
  if (const base::Yaml* framework = in.optional("framework"))
    training.framework = read_framework(*framework, in.path_of("framework"), directory, sink);
  (void)in.boolean("fp32_gradients");
  t.clip_gradients = clips_gradients(in);
  t.constant_tokens = in.boolean("constant_tokens").value_or(false);
  in.finish();
  run_under(training.framework, section, t);
  return training;
}

void run_under(const Framework& framework, const base::Yaml& section, pcg::TrainingConfig& config) {
  config.framework = framework.profile.framework;
  // What a framework does in bf16 it does in low precision, whose tensors are bf16 outside of products.
  const bool brain = config.precision == pcg::Precision::bf16 || pcg::casts_products(config.precision);
  base::Diagnostics reported_elsewhere;
  const base::Yaml* written = section.find("fp32_gradients");
  const auto said = written != nullptr ? base::as_boolean(*written, "fp32_gradients", reported_elsewhere) : std::nullopt;
  config.fp32_gradients = said.value_or(brain && framework.profile.fp32_gradients);
}

}  // namespace scenarios
