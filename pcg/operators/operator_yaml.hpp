#pragma once
// One operator as YAML, for graph and plan files.

#include "base/yaml/reader.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

// {op: linear, out: 4096, bias: true} merged into `into`; and back.
void write_operator(const Operator& op, base::Yaml& into);
[[nodiscard]] Operator read_operator(base::MapReader& reader);  // problems go to the reader's sink

}  // namespace pcg
