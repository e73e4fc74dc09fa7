#pragma once
// The question as an answer repeats it: what was asked in a few facts (Subject), and as a scenario that can be run again (normalised).

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/question/variant.hpp"

namespace scenarios {

// What an answer is about. Of the base; other variants change some of it.
struct Subject {
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t global_batch = 0;
  std::int64_t sequence_length = 0;  // tokens of a sample; 0: it has none
  pcg::Precision precision = pcg::Precision::fp32;
  pcg::Optimizer optimizer = pcg::Optimizer::adam;
  std::string framework;
  std::string cluster;  // the preset, or the cluster's own name; empty: only machines to buy or rent are asked about
  int nodes = 0, gpus = 0;
};

// `has_cluster`: the scenario names one.
[[nodiscard]] Subject subject_of(const Variant& base, bool has_cluster);

// Returns the scenario with what was not written filled in (precision, optimizer, framework, and the sequence length of a builtin model),
// and with the files that it names as whole paths. Loading it gives an equal question.
// Requires: `document` is a scenario that was loaded from `directory`, with `base` as its base.
[[nodiscard]] base::Yaml normalised(const base::Yaml& document, const Variant& base, const std::filesystem::path& directory);

// Returns one note on what decides the answer and was not written, with the values taken; none where all of it was.
[[nodiscard]] std::vector<base::Note> unsaid_note(const Variant& variant);

// Returns the precisions in which every GPU of the variant multiplies faster than in its own, and by what factor at least, in the order of
// pcg::Precision; those of products alone only where the model has layers that multiply in them.
[[nodiscard]] std::vector<std::pair<pcg::Precision, double>> faster_precisions(const Variant& variant);
// Returns a note where every GPU of the variant multiplies faster in a precision that was not asked for; none where there is none.
[[nodiscard]] std::vector<base::Note> faster_precision_note(const Variant& variant);

}  // namespace scenarios
