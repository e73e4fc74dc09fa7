#include "tests/oracles/milp.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/processes/child_process.hpp"

namespace oracles {
namespace {

constexpr double kTolerance = 1e-6;  // of solvers: CBC's for whole numbers; a row's grows with its largest term

// The child sends messages: a letter, a count, and as many numbers.
enum class Message : char { solution = 's', bound = 'b', complete = 'c' };

void send_numbers(const base::ChildProcess::Send& send, Message message, std::span<const double> numbers) {
  const std::size_t count = numbers.size();
  std::string bytes(1, static_cast<char>(message));
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  send(bytes);
}

// Calls take(message, numbers) for every one that has arrived whole.
template <class Take>
void read_messages(std::string_view bytes, const Take& take) {
  std::size_t count = 0;
  while (bytes.size() >= 1 + sizeof count) {
    std::memcpy(&count, bytes.data() + 1, sizeof count);
    const std::size_t size = 1 + sizeof count + count * sizeof(double);
    if (bytes.size() < size) return;
    std::vector<double> numbers(count);
    if (count > 0) std::memcpy(numbers.data(), bytes.data() + 1 + sizeof count, count * sizeof(double));
    take(Message{bytes.front()}, numbers);
    bytes.remove_prefix(size);
  }
}

// Solutions as they are found, so that a child that is ended has not searched in vain. Heuristics solve parts of the problem as models of
// their own, which have a parent.
class SolutionSender : public CbcEventHandler {
 public:
  explicit SolutionSender(const base::ChildProcess::Send& send) : send_(&send) {}
  CbcEventHandler* clone() const override { return new SolutionSender(*this); }
  CbcAction event(CbcEvent which) override {
    if (model_->parentModel() != nullptr) return noAction;
    if (which == solution || which == heuristicSolution) {
      const OsiSolverInterface* whole = model_->postProcessedSolver(1);
      if (whole != nullptr)
        send_numbers(*send_, Message::solution, {whole->getColSolution(), static_cast<std::size_t>(whole->getNumCols())});
    }
    return noAction;
  }

