// Text becomes a tree through yaml-cpp's events, because its nodes forget where a key is and drop the second of two equal keys.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/files/text_file.hpp"
#include "base/yaml/parse.hpp"

namespace base {
namespace {

// The longest texts that ship have 0.7 MB, saved plans of the largest models below 10 MB. A tree takes some fifty times its text, and the
// parser's tokens as much again.
constexpr std::size_t kMostYamlBytes = std::size_t{32} << 20;
constexpr std::size_t kMostValues = 2'000'000;
constexpr std::size_t kMostAliasedValues = 1'000'000;  // aliases of aliases grow exponentially; a real file stays far below

// Ends of lines and tabs are the only control characters that a text may have.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F;
}

// Far more than any of our formats needs; yaml-cpp itself gives up at 500.
constexpr std::size_t kDeepestNesting = 100;

// How deep the brackets of a text are nested, before it is parsed: yaml-cpp keeps every token of a line that may still turn out to be a
// key, so a line of ten million brackets takes gigabytes before its depth is noticed. Brackets in quotes, comments, block scalars and words
// do not count. A text that is no YAML gives any answer.
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
      else if (starts_ && depth() == 0 && (c == '|' || c == '>')) skip_block_scalar();
      else if (starts_ && (c == '&' || c == '!')) skip_word();  // an anchor or a tag; the value comes after it
      else if (c == '[' || c == '{') {
        if (depth() == 0 && !starts_) continue;  // inside a word
        if (depth() == kDeepestNesting) return at_;
        open_.push_back(at_);
        starts_ = true;
      } else if (c == ']' || c == '}') {
        if (!open_.empty()) open_.pop_back();
        starts_ = false;
      } else starts_ = value_may_follow(c);
    }
    return std::nullopt;
  }

  // After first_too_deep() gave nothing: the innermost bracket without an end.
  [[nodiscard]] std::optional<std::size_t> unclosed() const { return open_.empty() ? std::nullopt : std::optional(open_.back()); }

 private:
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] bool is_blank(std::size_t i) const {
    return i >= text_.size() || text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\r' || text_[i] == '\n';
  }
  [[nodiscard]] std::size_t end_of_line(std::size_t i) const { return std::min(text_.find('\n', i), text_.size()); }

  // After a comma between brackets, a colon, and the mark of a list's item or of a long key.
  [[nodiscard]] bool value_may_follow(char c) const {
    if (c == ',') return depth() > 0;
    if (c == ':') return depth() > 0 || is_blank(at_ + 1);
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
  // All lines that are as deeply indented as the first one that is not blank, if that is deeper than the current line.
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
  std::size_t line_ = 0;           // where the current line starts
  std::vector<std::size_t> open_;  // where the brackets are that have no end yet
  bool starts_ = true;             // a value may start here
};

[[noreturn]] void fail(Mark mark, std::string message, std::string hint = {}) {
  refuse(std::move(mark), {}, std::move(message), std::move(hint));
}
[[noreturn]] void fail_too_deep(Mark mark) {
  fail(std::move(mark), fmt::format("lists and maps inside each other, more than {} deep", kDeepestNesting), "close those that are done");
}

std::size_t count_values(const Yaml& y) {
  std::size_t count = 1;
  for (const Yaml& item : y.items) count += count_values(item);
  for (const Yaml::Entry& entry : y.entries) count += count_values(entry.value);
  return count;
}

// Whether the quoted text that starts at `at` has an end (true of a block scalar too, which needs none).
bool quote_ends(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return true;
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == quote) return true;
    if (text[i] == '\\' && quote == '"') ++i;
  }
  return false;
}

