// The fit of comparisons, on pairs that are made up.
#include "scenarios/confidence/fit/pair_fit.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>

#include "base/random.hpp"
#include "tests/about.hpp"

using namespace confidence;
using scenarios::Change;

namespace {

Residual point(const std::string& publication, const std::string& plan, double log_ratio, const std::string& work = "gpt") {
  Residual r;
  r.source = r.publication = publication;
  r.log_ratio = log_ratio;
  r.facts = {.work = work, .plan = plan, .gpus = 8, .samples = 64, .precision = "bf16", .machine = {{"node", "a100"}}, .links = {}};
  return r;
}

// Two plans of each question; the second's ratio is off by `step`, 2 x `step`, ...
void add_questions(std::vector<Residual>& all, const std::string& publication, int questions, double step) {
  for (int q = 0; q < questions; ++q) {
    const std::string work = fmt::format("model {}", q);
    all.push_back(point(publication, "a", 0.3, work));
    all.push_back(point(publication, "b", 0.3 + step * (q + 1), work));
  }
}

double spread_of_plans(const std::vector<Residual>& all) { return fit_pairs(all).spread[0]; }

}  // namespace

TEST_CASE("a publication is a source without the place in it and without the number of its round") {
  CHECK(publication_of("mlcommons/training_results_v4.1@1a2b3c4:gpt3/x.csv") == "mlcommons/training_results");
  CHECK(publication_of("MooreThreads/SimuMax@e691807:docs/b200/b200_release_v1.2_summary.json, row 3") == "MooreThreads/SimuMax");
  CHECK(publication_of("collector/iterations.py, one NVIDIA H200") == "collector/iterations.py");
  CHECK(publication_of("arXiv 2205.05198") == "arXiv 2205.05198");
}

TEST_CASE("the spread is the quantile of what ratios are off by") {
  // Two publications with errors 0.01 .. 0.20 each: 90 % of the weight is reached at 0.18, with either left out as well.
  std::vector<Residual> all;
  for (const char* publication : {"s", "t"}) add_questions(all, publication, 20, 0.01);
  CHECK(spread_of_plans(all) == test::about(0.18));
  const scenarios::PairModel m = fit_pairs(all);
  CHECK(m.growth == 0);
  CHECK((m.spread[1] == 0 && m.spread[2] == 0 && m.spread[3] == 0));  // no such pairs
}

TEST_CASE("a pair that differs in two kinds says nothing of either") {
  std::vector<Residual> all;
  for (const char* publication : {"s", "t"}) {
    add_questions(all, publication, 20, 0.01);
    for (int q = 0; q < 20; ++q) {
      all.push_back(point(publication, "c", 2, fmt::format("model {}", q)));
      all.back().facts.gpus = 16;
    }
  }
  CHECK(spread_of_plans(all) == test::about(0.18));
  CHECK(fit_pairs(all).spread[1] == 0);
}

TEST_CASE("where publications that were left out ask for more, the spread holds as much of them") {
  // Pooled, errors of 0.01 .. 0.20 and twice as much. The spread without the second is 0.18 and holds 9 of its 20, without the first 0.36
  // and holds all. Times as much as is needed: error / spread without; of the second 0.02 / 0.18 ... 0.40 / 0.18, of the first
  // 0.01 / 0.36 ... 0.20 / 0.36. In one order with equal weights the 36th of 40 is 0.32 / 0.18, and the pooled quantile 0.32: of 40 errors
  // 36 are at most that, 20 and 16.
  std::vector<Residual> all;
  add_questions(all, "s", 20, 0.01);
  add_questions(all, "t", 20, 0.02);
  CHECK(spread_of_plans(all) == test::about(0.32 * 0.32 / 0.18));
}

TEST_CASE("a question counts alike however many pairs it has") {
  // In each publication nine questions whose one pair is off by 0.01, 0.02, ..., 0.09, and one of 10 points, 45 pairs, all off by at most
  // 0.005: they are a tenth of the weight. 90 % is reached at the eighth of the nine: 0.1 + 8 x 0.1.
  std::vector<Residual> all;
  for (const char* publication : {"s", "t"}) {
    add_questions(all, publication, 9, 0.01);
    for (int i = 0; i < 10; ++i) all.push_back(point(publication, fmt::format("plan {}", i), 0.0005 * i, "many"));
  }
  CHECK(spread_of_plans(all) == test::about(0.08));
}

TEST_CASE("pairs are of one publication and training, and differ in one kind of thing") {
  std::vector<Residual> all;
  for (const char* publication : {"s", "t"})
    for (int i = 0; i < 20; ++i) {
      const std::string work = fmt::format("model {}", i);
      all.push_back(point(publication, "a", 0, work));
      all.push_back(point(publication, "a", 0.02, work));
      all.back().facts.gpus = 16;
      all.push_back(point(publication, "b", 5, work + " of another size"));
    }
  const std::vector<LeftOutPairs> found = left_out_pairs(all);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Change::scale);
  CHECK(found[0].pairs == 40);
  CHECK(found[0].publications == 2);
  CHECK_FALSE(found[0].inside);  // one publication alone gives no spread
  CHECK(fit_pairs(all).spread[1] == test::about(0.02));
}

TEST_CASE("few pairs, or those of one publication, give no spread") {
  std::vector<Residual> one, few;
  add_questions(one, "s", 50, 0.01);
  CHECK(spread_of_plans(one) == 0);
  for (const char* publication : {"s", "t"}) add_questions(few, publication, 9, 0.01);
  CHECK(spread_of_plans(few) == 0);
  for (const char* publication : {"s", "t"}) add_questions(few, publication, 10, 0.01);  // the same questions again: more pairs
  CHECK(spread_of_plans(few) > 0);
  CHECK(fit_pairs({}).spread == scenarios::PairModel{}.spread);
  CHECK(left_out_pairs({}).empty());
}

TEST_CASE("coverage of left-out publications: shares inside the spread of the others, and its width") {
  // Three alike, of errors 0.01 .. 0.20: two of them give 0.18, which holds 18 of the third's 20.
  std::vector<Residual> all;
  for (const char* publication : {"s", "t", "u"}) add_questions(all, publication, 20, 0.01);
  const std::vector<LeftOutPairs> found = left_out_pairs(all);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].inside);
  CHECK(*found[0].inside == test::about(0.9));
  CHECK(*found[0].width == test::about(std::exp(0.18) - std::exp(-0.18)));
}

TEST_CASE("errors that grow with the difference of shares make the growth") {
  std::vector<Residual> flat, growing;
  base::Random random(3);
  for (const char* publication : {"s", "t", "u", "v"})
    for (int q = 0; q < 60; ++q) {
      const double apart = (q % 6) / 5.0, error = 0.02 + 0.02 * random.uniform();
      for (auto* all : {&flat, &growing}) {
        all->push_back(point(publication, "a", 0, fmt::format("model {}", q)));
        all->push_back(point(publication, "b", all == &flat ? error : error * std::exp(1.5 * apart), fmt::format("model {}", q)));
        all->back().facts.shares = {apart, 0};
      }
    }
  CHECK(fit_pairs(flat).growth == 0);
  CHECK(fit_pairs(growing).growth == 1.5);
}
