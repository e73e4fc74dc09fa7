// foreshard-collect: measures one machine and writes one file (README.md). Exit codes: 0 measured; 1 measured in part, the file says why;
// 2 bad options or no GPU.
#include <cublasLt.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>

#include "tools/collector/cuda/convolutions.cuh"
#include "tools/collector/cuda/parts.cuh"
#include "tools/collector/options.hpp"
#include "tools/collector/schedule.hpp"

namespace collector {
namespace {

constexpr std::size_t kCasesBetweenWrites = 500;

std::string dotted(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

void describe(const Options& o, Results& results) {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  const std::size_t blas = cublasLtGetVersion();  // 130000: 13.0.0
  const std::string blas_text = std::to_string(blas / 10000) + "." + std::to_string(blas / 100 % 100) + "." + std::to_string(blas % 100);
  results.environment = {
      {"date", now_utc()},        {"driver_cuda", dotted(driver)}, {"cuda", dotted(runtime)},           {"cublas", blas_text},
      {"cudnn", cudnn_version()}, {"nccl", nccl_version()},        {"cache", o.cold ? "cold" : "warm"}, {"seed", std::to_string(o.seed)}};
  if (cudnn_version().empty()) results.left_out.push_back("convolution: built without cuDNN");
}

// A device that no longer answers makes every later number wrong.
bool device_lost() { return cudaDeviceSynchronize() != cudaSuccess; }

bool write(const std::string& file, const std::string& text) {
  const std::string unfinished = file + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  return out.good() && std::rename(unfinished.c_str(), file.c_str()) == 0;
}

// false: the device was lost. What was measured is written every so often: nothing is lost should a kernel never end.
bool measure_kernels(Bench& b, const Options& o, const Deadline& until, Results& results) {
  const std::vector<Group> groups = grid(b.device(), o.seed);
  const std::vector<Scheduled> order = schedule(b.device(), groups);
  std::map<std::string, std::pair<int, std::string>> refused;  // group: how many, and the first reason
  std::size_t done = 0;
  for (; done < order.size() && !until.passed(); ++done) {
    const Case& c = order[done].what;
    if (done % kCasesBetweenWrites == 0 && !write(o.out, to_json(results)))
      std::fprintf(stderr, "%s cannot be written yet\n", o.out.c_str());
    try {
      results.kernels.push_back({c, b.time(case_launch(b, c), c.precision)});
    } catch (const std::runtime_error& e) {
      auto& [count, reason] = refused[groups[order[done].group].name];
      if (count++ == 0) reason = e.what();
      if (device_lost()) {
        results.left_out.push_back("stopped in " + groups[order[done].group].name + ": " + e.what());
        return false;
      }
    }
  }
  for (const auto& [group, why] : refused)
    results.left_out.push_back(group + ": " + std::to_string(why.first) + " cases, the first because of " + why.second);
  for (const std::string& s : left_out(groups, order, done)) results.left_out.push_back(s);
  return true;
}

// What goes wrong in a part leaves the part out. false: the device was lost.
bool part(const char* name, Results& results, const std::function<void()>& measure) {
  std::fprintf(stderr, "%s\n", name);
  try {
    measure();
    return true;
  } catch (const std::runtime_error& e) {
    results.left_out.push_back(std::string(name) + ": " + e.what());
    return !device_lost();
  }
}

// false: the device was lost on the way.
bool measure_all(const Options& o, Results& results) {
  const Deadline all(o.budget_s);
  const Shares shares = shares_of(o.budget_s, results.device.count);
  bool well = part("launches", results, [&] { measure_launches(results); });
  well = well && part("copies", results, [&] { measure_copies(results.device, Deadline(shares.copies), results); });
  well = well && part("collectives", results, [&] { measure_collectives(results.device, Deadline(shares.collectives), results); });
  bool kernels = true;
  return well &&
         part("overlap and kernels", results,
              [&] {
                Bench bench(results.device, o.cold);
                measure_overlap(bench, Deadline(shares.overlap), results);
                kernels = measure_kernels(bench, o, all, results);
              }) &&
         kernels;
}

int dry_run(const Options& o) {
  int count = 0;
  const bool present = cudaGetDeviceCount(&count) == cudaSuccess && o.device < count;
  print_dry_run(o, present ? device_facts(o.device) : Device{}, std::cout);
  return 0;
}

int collect(const Options& o) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || o.device >= count) {
    std::cerr << "no GPU " << o.device << ": " << (status == cudaSuccess ? std::to_string(count) + " visible" : cudaGetErrorString(status))
              << "; --dry-run needs none\n";
    return 2;
  }
  check(cudaSetDevice(o.device));
  Results results;
  results.device = device_facts(o.device);
  describe(o, results);
  const bool whole = measure_all(o, results);
  if (!write(o.out, to_json(results))) {
    std::cerr << o.out << ": cannot be written\n";
    return 2;
  }
  std::cerr << o.out << ": " << results.kernels.size() << " kernels, " << results.copies.size() << " copies, " << results.overlap.size()
            << " overlaps, " << results.collectives.size() << " collectives; " << results.left_out.size()
            << " notes on what was left out\n";
  return whole ? 0 : 1;
}

}  // namespace
}  // namespace collector

int main(int argc, char** argv) {
  using namespace collector;
  std::string problem;
  const std::optional<Options> options = parse_options({argv + 1, argv + argc}, problem);
  if (!options || options->help) {
    (options ? std::cout : std::cerr) << (options ? usage() : problem + "\n");
    return options ? 0 : 2;
  }
  try {
    return options->dry_run ? dry_run(*options) : collect(*options);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
