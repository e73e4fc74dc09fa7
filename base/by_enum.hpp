#pragma once
// One value per enumerator of an enum whose values run from 0 to `Last`: an array that only the enum can index.

#include <array>
#include <cstddef>

namespace base {

template <class Enum, Enum Last, class T>
class ByEnum {
 public:
  [[nodiscard]] static constexpr std::size_t size() { return static_cast<std::size_t>(Last) + 1; }

  [[nodiscard]] constexpr T& operator[](Enum e) { return values_[static_cast<std::size_t>(e)]; }
  [[nodiscard]] constexpr const T& operator[](Enum e) const { return values_[static_cast<std::size_t>(e)]; }

  // In the order of the enumerators.
  [[nodiscard]] constexpr auto begin() { return values_.begin(); }
  [[nodiscard]] constexpr auto end() { return values_.end(); }
  [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const { return values_.end(); }

  bool operator==(const ByEnum&) const = default;

 private:
  std::array<T, static_cast<std::size_t>(Last) + 1> values_{};
};

}  // namespace base
