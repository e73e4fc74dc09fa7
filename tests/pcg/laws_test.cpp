// The laws of parallel operators: both sides have equal types and equal shards. Numbers (A1, B3, ...) are those of the list that
// the substitutions will be generated from: P partition, G combine, R replicate, S reduce, D discard.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "pcg/evaluator/evaluator.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {
namespace {

using Chain = std::vector<ParallelOperator>;

// Builds one side of a law; every node has a fresh name but for the sources, which both sides share.
class Side {
 public:
  Side() : builder_("side", {{"all", true}}) {}

  // A tensor that lies as it is said: partial sums are made by a reduction over one more dim.
  TensorRef tensor(const std::string& name, const ParallelShape& s) {
    if (s.sum == 1) return source(name, Input{s.whole()}, s, {});
    Sharding cut{.degrees = {s.sum}, .copies = s.copy};
    TensorShape more = s.whole();
    more.sizes.insert(more.sizes.begin(), s.sum);
    for (const ParallelDim& d : s.dims) cut.degrees.push_back(d.degree);
    const TensorRef x = {builder_.add(name, Input{more}, {}, cut, 0), 0};
    return add(Reduction{.axis = 0}, {x}, cut);
  }
  TensorRef move(TensorRef t, const Chain& chain) {
    for (const ParallelOperator& op : chain) t = {builder_.add(fresh(), op, t, 0), 0};
    return t;
  }
  // Degrees are by loop name; copies and sums too.
  TensorRef add(Operator op, std::vector<TensorRef> inputs, std::initializer_list<std::pair<const char*, int>> degrees) {
    std::vector<TensorShape> wholes;
    for (TensorRef t : inputs) wholes.push_back(builder_.shape(t).whole());
    const IterationSpace space = iteration_space(op, wholes);
    Sharding s = unsharded(space);
    for (const auto& [name, degree] : degrees) {
      if (std::string(name) == "copies") s.copies = degree;
      else if (std::string(name) == "sums") s.sums = degree;
      else if (std::string(name) == "through") s.through = degree;
      else s.degrees.at(static_cast<std::size_t>(find_loop(space, name))) = degree;
    }
    return add(std::move(op), std::move(inputs), s);
  }
  TensorRef add(Operator op, std::vector<TensorRef> inputs, const Sharding& s) {
    return {builder_.add(fresh(), std::move(op), std::move(inputs), s, 0), 0};
  }
  [[nodiscard]] Pcg build() && { return std::move(builder_).build(); }

 private:
  TensorRef source(const std::string& name, Operator op, const ParallelShape& s, std::vector<TensorRef> inputs) {
    Sharding cut{.degrees = {}, .copies = s.copy};
    for (const ParallelDim& d : s.dims) cut.degrees.push_back(d.degree);
    return {builder_.add(name, std::move(op), std::move(inputs), cut, 0), 0};
  }
  std::string fresh() { return "n" + std::to_string(count_++); }

