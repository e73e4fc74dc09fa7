#pragma once
// Figures that others published and that ours are held against: cited, each with its source, not copied tables. They are compiled in from
// profiles/published/*.yaml (docs/formats.md). Nothing is fitted to them; measured tables for validation are files of the user's.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml.hpp"

namespace profiles {

// What a figure counts, and so the unit of PublishedFigure::value.
enum class PublishedUnit {
  seconds,
  bytes,
  flops_per_second,
  samples_per_second,
  share,  // "8.37 %" is 0.0837
};

struct PublishedFigure {
  std::string name;      // "7.5B"; unique with `quantity` in its file
  std::string quantity;  // "throughput per GPU", "mean absolute error"
  double value = 0;      // in `unit`
  PublishedUnit unit = PublishedUnit::seconds;
  std::string text;       // as written: "142 TFLOP/s"
  bool at_least = false;  // only a lower bound was published
  std::string note;       // may be empty
  // What it was measured for, in the order written: "gpus" -> "128", "model" -> "GPT-2.6B".
  std::vector<std::pair<std::string, std::string>> setting;

  [[nodiscard]] std::optional<std::string> setting_of(const std::string& key) const;
};

struct PublishedTable {
  std::string name;    // of the file: "megatron-sc21"
  std::string title;   // of the work
  std::string source;  // where it was published: authors, venue, table
  std::string seen;    // where the figures were read, when that is not the publication itself; may be empty
  std::vector<PublishedFigure> figures;

  // nullptr when there is none.
  [[nodiscard]] const PublishedFigure* find(const std::string& figure, const std::string& quantity) const;
};

[[nodiscard]] std::vector<std::string> published_names();  // sorted
// Throws: base::InputError when the name is unknown (with the nearest one).
[[nodiscard]] const PublishedTable& published_table(const std::string& name);
// Reads the text form. Throws: base::InputError with every problem found: no source, a figure without a unit, an unknown key.
[[nodiscard]] PublishedTable load_published(const base::Yaml& document, std::string name);

}  // namespace profiles
