#include "pcg/plan/low_precision.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace pcg {

bool multiplies_low(const Plan& plan, const PcgNode& node) {
  const Operator* op = casts_products(plan.training.precision) ? node.operation() : nullptr;
  if (op == nullptr || !(std::holds_alternative<Linear>(*op) || std::holds_alternative<ExpertLinear>(*op))) return false;
  return plan.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty && !node.name.ends_with(".router");
}

OperandFormat operand_format(const TrainingConfig& training, bool copies_columns) {
  constexpr double kBlock = 1 + 4.0 / 128, kMx = 1 + 1.0 / 32, kFour = 0.5 + 1.0 / 16;
  switch (training.precision) {
    case Precision::fp8:
      if (training.fp8_recipe == Fp8Recipe::blockwise) return {.rows = kBlock, .columns = kBlock};
      return {.rows = 1, .columns = copies_columns ? 1.0 : 0.0, .amax = training.fp8_recipe == Fp8Recipe::current};
    case Precision::mxfp8: return {.rows = kMx, .columns = kMx, .swizzled = 2.0 / 32};
    case Precision::nvfp4: return {.rows = kFour, .columns = kFour, .amax = true, .swizzled = 2.0 / 16};
    default: break;
  }
  BASE_CHECK(false, "products are not cast in {}", to_text(training.precision));
}

OperandFormat weight_format(const TrainingConfig& training, bool copies_columns) {
  OperandFormat format = operand_format(training, copies_columns);
  if (training.precision == Precision::fp8 && training.fp8_recipe == Fp8Recipe::blockwise)
    format.rows = format.columns = 1 + 4.0 / (128 * 128);
  return format;
}

std::optional<std::string> wrong_weights(WeightStorage weights, Precision precision) {
  if (weights == WeightStorage::bf16) return std::nullopt;
  const Precision multiplied = weights == WeightStorage::mxfp8   ? Precision::mxfp8
                               : weights == WeightStorage::nvfp4 ? Precision::nvfp4
                                                                 : Precision::fp8;
  if (precision == multiplied) return std::nullopt;
  return fmt::format("weights are kept in {} where products are in {}, and the precision is {}",
                     kWeightStorageWords[static_cast<std::size_t>(weights)], to_text(multiplied), to_text(precision));
}

}  // namespace pcg
