#pragma once
// Data files that were compiled in (cmake/embed.cmake), so that the program needs none at run time, and what they say, parsed once.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"

namespace base {

struct EmbeddedFile {
  std::string_view name;  // without folder and extension: "dgx-2"
  std::string_view text;
};

// The files of one kind, sorted by name.
class EmbeddedFiles {
 public:
  // `kind` is how messages call such a file: "device profile". Its first word is part of places: "<device NAME>:3:5".
  constexpr EmbeddedFiles(std::string_view kind, std::span<const EmbeddedFile> files) : kind_(kind), files_(files) {}

  [[nodiscard]] constexpr auto begin() const { return files_.begin(); }
  [[nodiscard]] constexpr auto end() const { return files_.end(); }
  [[nodiscard]] std::vector<std::string> names() const;
  // Returns: the text of the file of this name, or nullopt.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  // The same.
  // Throws: as refuse(), where there is no such file.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  // Returns: a file of these as YAML.
  // Throws: InputError as parse_yaml does.
  [[nodiscard]] Yaml parse(const EmbeddedFile& file) const;
  // Returns: 'no KIND is called "NAME"'.
  [[nodiscard]] std::string unknown(std::string_view name) const;
  // Throws: InputError with that message and the nearest name, or all names.
  [[noreturn]] void refuse(std::string_view name) const;

 private:
  std::string_view kind_;
  std::span<const EmbeddedFile> files_;
};

// All files of a kind as values of type T. Meant for one static constant beside the function that gives them out.
template <class T>
class ParsedFiles {
 public:
  using Load = std::function<T(const Yaml& document)>;
  // Cost: parses every file.
  ParsedFiles(EmbeddedFiles files, const Load& load) : files_(files) {
    for (const EmbeddedFile& file : files_) values_.emplace(file.name, load(files_.parse(file)));
  }

  // Returns: the value of the file of this name, or nullptr.
  // Cost: O(log files), as for at().
  [[nodiscard]] const T* find(std::string_view name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }
  // Throws: InputError with the nearest name when there is no such file.
  [[nodiscard]] const T& at(std::string_view name) const {
    const T* value = find(name);
    if (value == nullptr) files_.refuse(name);
    return *value;
  }

 private:
  EmbeddedFiles files_;
  std::map<std::string, T, std::less<>> values_;
};

}  // namespace base
