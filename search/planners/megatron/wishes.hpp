#pragma once
// The values that a user allows a search: of an axis with a list, no plan has another.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/problem/options.hpp"

namespace search {

// Those for which bounds of plans hold: others are tried beside them, and cannot be wished for.
inline constexpr std::array kBoundedSchedules = {pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::interleaved,
                                                 pcg::ScheduleKind::breadth_first};

class Wishes {
 public:
  // One for each axis of the grid, `tensor_within_node`, `framework_can` and `space`.
  [[nodiscard]] static std::vector<Option> options();
  // All is allowed.
  Wishes() = default;
  // `runs`: FrameworkProfile::runs, which `framework_can` asks for. Throws: base::InputError where that is no wish.
  explicit Wishes(const OptionValues& values, const std::string& runs = {});

  // Whether a configuration has allowed values alone, where they mean something: without experts any dispatch is allowed. Of a point of the
  // grid recomputation and ZeRO are not asked for.
  enum class Decided { point, all };
  [[nodiscard]] bool allow(const GridConfig& c, Decided decided = Decided::all) const;
  // Gives a point of the grid an allowed schedule and dispatch, if it can have them.
  void adapt(GridConfig& point) const;
  [[nodiscard]] bool tensor_within_node() const { return tensor_within_node_; }
  // Returns: the wishes without one axis, for each that has a list.
  [[nodiscard]] std::vector<std::pair<std::string, Wishes>> each_given_up() const;
  // "tensor 4 or 8, context 1"; empty: all is allowed.
  [[nodiscard]] std::string text() const;

 private:
  // Allows no more than the options that are given.
  void narrow(const OptionValues& values);

  std::map<std::string, std::vector<std::int64_t>, std::less<>> allowed_;  // of words their indices
  bool tensor_within_node_ = false;
};

}  // namespace search
