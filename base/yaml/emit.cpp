#include "base/yaml/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace base {
namespace {

constexpr std::size_t kLineWidth = 120;  // what two windows side by side show; the files that ship keep to it
constexpr int kFlowLevels = 2;           // {a: 1, b: [2, 3]} may be one line, deeper things may not

// Double quotes are the one style of YAML in which every character can be written.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out + '"';
}

std::string scalar_text(std::string_view text, bool quoted) { return quoted || !can_be_plain(text) ? in_quotes(text) : std::string(text); }

bool is_leaf(const Yaml& y) { return y.items.empty() && y.entries.empty(); }

int levels(const Yaml& y) {
  int deepest = 0;
  for (const Yaml& item : y.items) deepest = std::max(deepest, levels(item));
  for (const Yaml::Entry& entry : y.entries) deepest = std::max(deepest, levels(entry.value));
  return is_leaf(y) ? 0 : deepest + 1;
}

// One line if it may and fits after `used` columns, else nothing.
std::optional<std::string> as_line(const Yaml& y, std::size_t used) {
  if (levels(y) > kFlowLevels) return std::nullopt;
  std::string text = flow_text(y);
  return is_leaf(y) || used + text.size() <= kLineWidth ? std::optional(std::move(text)) : std::nullopt;
}

void emit_block(const Yaml& y, std::size_t indent, std::string& out);

// After "key:" or "-": the value on the same line or, in a block, below; a block in a sequence starts beside its dash.
void emit_value(const Yaml& y, std::size_t indent, bool beside_dash, std::string& out) {
  const std::size_t used = out.size() - (out.rfind('\n') + 1);  // npos + 1 == 0: the first line
  if (const auto line = as_line(y, used + 1)) {
    out += " " + *line + "\n";
  } else if (beside_dash) {
    std::string below;
    emit_block(y, indent, below);
    out += " " + below.substr(indent);
  } else {
    out += "\n";
    emit_block(y, indent, out);
  }
}

void emit_block(const Yaml& y, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  for (const Yaml& item : y.items) {
    out += margin + "-";
    emit_value(item, indent + 2, true, out);
  }
  for (const Yaml::Entry& entry : y.entries) {
    out += margin + scalar_text(entry.key, false) + ":";
    emit_value(entry.value, indent + 2, false, out);
  }
}

}  // namespace

std::string emit_yaml(const Yaml& y) {
  if (is_leaf(y)) return flow_text(y) + "\n";
  std::string out;
  emit_block(y, 0, out);
  return out;
}

std::string flow_text(const Yaml& y) {
  if (y.is_null()) return "null";
  if (y.is_scalar()) return scalar_text(y.scalar, y.quoted);
  std::string text;
  for (const Yaml& item : y.items) text += (text.empty() ? "" : ", ") + flow_text(item);
  for (const Yaml::Entry& e : y.entries) text += (text.empty() ? "" : ", ") + scalar_text(e.key, false) + ": " + flow_text(e.value);
  return y.is_map() ? "{" + text + "}" : "[" + text + "]";
}

bool can_be_plain(std::string_view text) {
  static constexpr std::string_view kNeverFirst = ",[]{}#&*!|>'\"%@`?:~ \t";
  if (text.empty() || kNeverFirst.find(text.front()) != std::string_view::npos || text.back() == ' ') return false;
  if (text == "null" || text == "Null" || text == "NULL" || text == "-" || text.starts_with("- ") || text.starts_with("---") ||
      text.starts_with("..."))
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || std::string_view(",[]{}?\"'").find(c) != std::string_view::npos) return false;
    if (c == ':' && std::string_view(" ,[]{}:").find(next) != std::string_view::npos) return false;
    if (c == '#' && text[i - 1] == ' ') return false;
  }
  // A byte order mark or another oddity outside ASCII at the front is safe only in quotes.
  return static_cast<unsigned char>(text.front()) < 0x80;
}

}  // namespace base
