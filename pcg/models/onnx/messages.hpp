#pragma once
// ONNX files: protobuf messages into a Model. Only this source knows protobuf.

#include <filesystem>

#include "base/attempt.hpp"
#include "pcg/models/onnx/model.hpp"

namespace pcg::models::onnx {

// Reads any IR version whose messages parse: what later ones added is skipped where nothing here needs it. Weights may lie in files of
// their own (external data): these are not opened. Refuses what is no such file, is damaged, or is larger than protobuf reads (2 GiB).
// Cost: O(bytes).
[[nodiscard]] base::Attempt<Model> read_messages(const std::filesystem::path& file);

}  // namespace pcg::models::onnx
