#pragma once
// Measured iterations: what ran, on what, how long an iteration took, and how much memory it had. A point is one row of a points table
// (docs/formats/measurements.md, "Points"); as a scenario it is the question that the forecast is held against.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"

namespace measured {

struct Point {
  // A scenario's key that this point sets: a path from `model`, `cluster`, `training` or `plan` on, and its value.
  struct Setting {
    std::string path;
    base::Yaml value;
  };

  std::string id, group, source;  // source: where the figure was published, for people; may be empty
  std::string cluster;            // a preset's name
  int nodes = 1, gpus = 1;
  std::string model;       // a builtin's name; empty: the transformer below
  base::Yaml transformer;  // keys of a scenario's model.transformer
  int tensor = 1, pipeline = 1, data = 1, context = 1, expert = 1, chunks = 1;
  std::int64_t micro_batch = 1, global_batch = 1;
  std::string recompute = "none";  // none | selective | full
  bool sequence_parallel = false;
  int zero = 0;  // optimizer state (1), gradients (2), weights (3) sharded over replicas
  std::string precision, optimizer = "adam", framework = "generic";
  std::string fp8_recipe;         // delayed | current | blockwise; empty: not said
  std::vector<Setting> settings;  // set one after another, when all else of the scenario is there
  std::optional<base::Seconds> measured;
  std::optional<base::Bytes> measured_peak;      // most memory allocated on a GPU
  std::optional<base::Bytes> measured_reserved;  // most memory that the framework's allocator held on a GPU
  base::Mark mark;                               // of the row
};

// Returns whether a header is that of a points table.
[[nodiscard]] bool is_points_header(std::string_view text);
// Throws: base::InputError with every problem found: an unknown or missing column; else cells that are not what their column
// holds, the first 40.
[[nodiscard]] std::vector<Point> read_points(std::string text, const std::string& file);
// Returns the scenario (docs/formats) that asks for this point's iteration time: one plan, no what-ifs. Its parts carry the row's mark,
// so that a message about it names the table's file and line.
[[nodiscard]] base::Yaml scenario_of(const Point& p);

}  // namespace measured
