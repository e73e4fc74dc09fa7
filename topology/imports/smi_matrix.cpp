#include "topology/imports/smi_matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "topology/imports/node_sketch.hpp"

namespace topology::imports {
namespace {

constexpr std::array<std::pair<std::string_view, Distance>, 7> kDistances = {{{"X", Distance::self},
                                                                              {"PIX", Distance::pix},
                                                                              {"PXB", Distance::pxb},
                                                                              {"PHB", Distance::phb},
                                                                              {"NODE", Distance::node},
                                                                              {"SYS", Distance::sys},
                                                                              {"SOC", Distance::sys}}};  // SOC: drivers before 2017

using Row = SmiRow;

// The driver underlines the header: ESC [ 4 m ... ESC [ 0 m.
std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1B') {
      out += line[i];
      continue;
    }
    while (i < line.size() && !((line[i] >= 'a' && line[i] <= 'z') || (line[i] >= 'A' && line[i] <= 'Z'))) ++i;
  }
  return out;
}

// "NV12" and the words of kDistances; nullopt for any other.
std::optional<SmiCell> cell_of(std::string_view word) {
  const auto known = std::ranges::find(kDistances, word, &std::pair<std::string_view, Distance>::first);
  if (known != kDistances.end()) return SmiCell{known->second, 0};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto links = parse_count(word.substr(2));
  if (!links || *links < 1 || *links > 1000) return std::nullopt;
  return SmiCell{Distance::unknown, *links};
}

