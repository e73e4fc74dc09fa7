#pragma once
// A problem of an input: the place, the fault and the cure. Loaders collect every Diagnostic that they can and throw InputError
// once; cli/main catches it once, prints render() and exits with 2.

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace base {

// A text that was read, kept so that a message can quote it.
struct Source {
  std::string name;  // as the user wrote it: a path, "-" or "<preset summit>"
  std::string text;
};

struct Mark {
  std::shared_ptr<const Source> source;  // may be null: no position is known
  int line = 0;                          // from 1; 0: no position
  int column = 0;                        // from 1
};

struct Diagnostic {
  Mark mark;
  std::string path;     // "cluster.links.infiniband.bandwidth", may be empty
  std::string message;  // what was found, what was allowed
  std::string hint;     // what to do; may be empty
};

// file:line:column: path: message
//    14 |   bandwidth: 400
//       |              ^~~ hint
[[nodiscard]] std::string render(const Diagnostic& d);

class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Throws: InputError with this one problem.
[[noreturn]] void refuse(std::string path, std::string message, std::string hint = {});
[[noreturn]] void refuse(Mark mark, std::string path, std::string message, std::string hint);

class Diagnostics {
 public:
  // Throws: InputError with all that was added, at the thousandth: nobody reads more, and a broken file may hold a million.
  void add(Diagnostic d);
  void add(Mark mark, std::string path, std::string message, std::string hint = {});
  void add_all(const InputError& e);
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // Throws: InputError with all that was added, each once, in order of file, line, column, if anything was.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> all_;
};

// The candidate that begins with `word` (3 letters or more), else the nearest by edit distance, two letters that are swapped being one
// edit, else the longest with which `word` begins (3 letters or more); empty if none is near (distance > 2 + length/4, or all letters would
// change). Of several, the one of least distance, the first of equals. O(length of word x sum of the candidates' lengths).
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// 'did you mean "nodes"?' or, when nothing is near, 'one of: a, b, c'.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> candidates);

}  // namespace base
