// Child p of n proves equations p, p + n, ...; a proof comes back as one line of tab-separated fields through its pipe.

#include "substitutions/proof/prove_all.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace substitutions {
namespace {

std::string line_of(std::size_t index, const Proof& p) {
  std::string text = fmt::format("{}\t{}\t{}\t{:.9g}\t{}", index, static_cast<int>(p.verdict), p.instances, p.seconds,
                                 p.counterexample ? p.counterexample->text : "");
  for (const std::string& a : p.axioms) text += "\t" + a;
  return text + "\n";
}

void read_line(std::string_view line, std::vector<Proof>& proofs) {
  std::vector<std::string> fields;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find('\t', from), line.size());
    fields.emplace_back(line.substr(from, to - from));
    from = to + 1;
  }
  if (fields.size() < 5) throw std::runtime_error("a proving process wrote something else than a proof");
  Proof& p = proofs.at(std::stoul(fields[0]));
  p.verdict = static_cast<Verdict>(std::stoi(fields[1]));
  p.instances = std::stoi(fields[2]);
  p.seconds = std::stod(fields[3]);
  if (!fields[4].empty()) p.counterexample = Counterexample{fields[4]};
  p.axioms.assign(fields.begin() + 5, fields.end());
}

bool write_whole(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(to, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

struct Child {
  pid_t process = 0;
  int from = -1;  // pipe; -1 when it has ended
  std::string unread;
};

class Children {
 public:
  Children(const Axioms& axioms, const ProofLimits& limits, std::span<const Equation> equations, int count) {
    for (int i = 0; i < count; ++i) start(axioms, limits, equations, static_cast<std::size_t>(i), static_cast<std::size_t>(count));
  }
  ~Children() {
    for (Child& c : children_) {
      if (c.from >= 0) close(c.from);
      if (c.process > 0) waitpid(c.process, nullptr, 0);
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Waits for some lines; false when all children have ended.
  bool read_some(std::vector<Proof>& proofs, std::size_t& done) {
    std::vector<pollfd> waiting;
    for (const Child& c : children_)
      if (c.from >= 0) waiting.push_back({.fd = c.from, .events = POLLIN, .revents = 0});
    if (waiting.empty()) return false;
    if (poll(waiting.data(), waiting.size(), -1) < 0) return true;
    for (const pollfd& w : waiting)
      if (w.revents != 0) read_from(*std::ranges::find(children_, w.fd, &Child::from), proofs, done);
    return true;
  }

 private:
  void start(const Axioms& axioms, const ProofLimits& limits, std::span<const Equation> equations, std::size_t first, std::size_t step) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe to a proving process");
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("no more processes to prove in");
    if (process == 0) {
      close(ends[0]);
      int status = 0;
      try {
        Prover prover(axioms, limits);
        for (std::size_t i = first; i < equations.size() && status == 0; i += step)
          if (!write_whole(ends[1], line_of(i, prover.prove(equations[i])))) status = 1;
      } catch (const std::exception&) {
        status = 1;  // the parent sees that lines are missing
      }
      _exit(status);
    }
    close(ends[1]);
    children_.push_back({.process = process, .from = ends[0], .unread = {}});
  }

  static void read_from(Child& c, std::vector<Proof>& proofs, std::size_t& done) {
    std::array<char, 65536> buffer{};
    const ssize_t n = read(c.from, buffer.data(), buffer.size());
    if (n <= 0) {
      close(c.from);
      c.from = -1;
      return;
    }
    c.unread.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t from = 0;
    for (std::size_t to = 0; (to = c.unread.find('\n', from)) != std::string::npos; from = to + 1, ++done)
      read_line(std::string_view(c.unread).substr(from, to - from), proofs);
    c.unread.erase(0, from);
  }

  std::vector<Child> children_;
};

}  // namespace

std::vector<Proof> prove_all(const Axioms& axioms, const ProofLimits& limits, std::span<const Equation> equations, int processes,
                             const std::function<void(std::size_t)>& progress) {
  std::vector<Proof> proofs(equations.size());
  std::size_t done = 0;
  if (processes <= 1) {
    Prover prover(axioms, limits);
    for (; done < equations.size(); ++done) {
      proofs[done] = prover.prove(equations[done]);
      if (progress) progress(done + 1);
    }
    return proofs;
  }
  Children children(axioms, limits, equations, processes);
  while (children.read_some(proofs, done))
    if (progress) progress(done);
  if (done != equations.size())
    throw std::runtime_error(fmt::format("a proving process died: {} of {} proofs came", done, equations.size()));
  return proofs;
}

}  // namespace substitutions
