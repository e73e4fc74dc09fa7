#pragma once
// The ground of all libraries. Start here: Diagnostic, Diagnostics and InputError below, then
//   units.hpp, ids.hpp      Seconds, Bytes and so on, with the arithmetic that physics allows; DeviceId and other typed indices
//   check.hpp, attempt.hpp  BASE_CHECK for our own bugs; Attempt and Refusal for what healthy work may find impossible
//   fact.hpp                Fact: what a library has to say of its answer, without words
//   yaml/                   parse_yaml, read_yaml: a Yaml that knows its places; MapReader reads it; patch_yaml changes it
//   files/, embedded/       read_text_file, OutputFile (whole or not at all), which files are used; the files that are compiled in
//   processes/              run_workers: work in child processes; interruptions
//   random.hpp, hash.hpp, numbers.hpp, csv.hpp, json.hpp, progress.hpp
//
// A problem of an input is its place, the fault and the cure. Loaders collect every Diagnostic that they can and throw InputError once;
// cli/main catches it once, prints render() and exits with 2.

#include <cstddef>
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
  // Throws: InputError with all that was added, at the thousandth, since a broken file may hold a million.
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
// edit, else the shortest that has `word` in it, else the longest with which `word` begins (3 letters or more each); empty if none is near
// (distance > 2 + length/4, or half of the letters would change). Capitals, "_" for "-", and the dashes of an option make no difference.
// Of several, the one of least distance, the first of equals. O(length of word x sum of the candidates' lengths).
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// 'did you mean "nodes"?' or, when nothing is near, 'one of: a, b, c'.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> candidates);

// --- UTF-8, as far as messages need it ---

// Returns: whether `c` is the second or a later byte of a character. The text need not be well-formed: messages quote damaged input.
[[nodiscard]] constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Returns: the offset of the first byte that is not part of a well-formed character (RFC 3629), or text.size().
[[nodiscard]] std::size_t first_malformed_utf8(std::string_view text);

// --- notes ---

// A note is a sentence beside an answer. The most important first: reports show them in this order, and drop the last if room is scarce.
enum class NoteKind {
  problem,     // the answer is not the one that was asked for
  caution,     // figures may be further off than their kind usually is
  assumption,  // a figure that was neither given nor measured
  search,      // how a plan was found
  detail       // a fact that changes no figure
};

struct Note {
  NoteKind kind = NoteKind::detail;
  std::string code;  // for programs: "tight"; notes that say the same of different figures have one
  std::string text;  // a sentence without its full stop

  Note() = default;
  Note(NoteKind k, std::string c, std::string t) : kind(k), code(std::move(c)), text(std::move(t)) {}

  bool operator==(const Note&) const = default;
};

}  // namespace base
