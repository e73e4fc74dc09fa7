#pragma once
// What a search answers, in words: one sentence, or the part of one, without a full stop.

#include <string>

#include "search/problem/search_result.hpp"

namespace search {

// Memory as GPUs are sold: "15.2 GiB".
[[nodiscard]] std::string memory_text(base::Bytes b);
// "needs 91.2 GiB of 80.0 GiB", "0.412 s against 0.371 s".
[[nodiscard]] std::string to_text(const std::variant<Slower, NeedsMemory>& why);
// Why there is no plan. Requires: !t.has_plan().
[[nodiscard]] std::string to_text(const Termination& t);

}  // namespace search
