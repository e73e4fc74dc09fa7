#include "profiles/imports/traces/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace imports {
namespace {

using pcg::Precision;

constexpr std::array<ElementType, 14> kTypes{{
    {"fp32", 4, Precision::fp32},
    {"fp16", 2, Precision::fp16},
    {"bf16", 2, Precision::bf16},
    {"fp8", 1, Precision::fp8},
    {"fp64", 8, std::nullopt},
    {"int8", 1, std::nullopt},
    {"uint8", 1, std::nullopt},
    {"int16", 2, std::nullopt},
    {"int32", 4, std::nullopt},
    {"uint32", 4, std::nullopt},
    {"int64", 8, std::nullopt},
    {"uint64", 8, std::nullopt},
    {"bool", 1, std::nullopt},
    {"complex64", 8, std::nullopt},
}};

// Lower case, without the name space: how others spell them, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 47> kSpellings{{
    {"float", "fp32"},          {"float32", "fp32"},       {"f32", "fp32"},          {"fp32", "fp32"},           {"half", "fp16"},
    {"float16", "fp16"},        {"f16", "fp16"},           {"fp16", "fp16"},         {"__half", "fp16"},         {"bfloat16", "bf16"},
    {"bf16", "bf16"},           {"__nv_bfloat16", "bf16"}, {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8"},     {"float8_e4m3fnuz", "fp8"},
    {"float8_e5m2fnuz", "fp8"}, {"f8e4m3", "fp8"},         {"f8e5m2", "fp8"},        {"fp8_e4m3", "fp8"},        {"fp8_e5m2", "fp8"},
    {"double", "fp64"},         {"float64", "fp64"},       {"f64", "fp64"},          {"signed char", "int8"},    {"char", "int8"},
    {"int8", "int8"},           {"int8_t", "int8"},        {"i8", "int8"},           {"unsigned char", "uint8"}, {"byte", "uint8"},
    {"uint8", "uint8"},         {"uint8_t", "uint8"},      {"u8", "uint8"},          {"short", "int16"},         {"short int", "int16"},
    {"int", "int32"},           {"int32", "int32"},        {"int32_t", "int32"},     {"uint32", "uint32"},       {"uint32_t", "uint32"},
    {"long", "int64"},          {"long int", "int64"},     {"int64", "int64"},       {"int64_t", "int64"},       {"uint64", "uint64"},
    {"uint64_t", "uint64"},     {"bool", "bool"},
}};

}  // namespace

const ElementType* element_type(std::string_view name) {
  for (const std::string_view space : {"c10::", "torch.", "at::"})
    if (name.starts_with(space)) name.remove_prefix(space.size());
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* spelling = std::ranges::find(kSpellings, std::string_view(lower), &std::pair<std::string_view, std::string_view>::first);
  if (spelling == kSpellings.end()) return nullptr;
  return std::ranges::find(kTypes, spelling->second, &ElementType::name);
}

}  // namespace imports