  PcgBuilder builder_;
  int count_ = 0;
};

template <class Left, class Right>
bool equal(Left&& left, Right&& right) {
  Side l, r;
  left(l);
  right(r);
  const Pcg a = std::move(l).build(), b = std::move(r).build();
  std::vector<ParallelShape> types_a, types_b;
  for (TensorRef t : a.results()) types_a.push_back(a.shape(t));
  for (TensorRef t : b.results()) types_b.push_back(b.shape(t));
  return types_a == types_b && evaluate_shards(a, 17) == evaluate_shards(b, 17);
}

// Chains, in the order in which they are applied.
bool chains_equal(const ParallelShape& x, Chain left, Chain right) {
  for (Chain* chain : {&left, &right}) chain->push_back(Replicate{1});  // a source alone is no result
  return equal([&](Side& s) { s.move(s.tensor("x", x), left); }, [&](Side& s) { s.move(s.tensor("x", x), right); });
}

struct Draw {  // a parallel shape of two dims with room for two more factors each, and the factors
  int d = *rc::gen::inRange(1, 4), e = *rc::gen::inRange(1, 4);
  ParallelShape x;
  Draw() {
    for (int i = 0; i < 2; ++i) {
      const int degree = *rc::gen::inRange(1, 3);
      x.dims.push_back({degree * d * e * *rc::gen::inRange(1, 3), degree});
    }
    x.sum = *rc::gen::inRange(1, 3);
    x.copy = *rc::gen::inRange(1, 3);
  }
  // The same with a dim, the sums or the copies already d * e times as many.
  [[nodiscard]] ParallelShape cut() const {
    ParallelShape s = x;
    s.dims[0].degree *= d * e;
    s.sum *= d * e;
    s.copy *= d * e;
    return s;
  }
};

TEST_CASE("A: parallel operators among themselves") {
  CHECK(rc::check("A1, A2: combine undoes partition, and partition combine", [] {
    const Draw t;
    RC_ASSERT(chains_equal(t.x, {Partition{0, t.d}, Combine{0, t.d}}, {}));
    RC_ASSERT(chains_equal(t.cut(), {Combine{0, t.d}, Partition{0, t.d}}, {}));
  }));
  CHECK(rc::check("A3, A4, A5, A6: equal operators compose", [] {
    const Draw t;
    RC_ASSERT(chains_equal(t.x, {Partition{1, t.e}, Partition{1, t.d}}, {Partition{1, t.d * t.e}}));
    RC_ASSERT(chains_equal(t.cut(), {Combine{0, t.e}, Combine{0, t.d}}, {Combine{0, t.d * t.e}}));
    RC_ASSERT(chains_equal(t.x, {Replicate{t.e}, Replicate{t.d}}, {Replicate{t.d * t.e}}));
    RC_ASSERT(chains_equal(t.cut(), {Reduce{t.e}, Reduce{t.d}}, {Reduce{t.d * t.e}}));
  }));
  CHECK(rc::check("A7: operators on different dims commute", [] {
    const Draw t;
    RC_ASSERT(chains_equal(t.x, {Partition{0, t.d}, Partition{1, t.e}}, {Partition{1, t.e}, Partition{0, t.d}}));
    RC_ASSERT(chains_equal(t.cut(), {Combine{0, t.d}, Partition{1, t.e}}, {Partition{1, t.e}, Combine{0, t.d}}));
  }));
  CHECK(rc::check("A8 to A12: replicate, partition and combine, reduce commute", [] {
    const Draw t;
    const ParallelShape cut = t.cut();
    RC_ASSERT(chains_equal(t.x, {Partition{0, t.d}, Replicate{t.e}}, {Replicate{t.e}, Partition{0, t.d}}));
    RC_ASSERT(chains_equal(cut, {Combine{0, t.d}, Replicate{t.e}}, {Replicate{t.e}, Combine{0, t.d}}));
    RC_ASSERT(chains_equal(cut, {Partition{1, t.d}, Reduce{t.e}}, {Reduce{t.e}, Partition{1, t.d}}));
    RC_ASSERT(chains_equal(cut, {Combine{0, t.d}, Reduce{t.e}}, {Reduce{t.e}, Combine{0, t.d}}));
    RC_ASSERT(chains_equal(cut, {Replicate{t.d}, Reduce{t.e}}, {Reduce{t.e}, Replicate{t.d}}));
  }));
  CHECK(rc::check("A13: what is left of a partition and a combine is their ratio", [] {
    const Draw t;
    ParallelShape once = t.x;
    once.dims[0].degree *= t.d;
    RC_ASSERT(chains_equal(once, {Combine{0, t.d}, Partition{0, t.d * t.e}}, {Partition{0, t.e}}));
    RC_ASSERT(chains_equal(t.cut(), {Combine{0, t.d * t.e}, Partition{0, t.d}}, {Combine{0, t.e}}));
    RC_ASSERT(chains_equal(t.x, {Partition{0, t.d * t.e}, Combine{0, t.e}}, {Partition{0, t.d}}));
    RC_ASSERT(chains_equal(once, {Partition{0, t.e}, Combine{0, t.d * t.e}}, {Combine{0, t.d}}));
  }));
  CHECK(rc::check("A15, A20: discard undoes replicate; an all-reduce is a reduce-scatter and an all-gather", [] {
    const Draw t;
    RC_ASSERT(chains_equal(t.x, {Replicate{t.d}, Discard{t.d}}, {}));
    RC_ASSERT(chains_equal(t.cut(), {Reduce{t.d}, Replicate{t.d}}, {Reduce{t.d}, Partition{1, t.d}, Combine{1, t.d}, Replicate{t.d}}));
  }));
}

TEST_CASE("A14 is no law: reducing copies is ill-typed") {
  Side s;
  const TensorRef x = s.tensor("x", unsharded(real({4})));
  CHECK_THROWS_WITH(s.move(x, {Replicate{2}, Reduce{2}}), "n1: reduce: sum 1 of [4] copy 2 does not divide by 2");
}

const ParallelShape kX = unsharded(real({6, 12})), kW = unsharded(real({12, 18}));

TEST_CASE("B: matmul") {
  const Linear op{.out = 18};
  auto product = [&](Side& s, const Chain& x, const Chain& w, const char* loop, int degree, const Chain& behind) {
    s.move(s.add(op, {s.move(s.tensor("x", kX), x), s.move(s.tensor("w", kW), w)}, {{loop, degree}}), behind);
  };
  for (int d : {2, 3}) {
    auto plain = [&](const Chain& behind) { return [&, behind](Side& s) { product(s, {}, {}, "b", 1, behind); }; };
    CHECK(equal([&](Side& s) { product(s, {Partition{0, d}}, {Replicate{d}}, "b", d, {}); }, plain({Partition{0, d}})));  // B1
    CHECK(equal([&](Side& s) { product(s, {Replicate{d}}, {Partition{1, d}}, "n", d, {}); }, plain({Partition{1, d}})));  // B2
    CHECK(equal([&](Side& s) { product(s, {Partition{1, d}}, {Partition{0, d}}, "k", d, {Reduce{d}}); }, plain({})));     // B3
    CHECK(equal([&](Side& s) { product(s, {Replicate{d}}, {Replicate{d}}, "copies", d, {}); }, plain({Replicate{d}})));   // B4
  }
}

TEST_CASE("C: bias and activation") {
  const Linear relu{.out = 18, .has_bias = true, .activation = Activation::relu}, affine{.out = 18, .has_bias = true};
  const ParallelShape bias = unsharded(real({18}));
  auto layer = [&](Side& s, const Linear& op, const Chain& x, const Chain& w, const Chain& b, const char* loop, int degree,
                   const Chain& behind) {
    s.move(s.add(op, {s.move(s.tensor("x", kX), x), s.move(s.tensor("w", kW), w), s.move(s.tensor("b", bias), b)}, {{loop, degree}}),
           behind);
  };
  auto plain = [&](const Linear& op, const Chain& behind) {
    return [&, op, behind](Side& s) { layer(s, op, {}, {}, {}, "b", 1, behind); };
  };
  CHECK(equal(
      [&](Side& s) {
        layer(s, relu, {Partition{0, 2}}, {Replicate{2}}, {Replicate{2}}, "b", 2, {});
      },
      plain(relu, {Partition{0, 2}})));
  CHECK(equal(
      [&](Side& s) {
        layer(s, relu, {Replicate{3}}, {Partition{1, 3}}, {Partition{0, 3}}, "n", 3, {});
      },
      plain(relu, {Partition{1, 3}})));
  // The bias lies on every point of k and counts once.
  CHECK(equal(
      [&](Side& s) {
        layer(s, affine, {Partition{1, 3}}, {Partition{0, 3}}, {Replicate{3}}, "k", 3, {Reduce{3}});
      },
      plain(affine, {})));
  Side s;
  CHECK_THROWS_WITH(layer(s, relu, {Partition{1, 3}}, {Partition{0, 3}}, {Replicate{3}}, "k", 3, {}), "n3: loop k may not be cut");
}

TEST_CASE("E: elementwise functions commute with partition, combine and replicate; with reduce only if linear") {
  auto both = [](const Operator& op, const ParallelShape& x, const ParallelOperator& move,
                 std::initializer_list<std::pair<const char*, int>> before, std::initializer_list<std::pair<const char*, int>> behind) {
    return equal([&](Side& s) { s.add(op, {s.move(s.tensor("x", x), {move})}, behind); },
                 [&](Side& s) { s.move(s.add(op, {s.tensor("x", x)}, before), {move}); });
  };
  const ParallelShape rows{.dims = {{6, 3}, {4, 1}}}, partial{.dims = {{6, 1}, {4, 1}}, .sum = 2};
  const Unary gelu{.kind = Unary::Kind::gelu}, scale{.kind = Unary::Kind::scale, .factor = 3};
  CHECK(both(gelu, rows, Partition{1, 2}, {{"b", 3}}, {{"b", 3}, {"h", 2}}));    // E1
  CHECK(both(gelu, rows, Combine{0, 3}, {{"b", 3}}, {}));                        // E2
  CHECK(both(gelu, rows, Replicate{2}, {{"b", 3}}, {{"b", 3}, {"copies", 2}}));  // E3
  CHECK(both(scale, partial, Reduce{2}, {{"sums", 2}}, {}));                     // E4
  CHECK_THROWS_WITH(both(gelu, partial, Reduce{2}, {{"sums", 2}}, {}),
                    "n1: partial sums cannot pass through an operator that is not linear");
}

TEST_CASE("F: binary operators") {
  const ParallelShape x = unsharded(real({6, 4})), partial{.dims = {{6, 1}, {4, 1}}, .sum = 2};
  auto law = [&](Binary::Kind kind, const ParallelShape& shape, const ParallelOperator& move,
                 std::initializer_list<std::pair<const char*, int>> inside, std::initializer_list<std::pair<const char*, int>> outside) {
    const Binary op{.kind = kind};
    return equal(
        [&](Side& s) {
          s.add(op, {s.move(s.tensor("x", shape), {move}), s.move(s.tensor("y", shape), {move})}, inside);
        },
        [&](Side& s) {
          s.move(s.add(op, {s.tensor("x", shape), s.tensor("y", shape)}, outside), {move});
        });
  };
  CHECK(law(Binary::Kind::multiply, x, Partition{0, 3}, {{"b", 3}}, {}));    // F1
  CHECK(law(Binary::Kind::multiply, x, Replicate{2}, {{"copies", 2}}, {}));  // F2
  CHECK(law(Binary::Kind::add, partial, Reduce{2}, {}, {{"sums", 2}}));      // F3
  CHECK_THROWS(law(Binary::Kind::multiply, partial, Reduce{2}, {}, {{"sums", 2}}));
  // A broadcast operand is replicated where the other is partitioned.
  const ParallelShape row = unsharded(real({1, 4}));
  CHECK(equal(
      [&](Side& s) {
        s.add(Binary{}, {s.move(s.tensor("x", x), {Partition{0, 3}}), s.move(s.tensor("r", row), {Replicate{3}})}, {{"b", 3}});
      },
      [&](Side& s) {
        s.move(s.add(Binary{}, {s.tensor("x", x), s.tensor("r", row)}, {}), {Partition{0, 3}});
      }));
}

TEST_CASE("B5, B6: a product of partial sums and copies of the other factor") {
  const ParallelShape partial_x{.dims = {{6, 1}, {12, 1}}, .sum = 2}, partial_w{.dims = {{12, 1}, {18, 1}}, .sum = 3};
  const Linear op{.out = 18, .has_bias = true};
  const ParallelShape bias = unsharded(real({18}));
  auto product = [&](Side& s, const ParallelShape& x, const Chain& on_x, const ParallelShape& w, const Chain& on_w, const Chain& on_b,
                     std::initializer_list<std::pair<const char*, int>> cut, const Chain& behind) {
    s.move(s.add(op, {s.move(s.tensor("x", x), on_x), s.move(s.tensor("w", w), on_w), s.move(s.tensor("b", bias), on_b)}, cut), behind);
  };
  CHECK(equal(
      [&](Side& s) {
        product(s, partial_x, {}, kW, {Replicate{2}}, {Replicate{2}}, {{"sums", 2}, {"through", 0}}, {Reduce{2}});
      },
      [&](Side& s) { product(s, partial_x, {Reduce{2}}, kW, {}, {}, {}, {}); }));
  CHECK(equal(
      [&](Side& s) {
        product(s, kX, {Replicate{3}}, partial_w, {}, {Replicate{3}}, {{"sums", 3}, {"through", 1}}, {Reduce{3}});
      },
      [&](Side& s) { product(s, kX, {}, partial_w, {Reduce{3}}, {}, {}, {}); }));
}

TEST_CASE("F4, F5: one operand in partial sums; a factor meets each of them, an addend counts once") {
  const ParallelShape x = unsharded(real({6, 4})), partial{.dims = {{6, 1}, {4, 1}}, .sum = 2};
  for (Binary::Kind kind : {Binary::Kind::add, Binary::Kind::subtract, Binary::Kind::multiply})
    for (int through : {0, 1}) {
      auto operands = [&](Side& s, const Chain& on_partial, const Chain& on_x) {
        std::vector<TensorRef> result{s.move(s.tensor("x", partial), on_partial), s.move(s.tensor("y", x), on_x)};
        if (through == 1) std::swap(result[0], result[1]);
        return result;
      };
      CHECK(equal(
          [&](Side& s) {
            s.move(s.add(Binary{kind}, operands(s, {}, {Replicate{2}}), {{"sums", 2}, {"through", through}}), {Reduce{2}});
          },
          [&](Side& s) { s.add(Binary{kind}, operands(s, {Reduce{2}}, {}), {}); }));
    }
  Side s;
  const TensorRef a = s.tensor("x", partial), b = s.move(s.tensor("y", x), {Replicate{2}});
  CHECK_THROWS_WITH(s.add(Concat{.axis = 1}, {a, b}, {{"sums", 2}, {"through", 0}}), "n2: partial sums cannot pass through input 0 alone");
}

TEST_CASE("F6: a sum is the reduction of summands") {
  const ParallelShape x = unsharded(real({6, 4})), partial{.dims = {{6, 1}, {4, 1}}, .sum = 2};
  CHECK(equal(
      [&](Side& s) {
        s.move(s.add(Summands{}, {s.tensor("x", x), s.tensor("y", x)}, {{"sums", 2}}), {Reduce{2}});
      },
      [&](Side& s) {
        s.add(Binary{}, {s.tensor("x", x), s.tensor("y", x)}, {});
      }));
  CHECK(equal(  // rows cut, summands of different numbers
      [&](Side& s) {
        const TensorRef a = s.move(s.tensor("x", x), {Partition{0, 3}}), b = s.move(s.tensor("y", partial), {Partition{0, 3}});
        s.move(s.add(Summands{{1, 2}}, {a, b}, {{"sums", 3}, {"b", 3}}), {Reduce{3}});
      },
      [&](Side& s) {
        s.move(s.add(Binary{}, {s.tensor("x", x), s.move(s.tensor("y", partial), {Reduce{2}})}, {}), {Partition{0, 3}});
      }));
  Side s;
  const TensorRef a = s.tensor("x", x), b = s.tensor("y", partial);
  CHECK_THROWS_WITH(s.add(Summands{}, {a, b}, {{"sums", 2}}), "n1: input 1 (n0) lies as [6, 4] sum 2, the sharding reads it as [6, 4]");
}

TEST_CASE("G, H: concat, slice and transpose commute with what happens along other dims") {
  const ParallelShape x = unsharded(real({6, 4})), partial{.dims = {{6, 1}, {4, 1}}, .sum = 2};
  auto concat = [&](const ParallelShape& shape, const ParallelOperator& move, std::initializer_list<std::pair<const char*, int>> inside,
                    std::initializer_list<std::pair<const char*, int>> outside) {
    const Concat op{.axis = 1};
    return equal(
        [&](Side& s) {
          s.add(op, {s.move(s.tensor("x", shape), {move}), s.move(s.tensor("y", shape), {move})}, inside);
        },
        [&](Side& s) {
          s.move(s.add(op, {s.tensor("x", shape), s.tensor("y", shape)}, outside), {move});
        });
  };
  CHECK(concat(x, Partition{0, 3}, {{"b", 3}}, {}));     // G1
  CHECK(concat(x, Replicate{2}, {{"copies", 2}}, {}));   // G2
  CHECK(concat(partial, Reduce{2}, {}, {{"sums", 2}}));  // G3
  const Slice slice{.axis = 1, .begin = 1, .length = 2};
  CHECK(equal(
      [&](Side& s) {
        s.add(slice, {s.move(s.tensor("x", x), {Partition{0, 3}})}, {{"b", 3}});
      },
      [&](Side& s) {
        s.move(s.add(slice, {s.tensor("x", x)}, {}), {Partition{0, 3}});
      }));  // G4
  const Transpose turn{.permutation = {1, 0}};
  CHECK(equal(
      [&](Side& s) {
        s.add(turn, {s.move(s.tensor("x", x), {Partition{0, 3}})}, {{"b", 3}});
      },
      [&](Side& s) {
        s.move(s.add(turn, {s.tensor("x", x)}, {}), {Partition{1, 3}});
      }));
}

}  // namespace
}  // namespace pcg