// The relations, or the names of devices, that one word holds where a narrow terminal glued columns ("NODENODE", "NIC12NIC13"); empty: it
// is none of that.
std::vector<std::string> taken_apart(std::string_view word) {
  std::vector<std::string> parts;
  while (!word.empty()) {
    std::size_t length = 0;
    for (const auto& [text, distance] : kDistances)
      if (word.starts_with(text)) length = text.size();
    for (const std::string_view numbered : {"NV", "GPU", "NIC", "mlx5_"})
      if (length == 0 && word.starts_with(numbered)) length = std::min(word.find_first_not_of("0123456789", numbered.size()), word.size());
    if (length == 0) return {};
    parts.emplace_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  return parts;
}

// A header names at least one GPU first; a row has a cell there.
bool is_header(const Row& row) {
  return is_smi_gpu(row.words[0]) &&
         (row.words.size() == 1 || (!cell_of(row.words[1]) && (is_smi_gpu(row.words[1]) || row.words[1] == "CPU" ||
                                                               row.words[1].find_first_of("0123456789") != std::string::npos)));
}

class MatrixReader {
 public:
  explicit MatrixReader(const SourceText& source) : source_(source), rows_(smi_rows(source.text())) {}

  std::optional<SmiMatrix> read() {
    take_apart();
    const auto header = std::ranges::find_if(rows_, is_header);
    const auto first_row =
        std::ranges::find_if(rows_, [](const Row& r) { return is_smi_gpu(r.words[0]) && r.words.size() > 1 && cell_of(r.words[1]); });
    if (header == rows_.end() && first_row == rows_.end()) return std::nullopt;
    if (header == rows_.end() || first_row < header)
      refuse(source_.at(first_row->line), "rows of a topology matrix, but its header is missing",
             "copy the whole output of nvidia-smi topo -m");
    const auto second = std::find_if(header + 1, rows_.end(), is_header);
    if (second != rows_.end()) read_peer_access(second);
    read_header(*header);
    for (auto row = header + 1; row != rows_.end() && !in_legend_; ++row) read_row(*row);
    for (const auto& row : rows_) read_legend(row);
    for (const auto& d : matrix_.devices) {
      if (d.line == 0) complain(header->line, fmt::format("{} has a column but no row: the matrix is cut off", d.name));
    }
    sink_.throw_if_any();
    check_symmetry();
    sink_.throw_if_any();
    return std::move(matrix_);
  }

 private:
  void complain(int line, std::string message) { sink_.add(source_.at(line), "", std::move(message)); }

  void take_apart() {
    int glued = 0;
    for (auto& row : rows_) {
      std::vector<std::string> words;
      for (auto& word : row.words) {
        auto parts = taken_apart(word);
        glued += parts.size() > 1 ? 1 : 0;
        if (parts.size() < 2) parts = {word};
        words.insert(words.end(), parts.begin(), parts.end());
      }
      row.words = std::move(words);
    }
    if (glued > 0)
      matrix_.notes.push_back(fmt::format("{} words of the matrix were several columns glued together; they are taken apart.", glued));
  }

  // What `nvidia-smi topo -p2p rw` prints behind the matrix: whether GPUs reach each other's memory ("OK").
  void read_peer_access(std::vector<Row>::iterator header) {
    const auto has = [](auto&& is) { return [is](const Row& r) { return is_smi_gpu(r.words[0]) && std::ranges::any_of(r.words, is); }; };
    if (std::any_of(header, rows_.end(), has([](const auto& word) { return word != "X" && cell_of(word); })))
      refuse(source_.at(header->line), "a second matrix begins here", "one node per file");
    matrix_.peer_access = std::any_of(header, rows_.end(), has([](const auto& word) { return word == "OK"; }));
    rows_.erase(header, rows_.end());
  }

  void read_header(const Row& header) {
    for (std::size_t i = 0; i < header.words.size(); ++i) {
      const auto& word = header.words[i];
      if (word == "CPU" || word == "NUMA" || word == "GPU") {  // CPU Affinity, NUMA Affinity, GPU NUMA ID
        has_own_numa_ = header.words.size() > 2 && header.words[header.words.size() - 3] == "GPU" && header.words.back() == "ID";
        has_numa_ = std::find(header.words.begin() + static_cast<std::ptrdiff_t>(i), header.words.end(), "NUMA") != header.words.end();
        break;
      }
      if (std::ranges::find(matrix_.devices, word, &SmiDevice::name) != matrix_.devices.end())
        complain(header.line, fmt::format("{} is a column twice", word));
      matrix_.devices.push_back({.name = word, .legend = "", .gpu = is_smi_gpu(word), .numa = std::nullopt});
      if (matrix_.devices.size() > kMaxDevices)
        refuse(source_.at(header.line), fmt::format("more than {} devices in one node", kMaxDevices));
    }
    sink_.throw_if_any();
    matrix_.cells.resize(matrix_.devices.size() * matrix_.devices.size());
  }

  void read_row(const Row& row) {
    if (row.words[0].starts_with("Legend")) {
      in_legend_ = true;
      return;
    }
    const auto n = matrix_.devices.size();
    const auto device = std::ranges::find(matrix_.devices, row.words[0], &SmiDevice::name);
    if (device == matrix_.devices.end()) return complain(row.line, fmt::format("\"{}\" is no column of the matrix", row.words[0]));
    if (device->line != 0) return complain(row.line, fmt::format("{} has two rows", device->name));
    device->line = row.line;
    if (row.words.size() < n + 1) return complain(row.line, fmt::format("{} of {} cells: the row is cut off", row.words.size() - 1, n));
    const auto self = static_cast<std::size_t>(device - matrix_.devices.begin());
    for (std::size_t i = 0; i < n; ++i) read_cell(row, self, i);
    sink_.throw_if_any();  // what is wrong in one row is so in all
    // CPU affinity, then NUMA affinity; "0-1" is of several NUMA nodes and says no more than "N/A". Where the GPU's own memory is one, the
    // CPU's is the first, and the memories of GPUs follow.
    device->coherent = device->gpu && has_own_numa_ && row.words.size() > n + 3 && parse_count(row.words.back()).has_value();
    if (device->gpu && has_numa_ && row.words.size() > n + 2)
      device->numa = parse_count(device->coherent ? row.words[n + 2].substr(0, row.words[n + 2].find_first_of(",-")) : row.words[n + 2]);
  }

  void read_cell(const Row& row, std::size_t self, std::size_t column) {
    const auto& word = row.words[column + 1];
    const auto cell = cell_of(word);
    if (!cell && !sink_.empty()) return;
    if (!cell) return complain(row.line, fmt::format("\"{}\" is no relation: X, NV#, PIX, PXB, PHB, NODE, SYS", word));
    if ((cell->distance == Distance::self) != (self == column))
      return complain(row.line, fmt::format("{} with {}: {}", row.words[0], matrix_.devices[column].name,
                                            self == column ? "a device and itself, X is wanted" : "X, but they are two devices"));
    if (cell->nvlinks > 0 && !(matrix_.devices[self].gpu && matrix_.devices[column].gpu))
      return complain(row.line, fmt::format("{} with {}: NVLink joins GPUs only", row.words[0], matrix_.devices[column].name));
    matrix_.cells[self * matrix_.devices.size() + column] = *cell;
  }

  // "NIC0: mlx5_0"
  void read_legend(const Row& row) {
    if (row.words.size() != 2 || !row.words[0].ends_with(':') || !row.words[0].starts_with("NIC")) return;
    const auto device = std::ranges::find(matrix_.devices, row.words[0].substr(0, row.words[0].size() - 1), &SmiDevice::name);
    if (device == matrix_.devices.end()) return complain(row.line, fmt::format("the legend's {} is no column", row.words[0]));
    if (!device->legend.empty()) return complain(row.line, fmt::format("{} is in the legend twice", device->name));
    device->legend = row.words[1];
  }

  void check_symmetry() {
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.devices.size(); ++b) {
        const auto &there = matrix_.at(a, b), &back = matrix_.at(b, a);
        if (there.distance == back.distance && there.nvlinks == back.nvlinks) continue;
        const auto text = [](const SmiCell& c) {
          return c.nvlinks > 0 ? fmt::format("NV{}", c.nvlinks) : std::string(to_text(c.distance));
        };
        complain(matrix_.devices[b].line, fmt::format("{} with {} is {}, but {} the other way round", matrix_.devices[b].name,
                                                      matrix_.devices[a].name, text(back), text(there)));
      }
    }
  }

  const SourceText& source_;
  std::vector<Row> rows_;
  base::Diagnostics sink_;
  SmiMatrix matrix_;
  bool has_numa_ = false, has_own_numa_ = false;
  bool in_legend_ = false;
};

}  // namespace

std::string_view to_text(Distance d) {
  for (const auto& [text, distance] : kDistances)
    if (distance == d) return text;
  return "NV#";
}

std::vector<SmiRow> smi_rows(std::string_view text) {
  std::vector<SmiRow> rows;
  for (int line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    SmiRow row{line, {}};
    std::string word;
    for (const char c : without_escapes(text.substr(0, end)) + " ") {
      if (c != ' ' && c != '\t' && c != '\r') word += c;
      else if (!word.empty()) row.words.push_back(std::exchange(word, {}));
    }
    if (!row.words.empty()) rows.push_back(std::move(row));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

bool is_smi_gpu(std::string_view word) { return word.starts_with("GPU") && word.size() > 3 && parse_count(word.substr(3)).has_value(); }

std::optional<SmiMatrix> read_smi_matrix(const SourceText& source) { return MatrixReader(source).read(); }

}  // namespace topology::imports
