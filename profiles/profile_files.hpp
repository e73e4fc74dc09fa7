#pragma once
// How profiles are read, and those that do not ship: files that a cluster names where it could name a shipped one. A profile is asked for
// by its name; the name of such a one is the whole path of its file.

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"

namespace profiles {

// Whether a name is a file's: names of profiles that ship have no "/".
[[nodiscard]] inline bool is_file(std::string_view name) { return name.find('/') != std::string_view::npos; }

// Return the title of a device or network profile for people: a name as it is, of a file "a100-sxm-80gb (ours.yaml)". Throw:
// base::InputError with every problem of the file.
[[nodiscard]] std::string device_title(const std::string& name);
[[nodiscard]] std::string network_title(const std::string& name);

// Returns what read(reader of the map) makes of the map at `key`, a default value where `node`, what is there, is null.
template <class Read>
[[nodiscard]] auto read_map(base::MapReader& map, const base::Yaml* node, std::string_view key, Read read) {
  decltype(read(map)) value{};
  if (node == nullptr) return value;
  base::MapReader inner(*node, map.path_of(key), map.sink());
  value = read(inner);
  inner.finish();
  return value;
}

// Returns what read(reader of the map) makes of the map at `key`, which is all of a profile's document.
// Throws: base::InputError with every problem found.
template <class Read>
[[nodiscard]] auto read_document(const base::Yaml& document, std::string_view key, Read read) {
  base::Diagnostics sink;
  base::MapReader map(document, "", sink);
  map.format();
  auto value = read_map(map, map.required(key), key, read);
  map.finish();
  sink.throw_if_any();
  return value;
}

// Files as values of type T, each read once. Meant for one static variable beside the function that gives them out. Threads may share it.
template <class T>
class ProfileFiles {
 public:
  using Load = T (*)(const base::Yaml& document);
  explicit ProfileFiles(Load load) : load_(load) {}

  // Returns what the file held when it was first asked for; the reference stays valid.
  // Throws: base::InputError with every problem of it.
  // Cost: O(log files), once read.
  [[nodiscard]] const T& at(std::string_view file) {
    const std::lock_guard lock(mutex_);
    auto at = values_.find(file);
    if (at == values_.end()) at = values_.emplace(std::string(file), load_(base::read_yaml(std::filesystem::path(file)))).first;
    return at->second;
  }

 private:
  Load load_;
  std::mutex mutex_;
  std::map<std::string, T, std::less<>> values_;
};

}  // namespace profiles
