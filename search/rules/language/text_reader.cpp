#include "search/rules/language/text_reader.hpp"

#include <fmt/core.h>

#include <cctype>

#include "base/diagnostics.hpp"

namespace rules {
namespace {

constexpr int kMostNumber = 10000;
constexpr int kMostPower = 4;  // of a degree symbol: d^4 is 625 already where d is 5

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

// The mark is inside the text alone; whoever read the text from a file moves it there.
void TextReader::fail_at(std::size_t at, const std::string& message, std::string hint) const {
  auto source = std::make_shared<base::Source>(base::Source{"<term>", std::string(text_)});
  const base::Mark mark{std::move(source), 1, static_cast<int>(at) + 1};
  base::refuse(mark, "", message, std::move(hint));
}

bool TextReader::take(std::string_view what) {
  skip_blanks();
  if (!text_.substr(at_).starts_with(what)) return false;
  at_ += what.size();
  return true;
}

bool TextReader::next_is_digit() {
  skip_blanks();
  return at_ < text_.size() && is_digit(text_[at_]);
}

bool TextReader::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

std::size_t TextReader::position() {
  skip_blanks();
  return at_;
}

void TextReader::expect(std::string_view what) {
  if (!take(what)) fail(fmt::format("found {}, expected \"{}\"", rest(), what));
}

void TextReader::expect_end() {
  if (!at_end()) fail(fmt::format("{} is left over", rest()));
}

std::string_view TextReader::name() {
  skip_blanks();
  const std::size_t from = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (from == at_) fail(fmt::format("found {}, expected a name", rest()));
  return text_.substr(from, at_ - from);
}

int TextReader::number() {
  if (!next_is_digit()) fail(fmt::format("found {}, expected a number", rest()));
  int n = 0;
  while (at_ < text_.size() && is_digit(text_[at_])) {
    n = n * 10 + (text_[at_++] - '0');
    if (n > kMostNumber) fail("the number is too large");
  }
  return n;
}

Degree TextReader::degree() {
  Degree d;
  do {
    const std::size_t from = position();
    const std::string_view symbol = name();
    const std::size_t which = symbol == "d" ? 0 : symbol == "e" ? 1 : 2;
    if (which == 2 && symbol != "2") fail_at(from, fmt::format("\"{}\" is no degree", symbol), "a product of d, e and 2, as \"d*e\"");
    if (++d.powers[which] > kMostPower) fail_at(from, "the degree is too large");
  } while (take("*"));
  return d;
}

Numbers TextReader::size() {
  Numbers n{};
  do {
    const std::int64_t times = next_is_digit() ? number() : 1;
    skip_blanks();
    const bool is_letter = at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z';
    const Numbers unit = is_letter ? symbol(text_[at_++]) : Numbers{1, 1, 1};
    for (std::size_t a = 0; a < n.size(); ++a) n[a] += times * unit[a];
  } while (take("+"));
  if (n[0] < 1) fail("a size must be at least 1");
  return n;
}

void TextReader::skip_blanks() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

std::string TextReader::rest() const { return at_ < text_.size() ? fmt::format("\"{}\"", text_.substr(at_, 12)) : std::string("the end"); }

}  // namespace rules
