#pragma once
// The keys by which a `cluster:` section says what its GPUs and its communication library reach: the name of a profile that ships, or a
// file (`node.gpus: {file: ours.yaml}`, `network_profile: {file: ours.yaml}`). What a profile holds is not known here.

#include <filesystem>
#include <optional>
#include <string>

#include "base/yaml/reader.hpp"
#include "base/yaml/tree.hpp"

namespace topology {

// Makes files of profiles in `value` whole paths, which start at `directory`. `path`: of the value in the section ("node.gpus"),
// empty for the section itself.
void complete_profile_files(base::Yaml& value, const std::string& path, const std::filesystem::path& directory);
// Removes from a section the name of each profile that `value`, which will be put at `path`, gives a file of, and the other way round.
void adopt_profiles(base::Yaml& section, const std::string& path, const base::Yaml& value);

// Return a profile's name, or the whole path of its file; nullopt where there is none or it is wrong, which is reported.
[[nodiscard]] std::optional<std::string> read_gpu_profile(base::MapReader& gpus);
[[nodiscard]] std::optional<std::string> read_network_profile(base::MapReader& section);

}  // namespace topology
