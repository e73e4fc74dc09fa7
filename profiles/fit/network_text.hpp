#pragma once
// A network profile's file with fitted numbers in it. A fit may change every number, so the file is written anew; comments that people
// wrote stay where they stood.

#include <string>

#include "profiles/network_profile.hpp"

namespace fit {

// Returns the text form of `profile` with the comments of `before`, the file that the fit started from: each above or behind the key that
// it stood above or behind, those behind the last key at the end. Comments on keys that the profile no longer has are lost.
// Throws: base::InputError when `before` is no YAML.
[[nodiscard]] std::string with_fitted(const std::string& before, const profiles::NetworkProfile& profile);

}  // namespace fit
