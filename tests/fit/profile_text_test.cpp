// What people wrote in a profile stays as it is; what calibration found takes the place of what it found before.
#include "profiles/fit/profile_text.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>

#include "profiles/device_profile.hpp"

namespace {

profiles::Fitted with_share(double share) {
  profiles::Fitted f;
  f.rates[pcg::KernelKind::norm] = {{share, 1e6}, base::Bytes(1), base::Bytes(2), {.source = "t.csv"}};
  return f;
}

}  // namespace

TEST_CASE("written twice, a profile holds the second fit once, and its comments") {
  const std::string shipped(profiles::device_text("titan-xp-12gb"));
  const std::string once = fit::with_fitted(shipped, with_share(0.5));
  const std::string twice = fit::with_fitted(once, with_share(0.25));
  CHECK(twice.starts_with(shipped.substr(0, shipped.size() / 2)));
  CHECK(twice.size() == once.size() + 1);  // 0.25 is a digit longer than 0.5
  const auto d = profiles::load_device_profile(base::parse_yaml(twice, "twice.yaml"));
  CHECK(d.fitted.rates.at(pcg::KernelKind::norm).traffic.max == 0.25);
  CHECK(d.name == "titan-xp-12gb");
}