int line_at(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// The first line up to the `last` that is indented by something else than blanks: a tab, or a blank that does not break.
std::optional<int> oddly_indented(std::string_view text, int last) {
  for (int line = 1; line <= last; ++line) {
    const std::string_view indent = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    if (indent.starts_with('\t') || indent.starts_with("\xC2\xA0")) return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (text.empty()) break;
  }
  return std::nullopt;
}

// What makes such a text YAML. The parser stops where the fault shows, which is often a line or more after it.
std::string cure_of(const std::string& text, const YAML::Exception& e) {
  if (const auto line = oddly_indented(text, e.mark.line + 1)) return fmt::format("indent line {} with blanks, not with tabs", *line);
  if (e.msg.ends_with("flow not found")) {
    BracketScanner scanner(text);
    (void)scanner.first_too_deep();
    if (const auto at = scanner.unclosed()) return fmt::format("the \"{}\" in line {} has no end", text[*at], line_at(text, *at));
    return "a text that has brackets needs quotes, as \"gpu[0-3]\", and a comment begins with #";
  }
  if (e.msg == "illegal map value" || e.msg == "end of map not found")
    return "indent it as its neighbours, write \"key: value\" with a blank after the colon, and quote a text that has a colon";
  return {};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const Source> source, Diagnostics& sink) : source_(std::move(source)), sink_(sink) {}

  [[nodiscard]] Mark mark_of(const YAML::Mark& m) const {
    return m.is_null() ? Mark{source_, 0, 0} : Mark{source_, m.line + 1, m.column + 1};
  }
  [[nodiscard]] Yaml take() { return std::move(root_); }
  [[nodiscard]] const Mark& start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark_of(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add({.mark = mark_of_null(mark)}, anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      sink_.add(mark_of(mark), path(), "an alias inside the value that it stands for");
      return OnNull(mark, YAML::NullAnchor);
    }
    aliased_ += count_values(it->second);
    if (aliased_ > kMostAliasedValues) fail(mark_of(mark), fmt::format("aliases expand to more than {} values", kMostAliasedValues));
    add(it->second, YAML::NullAnchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    refuse_tag(mark, tag);
    // yaml-cpp takes the end of the file for the missing quote.
    if (tag == "!" && !quote_ends(source_->text, static_cast<std::size_t>(mark.pos)))
      sink_.add(mark_of(mark), path(), "the quote that starts here does not end");
    if (const auto control = std::ranges::find_if(value, is_control); control != value.end())
      sink_.add(mark_of(mark), path(), fmt::format("the text holds the control character 0x{:02x}", static_cast<unsigned char>(*control)),
                "texts are shown on terminals, which such characters steer: leave it out");
    add({.kind = Yaml::Kind::scalar, .mark = mark_of(mark), .scalar = value, .quoted = tag == "!"}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open({Yaml::make_sequence(mark_of(mark)), anchor, {}, {}});
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open({Yaml::make_map(mark_of(mark)), anchor, {}, {}});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Yaml value;
    YAML::anchor_t anchor;
    std::optional<Yaml> key;                                 // of a map: read, its value is next
    std::map<std::string, std::size_t, std::less<>> places;  // of a map: which entry has a key
  };

  // The parser gives the place of what comes after a value that is missing, which may be in a later line: of a key whose value it is the
  // key's place is better, and else that of the sign before.
  [[nodiscard]] Mark mark_of_null(const YAML::Mark& mark) const {
    const std::string_view before = std::string_view(source_->text).substr(0, static_cast<std::size_t>(std::max(mark.pos, 0)));
    const std::string_view here = std::string_view(source_->text).substr(before.size());
    const std::size_t last = before.find_last_not_of(" \t\r\n");
    const bool is_written = here.starts_with('~') || here.starts_with("null") || here.starts_with("Null") || here.starts_with("NULL");
    if (is_written || last == std::string_view::npos || before.find('\n', last) == std::string_view::npos) return mark_of(mark);
    if (!open_.empty() && open_.back().key) return open_.back().key->mark;
    return {source_, line_at(before, last), static_cast<int>(last - before.rfind('\n', last))};  // npos is -1
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // yaml-cpp says "?" of a bare value, "!" of a quoted one.
    if (!tag.empty() && tag != "?" && tag != "!")
      sink_.add(mark_of(mark), path(), fmt::format("the tag \"{}\" is not supported", tag), "remove it");
  }

  void open(Open level) {
    if (open_.size() == kDeepestNesting) fail_too_deep(level.value.mark);
    open_.push_back(std::move(level));
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.value), done.anchor);
  }

  void add(Yaml y, YAML::anchor_t anchor) {
    if (++values_ > kMostValues) fail(y.mark, fmt::format("more than {} values", kMostValues));
    if (anchor != YAML::NullAnchor) anchors_[anchor] = y;
    if (open_.empty()) {
      root_ = std::move(y);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.is_sequence()) parent.value.items.push_back(std::move(y));
    else if (!parent.key) parent.key = std::move(y);
    else add_entry(parent, std::move(y));
  }

  void add_entry(Open& map, Yaml value) {
    const Yaml key = std::move(*map.key);
    map.key.reset();
    if (!key.is_scalar()) return sink_.add(key.mark, path(), "a key must be text");
    const auto [place, is_new] = map.places.emplace(key.scalar, map.value.entries.size());
    if (is_new) map.value.entries.push_back({key.scalar, key.mark, std::move(value)});
    else
      sink_.add(key.mark, path(), fmt::format("duplicate key \"{}\"", key.scalar),
                fmt::format("it was given in line {} already", map.value.entries[place->second].key_mark.line));
  }

  // The path of the value that is being read, or of its map while the key is read.
  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Open& level : open_) {
      if (level.value.is_sequence()) text += fmt::format("[{}]", level.value.items.size());
      else if (level.key) text += (text.empty() ? "" : ".") + level.key->scalar;
    }
    return text;
  }

  std::shared_ptr<const Source> source_;
  Diagnostics& sink_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Yaml> anchors_;
  std::size_t aliased_ = 0, values_ = 0;
  Mark start_;
  Yaml root_;
};

