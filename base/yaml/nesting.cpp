#include "base/yaml/nesting.hpp"

#include <algorithm>

namespace base {
namespace {

class BracketScanner {
 public:
  explicit BracketScanner(std::string_view text) : text_(text) {}

  std::optional<std::size_t> first_too_deep() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        line_ = at_ + 1;
        starts_ = true;
      } else if (c == '#' && (at_ == line_ || is_blank(at_ - 1))) at_ = end_of_line(at_) - 1;
      else if (is_blank(at_)) continue;
      else if (starts_ && (c == '"' || c == '\'')) skip_quoted(c);
      else if (starts_ && depth_ == 0 && (c == '|' || c == '>')) skip_block_scalar();
      else if (starts_ && (c == '&' || c == '!')) skip_word();  // an anchor or a tag; the value comes after it
      else if (c == '[' || c == '{') {
        if (depth_ == 0 && !starts_) continue;  // inside a word
        if (depth_ == kDeepestNesting) return at_;
        ++depth_;
        starts_ = true;
      } else if (c == ']' || c == '}') {
        depth_ -= depth_ > 0 ? 1 : 0;
        starts_ = false;
      } else starts_ = value_may_follow(c);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool is_blank(std::size_t i) const {
    return i >= text_.size() || text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\r' || text_[i] == '\n';
  }
  [[nodiscard]] std::size_t end_of_line(std::size_t i) const { return std::min(text_.find('\n', i), text_.size()); }

  // After a comma between brackets, a colon, and the mark of a list's item or of a long key.
  [[nodiscard]] bool value_may_follow(char c) const {
    if (c == ',') return depth_ > 0;
    if (c == ':') return depth_ > 0 || is_blank(at_ + 1);
    return (c == '-' || c == '?') && starts_ && is_blank(at_ + 1);
  }

  // Leaves at_ at the closing quote. Two single quotes in a row are one of the text's.
  void skip_quoted(char quote) {
    starts_ = false;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"') ++at_;
      else if (text_[at_] != quote) continue;
      else if (quote == '\'' && at_ + 1 < text_.size() && text_[at_ + 1] == quote) ++at_;
      else return;
    }
  }
  void skip_word() {
    while (!is_blank(at_ + 1) && std::string_view("[]{},").find(text_[at_ + 1]) == std::string_view::npos) ++at_;
  }
  // All lines that are as deeply indented as the first one that is not blank, if that is deeper than the line at hand.
  void skip_block_scalar() {
    const std::size_t own = indent_of(line_);
    std::size_t least = 0;
    for (std::size_t next = end_of_line(at_) + 1; next < text_.size(); next = end_of_line(next) + 1) {
      const std::size_t indent = indent_of(next);
      const bool empty = next + indent == end_of_line(next);
      if (!empty && least == 0) least = std::max(indent, own + 1);
      if (!empty && indent < least) break;
      at_ = next;
    }
    at_ = end_of_line(at_) - 1;
  }
  [[nodiscard]] std::size_t indent_of(std::size_t line) const { return std::min(text_.find_first_not_of(' ', line), text_.size()) - line; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;  // where the line at hand starts
  std::size_t depth_ = 0;
  bool starts_ = true;  // a value may start here
};

}  // namespace

std::optional<std::size_t> too_deep(std::string_view text) { return BracketScanner(text).first_too_deep(); }

}  // namespace base
