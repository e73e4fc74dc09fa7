#include "tests/oracles/choice_model.hpp"

#include <algorithm>

namespace oracles {
namespace {

constexpr double kObjective = 1000;  // of the answer: solve_by_cbc() distinguishes 1e-5
constexpr double kMemory = 1000;     // of the limit

}  // namespace

ChoiceModel::ChoiceModel(const search::ConstrainedProblem& problem, double about) : scale_(kObjective / about) {
  const double unit = std::max(problem.limit, 1.0);  // of bytes
  MilpRow memory{.terms = {}, .most = problem.limit / unit * kMemory};
  for (std::size_t o = 0; o < problem.bytes.size(); ++o) {
    begin_.push_back(model_.columns.size());
    MilpRow one{.terms = {}, .least = 1, .most = 1};
    for (std::size_t c = 0; c < problem.bytes[o].size(); ++c) {
      const std::size_t column = model_.add({.cost = problem.choices.costs[o][c] * scale_, .is_whole = true, .most = 1});
      one.terms.push_back({column});
      if (problem.bytes[o][c] > 0) memory.terms.push_back({column, problem.bytes[o][c] / unit * kMemory});
    }
    model_.rows.push_back(std::move(one));
  }
  for (const search::ChoiceProblem::Pair& p : problem.choices.pairs) add_pair(p);
  model_.rows.push_back(std::move(memory));
}

// Where one of the two has no choice, the pair's costs are the other's.
void ChoiceModel::add_pair(const search::ChoiceProblem::Pair& pair) {
  const std::size_t rows = pair.costs->rows, columns = pair.costs->columns;
  if (rows == 1 || columns == 1 || pair.first == pair.second) {
    const std::uint32_t who = pair.first == pair.second || columns == 1 ? pair.first : pair.second;
    for (std::size_t c = 0; c < std::max(rows, columns); ++c)
      model_.columns[begin_[who] + c].cost += scale_ * pair.costs->at(rows == 1 ? 0 : c, columns == 1 ? 0 : c);
    return;
  }
  PairColumns at{pair.first, pair.second, model_.columns.size(), columns};
  for (const double seconds : pair.costs->seconds) model_.add({.cost = seconds * scale_, .most = 1});
  const auto add_sum = [&](std::size_t of, std::size_t first, std::size_t step, std::size_t count) {
    MilpRow row{.terms = {{of, -1}}, .least = 0, .most = 0};
    for (std::size_t i = 0; i < count; ++i) row.terms.push_back({at.begin + first + i * step});
    model_.rows.push_back(std::move(row));
  };
  for (std::size_t r = 0; r < rows; ++r) add_sum(begin_[pair.first] + r, r * columns, 1, columns);
  for (std::size_t c = 0; c < columns; ++c) add_sum(begin_[pair.second] + c, c, columns, rows);
  pairs_.push_back(at);
}

std::vector<double> ChoiceModel::values(const std::vector<std::uint32_t>& choice) const {
  std::vector<double> values(model_.columns.size(), 0);
  for (std::size_t o = 0; o < choice.size(); ++o) values[begin_[o] + choice[o]] = 1;
  for (const PairColumns& p : pairs_) values[p.begin + choice[p.first] * p.row_length + choice[p.second]] = 1;
  return values;
}

std::vector<std::uint32_t> ChoiceModel::choice(const std::vector<double>& values) const {
  std::vector<std::uint32_t> choice;
  for (std::size_t o = 0; o < begin_.size(); ++o) {
    std::uint32_t chosen = 0;  // the row of the operator says which
    for (std::size_t c = begin_[o]; c < model_.columns.size() && model_.columns[c].is_whole; ++c) {
      if (o + 1 < begin_.size() && c == begin_[o + 1]) break;
      if (values[c] > values[begin_[o] + chosen]) chosen = static_cast<std::uint32_t>(c - begin_[o]);
    }
    choice.push_back(chosen);
  }
  return choice;
}

}  // namespace oracles