void check_is_text(const std::shared_ptr<const Source>& source) {
  const std::string& text = source->text;
  const std::size_t bad = std::min(first_malformed_utf8(text), text.find('\0'));
  if (bad >= text.size()) return;
  fail({source, 0, 0},
       fmt::format("not text in UTF-8: byte 0x{:02x} in line {}", static_cast<unsigned char>(text[bad]), line_at(text, bad)));
}

// Before the parser sees it, which would keep all tokens of a line that may still be a key.
void check_nesting(const std::shared_ptr<const Source>& source) {
  const std::string& text = source->text;
  const std::optional<std::size_t> at = BracketScanner(text).first_too_deep();
  if (!at) return;
  const auto line_start = *at == 0 ? 0 : text.rfind('\n', *at - 1) + 1;  // npos + 1 is 0
  fail_too_deep({source, line_at(text, *at), 1 + static_cast<int>(*at - line_start)});
}

}  // namespace

Yaml parse_yaml(std::string text, std::string name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // columns count from after it
  const auto source = std::make_shared<const Source>(Source{std::move(name), std::move(text)});
  check_is_text(source);
  check_nesting(source);
  Diagnostics sink;
  TreeBuilder tree(source, sink);
  try {
    std::istringstream in(source->text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(tree)) fail({source, 0, 0}, "empty: there is nothing in it but blanks and comments");
    TreeBuilder more(source, sink);
    if (parser.HandleNextDocument(more)) fail(more.start(), "more than one document: only one is allowed", "make a file of each");
  } catch (const YAML::Exception& e) {
    // yaml-cpp's own text, e.g. "end of sequence flow not found", without the position that it puts before it.
    sink.add(tree.mark_of(e.mark), {}, fmt::format("not YAML: {}", e.msg), cure_of(source->text, e));
  }
  sink.throw_if_any();
  return tree.take();
}

Yaml read_yaml(const std::filesystem::path& file) { return parse_yaml(read_text_file(file, kMostYamlBytes), name_of_input(file)); }

Yaml read_yaml(const Yaml& name, const std::string& path, const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / name.scalar;
  std::error_code refused;
  if (!is_standard_input(file) && (!std::filesystem::exists(file, refused) || std::filesystem::is_directory(file, refused)))
    refuse(name.mark, path, fmt::format("no file is called \"{}\"", file.lexically_normal().string()),
           "a path starts at the folder of the file that has it");
  return read_yaml(file);
}

}  // namespace base