 private:
  const base::ChildProcess::Send* send_;
};

void load(const MilpModel& model, OsiClpSolverInterface& solver) {
  const std::size_t columns = model.columns.size(), rows = model.rows.size();
  std::vector<double> least, most, cost, row_least, row_most, factors;
  std::vector<int> of_row, of_column, whole;
  for (std::size_t c = 0; c < columns; ++c) {
    const MilpColumn& column = model.columns[c];
    least.push_back(column.least);
    most.push_back(column.most);
    cost.push_back(column.cost);
    if (column.is_whole) whole.push_back(static_cast<int>(c));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    row_least.push_back(model.rows[r].least);
    row_most.push_back(model.rows[r].most);
    for (const MilpTerm& t : model.rows[r].terms) {
      of_row.push_back(static_cast<int>(r));
      of_column.push_back(static_cast<int>(t.column));
      factors.push_back(t.factor);
    }
  }
  CoinPackedMatrix matrix(false, of_row.data(), of_column.data(), factors.data(), static_cast<int>(factors.size()));
  matrix.setDimensions(static_cast<int>(rows), static_cast<int>(columns));
  solver.loadProblem(matrix, least.data(), most.data(), cost.data(), row_least.data(), row_most.data());
  solver.setInteger(whole.data(), static_cast<int>(whole.size()));
}

// Starts are given by the names of columns.
void give_start(const std::vector<double>& start, OsiClpSolverInterface& solver, std::vector<std::pair<std::string, double>>& named) {
  solver.setIntParam(OsiNameDiscipline, 2);
  for (std::size_t c = 0; c < start.size(); ++c) {
    named.emplace_back(fmt::format("c{}", c), start[c]);
    solver.setColName(static_cast<int>(c), named.back().first);
  }
}

void be_quiet() {
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

void run_cbc(const MilpModel& model, const std::vector<double>& start, const MilpLimits& limits, double cutoff,
             const base::ChildProcess::Send& send) {
  be_quiet();
  OsiClpSolverInterface solver;
  load(model, solver);
  std::vector<std::pair<std::string, double>> named;
  give_start(start, solver, named);
  CbcModel cbc(solver);
  CbcSolverUsefulData data;
  CbcMain0(cbc, data);
  if (!named.empty()) cbc.setMIPStart(named);
  SolutionSender sender(send);
  cbc.passInEventHandler(&sender);
  std::vector<std::string> words = {"cbc", "-log",          "0",    "-maxNodes", fmt::format("{}", limits.nodes), "-ratioGap",
                                    "0",   "-allowableGap", "1e-10"};
  if (cutoff < std::numeric_limits<double>::infinity()) words.insert(words.end(), {"-cutoff", fmt::format("{}", cutoff)});
  words.insert(words.end(), {"-solve", "-quit"});
  std::vector<const char*> arguments;
  for (const std::string& w : words) arguments.push_back(w.c_str());
  CbcMain1(
      static_cast<int>(arguments.size()), arguments.data(), cbc, [](CbcModel*, int) { return 0; }, data);
  if (const double* best = cbc.bestSolution()) send_numbers(send, Message::solution, {best, model.columns.size()});
  const double bound = cbc.getBestPossibleObjValue();
  const bool is_complete = cbc.isProvenOptimal() || cbc.isProvenInfeasible() || cbc.isInitialSolveProvenPrimalInfeasible();
  if (is_complete) send_numbers(send, Message::complete, {});
  send_numbers(send, Message::bound, {&bound, 1});
}

// Solutions and bounds that CBC sent, and the start.
class Findings {
 public:
  Findings(const MilpModel& model, double cutoff) : model_(model), best_(cutoff) {}

  [[nodiscard]] double best() const { return best_; }
  void take(const std::vector<double>& values) {
    if (!is_solution(model_, values)) return;
    const double objective = objective_of(model_, values);
    if (objective >= best_) return;
    best_ = objective;
    answer_.values = values;
  }
  void take(std::string_view messages) {
    read_messages(messages, [&](Message message, const std::vector<double>& numbers) {
      if (message == Message::solution) take(numbers);
      else if (message == Message::complete) is_complete_ = true;
      else answer_.bound = numbers.front();
    });
  }
  [[nodiscard]] MilpAnswer answer() && {
    if (is_complete_) answer_.status = answer_.values.empty() ? MilpStatus::infeasible : MilpStatus::optimal;
    else if (!answer_.values.empty()) answer_.status = MilpStatus::feasible;
    return std::move(answer_);
  }

 private:
  const MilpModel& model_;
  double best_;
  MilpAnswer answer_;
  bool is_complete_ = false;
};

// Runs CBC until it ends. Returns: whether it crashed.
bool crashes(const MilpModel& model, const std::vector<double>& start, const MilpLimits& limits, Findings& findings) {
  const double cutoff = findings.best();
  base::ChildProcess child([&](const base::ChildProcess::Send& send) { run_cbc(model, start, limits, cutoff, send); });
  while (child.receive()) {}
  findings.take(child.received());
  return !child.wait().is_clean();
}

}  // namespace

double objective_of(const MilpModel& model, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t c = 0; c < values.size(); ++c) sum += model.columns[c].cost * values[c];
  return sum;
}

bool is_solution(const MilpModel& model, const std::vector<double>& values) {
  if (values.size() != model.columns.size()) return false;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const MilpColumn& column = model.columns[c];
    const double v = values[c], slack = kTolerance * std::max(1.0, std::abs(v));
    if (!(v >= column.least - slack && v <= column.most + slack)) return false;
    if (column.is_whole && std::abs(v - std::round(v)) > kTolerance) return false;
  }
  return std::ranges::all_of(model.rows, [&](const MilpRow& row) {
    double sum = 0, largest = 1;
    for (const MilpTerm& t : row.terms) {
      sum += t.factor * values[t.column];
      largest = std::max({largest, std::abs(t.factor), std::abs(t.factor * values[t.column])});
    }
    return sum >= row.least - kTolerance * largest && sum <= row.most + kTolerance * largest;
  });
}

MilpAnswer solve_by_cbc(const MilpModel& model, const std::vector<double>& start, const MilpLimits& limits) {
  const auto cannot_hold = [](const MilpRow& row) { return row.terms.empty() && (row.least > 0 || row.most < 0); };
  if (std::ranges::any_of(model.rows, cannot_hold)) return {.status = MilpStatus::infeasible};
  Findings findings(model, limits.cutoff);
  const bool has_crashed = crashes(model, start, limits, findings);
  if (!start.empty()) findings.take(start);
  // CBC 2.10.8 crashes over some starts (chain_model_test.cpp): then it has to be better than the start without seeing it.
  if (has_crashed && !start.empty()) crashes(model, {}, limits, findings);
  return std::move(findings).answer();
}

}  // namespace oracles
