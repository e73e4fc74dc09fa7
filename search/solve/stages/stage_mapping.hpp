#pragma once
// Costs of runs of a chain's parts as stages of a pipeline, wherever each operator runs best on the stage's block.

#include <map>
#include <vector>

#include "search/solve/mapping/segments.hpp"
#include "search/solve/stages/stage_cuts.hpp"

namespace search {

// A stage begins with what the operator that ends the stage before has made. It may want that in any of the ways in which the operator
// could have run on the stage's own block; to bring it there costs what it costs from the best strategy on the devices before, and back.
class StageMapping {
 public:
  // Parts that begin where the one before ends; equal parts may be one object. All outlive the object.
  // Where `counts_transfers` is false, a stage's inputs come to it in no time, as in Alpa's dynamic program (OSDI'22, section 7).
  StageMapping(Mapping& mapping, OperatorCatalog& catalog, std::vector<const Mapping::Part*> parts, bool counts_transfers);

  // Seconds of a micro-batch, forward and backward.
  // Requires: the first parts run on the first devices, and others not.
  // Cost: that of the mapping for each part that is unlike, on each block that is unlike; then O(c^2) for each run of parts that is unlike,
  // and block.
  [[nodiscard]] double seconds(const StageRun& run);
  // Seconds until the inputs of a stage that begins with this part are there, by the shortlist of the operator that ends the part before.
  [[nodiscard]] std::vector<double> before_first(std::size_t begin, DeviceBlock block);
  // By part of the run, and operator.
  [[nodiscard]] std::vector<std::vector<Placed>> place(const StageRun& run);
  // Asks about the movements between placed operators of the run.
  // Returns: whether any was not known before; costs are others then.
  bool resolve(const StageRun& run, const std::vector<std::vector<Placed>>& placed);

 private:
  [[nodiscard]] const BranchCosts& costs(const Mapping::Part& part, DeviceBlock block);
  [[nodiscard]] const std::vector<double>& arrival(KindNumber kind, DeviceBlock block);
  // A run that begins with parts like these, and those that are longer by one. Layers repeat: runs from many parts have a beginning in
  // common.
  struct Beginning {
    std::vector<double> before;  // seconds up to each choice of its last operator
    double least = 0;
    std::map<const Mapping::Part*, Beginning> longer{};
  };

  Mapping& mapping_;
  OperatorCatalog& catalog_;
  std::vector<const Mapping::Part*> parts_;
  bool counts_transfers_;
  std::map<std::pair<const Mapping::Part*, DeviceBlock>, BranchCosts> costs_;    // by alike block
  std::map<DeviceBlock, std::map<const Mapping::Part*, Beginning>> beginnings_;  // by alike block and first part
  std::map<DeviceBlock, std::map<std::size_t, std::vector<double>>> seconds_;    // by alike block and begin: up to each end
  std::map<std::pair<KindNumber, DeviceBlock>, std::vector<double>> arrivals_;   // by block
};

}  // namespace search
