#pragma once
// A points table small enough to be forecast in milliseconds.

#include <string>

namespace test {

inline const std::string kHeader =
    "id,group,cluster,nodes,n_gpus,layers,hidden,heads,ffn,seq,vocab,attention,tp,pp,dp,micro_batch,global_batch,recompute,precision,"
    "framework,measured_s\n";
inline const std::string kRow = "a,small,dgx-a100-80gb,1,2,2,64,2,256,16,128,flash,1,1,2,1,4,none,fp16,megatron,0.01\n";

// kRow with one cell replaced.
inline std::string row_with(const std::string& from, const std::string& to) {
  std::string row = kRow;
  return row.replace(row.find(from), from.size(), to);
}

}  // namespace test
