#include "profiles/fit/profile_text.hpp"

#include <fmt/core.h>

#include "profiles/fitted.hpp"

namespace fit {

std::string with_fitted(const std::string& profile, const profiles::Fitted& fitted) {
  CommentedYaml text(profile, "device");
  text.put_last("fitted", fmt::format("{}, with the errors it left. `error` is the mean of |predicted / measured - 1|.", kWritten),
                profiles::to_text(fitted));
  return text.text();
}

}  // namespace fit
