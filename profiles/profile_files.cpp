#include "profiles/profile_files.hpp"

#include <fmt/core.h>

#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"

namespace profiles {
namespace {

std::string title(const std::string& own, const std::string& file) {
  return fmt::format("{} ({})", own, std::filesystem::path(file).filename().string());
}

}  // namespace

std::string device_title(const std::string& name) { return is_file(name) ? title(device_profile(name).name, name) : name; }
std::string network_title(const std::string& name) { return is_file(name) ? title(network_profile(name).name, name) : name; }

}  // namespace profiles
