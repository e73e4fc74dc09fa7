#pragma once
// A cursor over one line of the rule language's text: its words, numbers, symbols and problems. Its users put them together
// (text.hpp, generation/families.hpp).

#include <string>
#include <string_view>

#include "search/rules/language/symbols.hpp"

namespace rules {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  // Throws: base::InputError, always, at the cursor or at a position.
  [[noreturn]] void fail(const std::string& message, std::string hint = {}) const { fail_at(at_, message, std::move(hint)); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& message, std::string hint = {}) const;

  // Returns: whether `what` comes next, and passes it if so.
  bool take(std::string_view what);
  [[nodiscard]] bool next_is_digit();
  [[nodiscard]] bool at_end();
  // Returns: the position of the next word, for fail_at.
  [[nodiscard]] std::size_t position();

  // Each of these passes what it returns.
  // Throws: base::InputError where something else comes next.
  void expect(std::string_view what);
  void expect_end();
  std::string_view name();  // letters, digits and underscores
  int number();             // at most 10000: more is no size of a rule
  Degree degree();          // "d", "d*e", "2"
  Numbers size();           // "m", "2k+n", "3": a sum of letters, multiples of letters and numbers, at least 1

 private:
  void skip_blanks();
  [[nodiscard]] std::string rest() const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace rules
