#include "pcg/plan/low_precision.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/check.hpp"

namespace pcg {
namespace {

// Whether the block, a weighty one, is of the layers that stay in bf16.
bool stays_in_bf16(const Bf16Layers& kept, std::span<const Block> blocks, std::size_t block) {
  if (blocks[block].auxiliary) return kept.mtp;
  const auto is_layer = [](const Block& b) { return b.weighty && !b.auxiliary; };
  const auto at = blocks.begin() + static_cast<std::ptrdiff_t>(block);
  return (kept.first > 0 && std::count_if(blocks.begin(), at, is_layer) < kept.first) ||
         (kept.last > 0 && std::count_if(at, blocks.end(), is_layer) <= kept.last);
}

}  // namespace

bool multiplies_low(const Plan& plan, const PcgNode& node) {
  const Operator* op = casts_products(plan.training.precision) ? node.operation() : nullptr;
  if (op == nullptr || !(std::holds_alternative<Linear>(*op) || std::holds_alternative<ExpertLinear>(*op))) return false;
  if (!plan.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty || node.name.ends_with(".router")) return false;
  if (node.name.ends_with(".lora_a") || node.name.ends_with(".lora_b")) return false;
  const Bf16Layers& kept = plan.training.bf16_layers;
  return kept == Bf16Layers{} || !stays_in_bf16(kept, plan.pcg.blocks(), static_cast<std::size_t>(node.block));
}

Bf16Layers read_bf16_layers(base::MapReader& in, Precision precision) {
  Bf16Layers kept;
  const base::Yaml* section = in.optional("bf16_layers");
  if (section == nullptr) return kept;
  base::MapReader r(*section, in.path_of("bf16_layers"), in.sink());
  kept.first = static_cast<int>(r.integer("first", 0, 1 << 20).value_or(0));
  kept.last = static_cast<int>(r.integer("last", 0, 1 << 20).value_or(0));
  kept.mtp = r.boolean("mtp").value_or(false);
  r.finish();
  if (kept != Bf16Layers{} && !casts_products(precision))
    in.complain("bf16_layers", fmt::format("of low precision, and the precision is {}", to_text(precision)),
                "leave it out, or write precision: mxfp8");
  return kept;
}

OperandFormat operand_format(const TrainingConfig& training, bool copies_columns) {
  constexpr double kBlock = 1 + 4.0 / 128, kMx = 1 + 1.0 / 32, kFour = 0.5 + 1.0 / 16;
  switch (training.precision) {
    case Precision::fp8:
      if (training.fp8_recipe == Fp8Scaling::blockwise) return {.rows = kBlock, .columns = kBlock};
      return {.rows = 1, .columns = copies_columns ? 1.0 : 0.0, .amax = training.fp8_recipe == Fp8Scaling::current};
    case Precision::mxfp8: return {.rows = kMx, .columns = kMx, .swizzled = 2.0 / 32};
    case Precision::nvfp4: return {.rows = kFour, .columns = kFour, .amax = true, .swizzled = 2.0 / 16};
    default: break;
  }
  BASE_CHECK(false, "products are not cast in {}", to_text(training.precision));
}

OperandFormat weight_format(const TrainingConfig& training, bool copies_columns) {
  OperandFormat format = operand_format(training, copies_columns);
  if (training.precision == Precision::fp8 && training.fp8_recipe == Fp8Scaling::blockwise)
    format.rows = format.columns = 1 + 4.0 / (128 * 128);
  return format;
}

std::optional<std::string> wrong_weights(WeightStorage weights, Precision precision) {
  if (weights == WeightStorage::bf16) return std::nullopt;
  const Precision multiplied = weights == WeightStorage::mxfp8   ? Precision::mxfp8
                               : weights == WeightStorage::nvfp4 ? Precision::nvfp4
                                                                 : Precision::fp8;
  if (precision == multiplied) return std::nullopt;
  return fmt::format("weights are kept in {} where products are in {}, and the precision is {}", name_of(weights), to_text(multiplied),
                     to_text(precision));
}

}  // namespace pcg
