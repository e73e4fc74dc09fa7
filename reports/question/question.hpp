#pragma once
// The question as answers repeat it: in words, as JSON, and as columns of a table.

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "scenarios/question/subject.hpp"

namespace reports {

// "llama3-70b (70.6 G parameters), 512 x 8,192 tokens, bf16, adam, megatron-core; 32 x dgx-h100, 256 GPUs".
[[nodiscard]] std::string subject_text(const scenarios::Subject& s);

// Names and values of the columns that a table of answers begins with: model, global_batch, sequence_length, precision, optimizer,
// cluster, nodes. Empty values: there is none.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> subject_columns(const scenarios::Subject& s);

// Returns a tree as JSON: what is written bare as a number or a boolean is one, all else is text, so that reading it gives the tree again.
[[nodiscard]] nlohmann::ordered_json yaml_json(const base::Yaml& y);

// Returns [{"kind": "caution", "code": "tight", "text": ...}], in the given order.
[[nodiscard]] nlohmann::ordered_json notes_json(const std::vector<base::Note>& notes);
[[nodiscard]] const char* kind_word(base::NoteKind kind);

}  // namespace reports
