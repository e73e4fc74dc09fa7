#include "calibration/profile_text.hpp"

#include <fmt/core.h>

namespace calibration {
namespace {

constexpr std::string_view kMark = "  # Written by `foreshard calibrate`, with the errors it left";

}  // namespace

std::string with_fitted(std::string_view profile, const profiles::Fitted& fitted) {
  const std::size_t mark = profile.find(kMark);
  const std::size_t plain = profile.find("\n  fitted:");
  std::string text(profile.substr(0, mark != std::string_view::npos ? mark : plain != std::string_view::npos ? plain + 1 : profile.size()));
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += fmt::format("{}. `error` is the mean of |predicted / measured - 1|.\n", kMark);
  return text + profiles::to_text(fitted);
}

}  // namespace calibration
