#pragma once
// Models exported as ONNX, with a loss on what they put out. Private to pcg/models.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models::onnx {

enum class Loss { cross_entropy, squared_error };

// Keys beside the file's name.
struct ReadConfig {
  std::map<std::string, std::int64_t> sizes;  // free sizes of inputs by name, but for the first dims, which hold the samples
  std::vector<std::string> outputs;           // those that get a loss; empty: all
  std::optional<Loss> loss;                   // of each; nullopt: cross entropy after a linear layer of several outputs, else squared error
};

struct ReadResult {
  Graph graph;
  std::vector<std::string> notes;  // what was left out, or counted as something else
};

// Reads a model file; its graph can be made for any batch (pcg::with_batch). nullopt: what is wrong, all of it, is in `sink`.
[[nodiscard]] std::optional<ReadResult> read_onnx(const std::filesystem::path& file, const ReadConfig& config, base::Diagnostics& sink);

}  // namespace pcg::models::onnx
