#include "reports/question/question.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// "1,048,576".
std::string grouped(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string parameters_text(std::int64_t n) {
  constexpr std::array kUnits = {std::pair(1e12, "T"), std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")};
  for (const auto& [unit, letter] : kUnits)
    if (static_cast<double>(n) >= unit) return fmt::format("{:.3g} {} parameters", static_cast<double>(n) / unit, letter);
  return fmt::format("{} parameters", n);
}

Json scalar_json(const base::Yaml& y) {
  if (y.quoted) return y.scalar;
  if (y.scalar == "true" || y.scalar == "false") return y.scalar == "true";
  const bool starts_number = !y.scalar.empty() && y.scalar.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (!starts_number) return y.scalar;
  if (const auto whole = base::parse_integer(y.scalar)) return *whole;
  if (const auto real = base::parse_number(y.scalar)) return *real;
  return y.scalar;
}

}  // namespace

std::string subject_text(const scenarios::Subject& s) {
  std::string text = fmt::format("{} ({}), ", s.model, parameters_text(s.parameters));
  text += s.sequence_length > 0 ? fmt::format("{} x {} tokens", grouped(s.global_batch), grouped(s.sequence_length))
                                : fmt::format("{} sample{}", grouped(s.global_batch), s.global_batch == 1 ? "" : "s");
  text += fmt::format(", {}, {}, {}", pcg::to_text(s.precision), pcg::name_of(s.optimizer), s.framework);
  if (s.cluster.empty()) return text;
  return text + fmt::format("; {} x {}, {} GPU{}", s.nodes, s.cluster, grouped(s.gpus), s.gpus == 1 ? "" : "s");
}

std::vector<std::pair<std::string, std::string>> subject_columns(const scenarios::Subject& s) {
  const auto positive = [](std::int64_t n) { return n > 0 ? fmt::format("{}", n) : std::string(); };
  return {{"model", s.model},
          {"global_batch", positive(s.global_batch)},
          {"sequence_length", positive(s.sequence_length)},
          {"precision", std::string(pcg::to_text(s.precision))},
          {"optimizer", pcg::name_of(s.optimizer)},
          {"cluster", s.cluster},
          {"nodes", positive(s.nodes)}};
}

Json yaml_json(const base::Yaml& y) {
  if (y.is_scalar()) return scalar_json(y);
  if (y.is_null()) return nullptr;
  Json j = y.is_map() ? Json::object() : Json::array();
  for (const base::Yaml::Entry& e : y.entries) j[e.key] = yaml_json(e.value);
  for (const base::Yaml& item : y.items) j.push_back(yaml_json(item));
  return j;
}

const char* kind_word(base::NoteKind kind) {
  constexpr std::array kWords = {"problem", "caution", "assumption", "search", "detail"};  // as base::NoteKind
  return kWords[static_cast<std::size_t>(kind)];
}

Json notes_json(const std::vector<base::Note>& notes) {
  Json j = Json::array();
  for (const base::Note& n : notes) j.push_back({{"kind", kind_word(n.kind)}, {"code", n.code}, {"text", n.text}});
  return j;
}

}  // namespace reports
