#pragma once
// What limit of a sum of bytes stands for the memory of a device. The simulator's count is no sum over operators: tensors that two of them
// keep count once, and the backward pass needs some of it for a moment. So choices are made within a limit, whoever counts says how much
// room they leave, and the limit becomes what would have left none.

#include <algorithm>
#include <limits>

namespace search {

class MemoryRoom {
 public:
  explicit MemoryRoom(double limit) : limit_(limit) {}
  [[nodiscard]] double limit() const { return limit_; }

  // Choices within the limit sum up to so many bytes and leave so much room, which is negative where they do not fit. Returns: whether
  // another limit, which is the limit now, is worth a try.
  bool tell(double bytes, double room) {
    if (room < 0) least_too_many_ = std::min(least_too_many_, bytes);
    const double next = std::min(bytes + room, least_too_many_ * (1 - kSameBytes));
    const bool is_other = room < 0 || next > limit_ * (1 + kWorthATry);
    if (!is_other || ++rounds_ >= kMostRounds) return false;
    limit_ = next;
    return true;
  }

 private:
  static constexpr double kSameBytes = 1e-6, kWorthATry = 5e-3;  // shares
  static constexpr int kMostRounds = 4;
  double limit_;
  double least_too_many_ = std::numeric_limits<double>::infinity();
  int rounds_ = 0;
};

}  // namespace search
