#pragma once
// Scenarios answered with a trace, traces written and read again, and one beside the other.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/yaml/parse.hpp"
#include "reports/answer.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/comparison/comparison.hpp"

namespace test {

// A transformer of two layers that is simulated in milliseconds, on the eight GPUs of a node. With 64 heads a GPU at 0.4 of its speed does
// not wait for its host.
inline std::string scenario(const std::string& plan, const std::string& cluster = "", int heads = 8) {
  const std::string model = "layers: 2, hidden: " + std::to_string(64 * heads) + ", heads: " + std::to_string(heads);
  return "foreshard: 1\nname: small\n"
         "model: {transformer: {" +
         model +
         ", vocab: 8192, sequence_length: 256}}\n"
         "cluster: {preset: dgx-h100, nodes: 1" +
         cluster +
         "}\n"
         "training: {global_batch: 16, precision: bf16, optimizer: adam, framework: megatron-core}\n"
         "plans: [{" +
         plan + ", name: p}]\n";
}

inline scenarios::Scenario loaded(const std::string& text) { return scenarios::load_scenario(base::parse_yaml(text, "s.yaml"), {}); }

inline scenarios::ScenarioResult answered(const std::string& text) {
  scenarios::RunOptions options;
  options.trace = true;
  return scenarios::run_scenario(loaded(text), options);
}

class File {
 public:
  explicit File(const std::string& text, const std::string& extension = ".json")
      : path_(std::filesystem::temp_directory_path() /
              ("foreshard-compare-" + std::to_string(::getpid()) + "-" + std::to_string(++made_) + extension)) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  inline static int made_ = 0;
  std::filesystem::path path_;
};

// The forecast of a scenario beside a trace.
inline comparison::Comparison beside(const std::string& text, const std::string& trace) {
  const File file(trace);
  const scenarios::ScenarioResult result = answered(text);
  return comparison::compare(loaded(text), result.runs.at(0), {comparison::read_trace(file.path())});
}

inline std::string trace_of(const std::string& text) { return reports::chrome_trace(answered(text)); }

// The part of this pass and kind.
inline const comparison::PartRow* part(const comparison::Comparison& c, comparison::Share share, std::string_view pass,
                                       std::string_view kind) {
  for (const comparison::PartRow& row : c.parts)
    if (row.key == comparison::PartKey{share, pass, kind}) return &row;
  return nullptr;
}

}  // namespace test
