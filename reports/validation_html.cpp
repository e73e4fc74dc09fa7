// The assessment as one HTML page.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "reports/validation_reports.hpp"

namespace reports {
namespace {

// Colours that colour-blind readers tell apart (Okabe and Ito, "Color universal design", 2008), those that show on white and on black.
constexpr std::array kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A"};
constexpr std::array kShapes = {"circle", "square", "triangle", "diamond"};  // the second round of colours has another shape

constexpr double kSide = 640, kLeft = 78, kBottom = 52, kTop = 12, kRight = 12;  // of the plot, in its own units

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#666;--line:#ddd;--band:#0000000f}
@media(prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e8e8e8;--soft:#a0a0a0;--line:#33373d;--band:#ffffff14}}
body{background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1180px;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}p{max-width:46rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,td.text{text-align:left}th{font-weight:600}td.text{white-space:normal}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:1rem}
svg{max-width:100%;height:auto;display:block}svg text{fill:var(--ink);font-size:13px}svg .soft{fill:var(--soft)}
.axis{stroke:var(--ink);fill:none}.grid{stroke:var(--line)}.band{fill:var(--band)}.diagonal{stroke:var(--soft)}
.whisker{stroke-width:1.2;opacity:.45;fill:none}.mark{fill-opacity:.75;stroke:var(--paper);stroke-width:.6}
ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}ul.key svg{display:inline-block;vertical-align:-2px}
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string colour_of(std::size_t group) { return kColours[group % kColours.size()]; }

// A mark about (x, y); `inner` is its tooltip.
std::string mark(std::size_t group, double x, double y, double r, const std::string& inner) {
  const std::string_view shape = kShapes[group / kColours.size() % kShapes.size()];
  const std::string style = fmt::format("class=\"mark\" fill=\"{}\"", colour_of(group));
  if (shape == "circle") return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\">{}</circle>", style, x, y, r, inner);
  if (shape == "square")
    return fmt::format("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">{}</rect>", style, x - r, y - r, 2 * r, 2 * r,
                       inner);
  const std::string path =
      shape == "triangle"
          ? fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z", x, y - r, x + r, y + r, x - r, y + r)
          : fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z", x, y - r, x + r, y, x, y + r, x - r, y);
  return fmt::format("<path {} d=\"{}\">{}</path>", style, path, inner);
}

// What stands on the vertical axis, over measured times.
enum class Shown { time, ratio };

// Square plot, both axes logarithmic.
class Plot {
 public:
  Plot(const validation::Assessment& a, validation::Subject subject, Shown shown) : a_(a), subject_(subject), shown_(shown) {
    Range measured, all, ratios{0.8, 1.25};
    for (const validation::Item& i : a.items) {
      if (i.subject != subject || !i.failure.empty()) continue;
      measured.take(i.measured.value());
      all.take(i.measured.value());
      all.take(i.predicted.value());
      ratios.take(i.predicted / i.measured);
    }
    x_ = shown == Shown::time ? all.padded() : measured.padded();
    y_ = shown == Shown::time ? all.padded() : ratios.padded();
  }

  std::string svg() const {
    const std::string name = fmt::format("{}-{}", validation::to_text(subject_), shown_ == Shown::time ? "time" : "ratio");
    const double width = kSide - kLeft - kRight, height = kSide - kTop - kBottom;
    std::string s = fmt::format(
        "<svg viewBox=\"0 0 {0:.0f} {0:.0f}\" width=\"{0:.0f}\" role=\"img\" aria-label=\"{1} over measured time\">\n"
        "<clipPath id=\"{2}\"><rect x=\"{3}\" y=\"{4}\" width=\"{5}\" height=\"{6}\"/></clipPath>\n",
        kSide, title(), name, kLeft, kTop, width, height);
    s += grid() + fmt::format("<g clip-path=\"url(#{})\">\n", name) + reference_lines() + points() + "</g>\n";
    s += fmt::format("<rect class=\"axis\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft, kTop, width, height);
    s += fmt::format("<text class=\"soft\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">measured</text>\n", (kLeft + kSide) / 2,
                     kSide - 10);
    s += fmt::format("<text class=\"soft\" transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                     kSide / 2, title());
    return s;
  }

 private:
  struct Range {
    double low = 1e300, high = 0;
    void take(double v) { low = std::min(low, v), high = std::max(high, v); }
    [[nodiscard]] Range padded() const { return high <= 0 ? Range{0.1, 1} : Range{low / 1.15, high * 1.15}; }
    [[nodiscard]] double share(double v) const { return std::log(v / low) / std::log(high / low); }
    [[nodiscard]] bool has(double v) const { return low <= v && v <= high; }
  };

  double x(double v) const { return kLeft + x_.share(v) * (kSide - kLeft - kRight); }
  double y(double v) const { return kSide - kBottom - y_.share(v) * (kSide - kTop - kBottom); }
  // Where a predicted time stands for a measured one.
  double y(double predicted, double measured) const { return y(shown_ == Shown::time ? predicted : predicted / measured); }
  const char* title() const { return shown_ == Shown::time ? "predicted" : "predicted / measured"; }

  // 1, 2 and 5 of every decade, of few decades; else 1.
  static std::vector<double> ticks(const Range& r) {
    std::vector<double> found;
    for (int e = static_cast<int>(std::floor(std::log10(r.low))); e <= std::ceil(std::log10(r.high)); ++e)
      for (const double digit : {1.0, 2.0, 5.0})
        if (const double v = digit * std::pow(10, e); r.has(v) && (digit == 1 || r.high / r.low < 300)) found.push_back(v);
    return found;
  }

  std::string grid() const {
    std::string s;
    for (const double v : ticks(x_)) {
      s += fmt::format("<path class=\"grid\" d=\"M{:.1f} {}V{:.1f}\"/>", x(v), kTop, kSide - kBottom);
      s += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(v), kSide - kBottom + 18,
                       base::to_text(base::Seconds(v)));
    }
    for (const double v : ticks(y_)) {
      s += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{:.1f}\"/>", kLeft, y(v), kSide - kRight);
      s += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6, y(v) + 4,
                       shown_ == Shown::time ? base::to_text(base::Seconds(v)) : fmt::format("{:g}", v));
    }
    return s;
  }

  std::string reference_lines() const {
    const double a = x_.low, b = x_.high;
    return fmt::format("<path class=\"band\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\"/>\n", x(a), y(1.1 * a, a),
                       x(b), y(1.1 * b, b), x(b), y(0.9 * b, b), x(a), y(0.9 * a, a)) +
           fmt::format("<path class=\"diagonal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", x(a), y(a, a), x(b), y(b, b));
  }

  std::string points() const {
    std::string whiskers, marks;
    std::size_t number = 0;
    for (const validation::GroupAssessment& g : a_.groups) {
      if (g.subject != subject_) continue;
      whiskers += fmt::format("<g class=\"whisker\" stroke=\"{}\">", colour_of(number));
      for (const validation::Item& i : a_.items) {
        if (i.subject != subject_ || i.group != g.name || !i.failure.empty()) continue;
        const double measured = i.measured.value(), at = x(measured);
        if (i.interval)
          whiskers += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\"/>", at, y(i.interval->first.value(), measured),
                                  y(i.interval->second.value(), measured));
        marks += mark(number, at, y(i.predicted.value(), measured), 3.6, tooltip(i)) + "\n";
      }
      whiskers += "</g>\n";
      ++number;
    }
    return whiskers + marks;
  }

  static std::string tooltip(const validation::Item& i) {
    return fmt::format("<title>{} ({}): measured {}, predicted {} ({:+.1f} %)</title>", escaped(i.id), escaped(i.group),
                       base::to_text(i.measured), base::to_text(i.predicted), 100 * (i.predicted / i.measured - 1));
  }

  const validation::Assessment& a_;
  validation::Subject subject_;
  Shown shown_;
  Range x_, y_;
};

std::string key(const validation::Assessment& a, validation::Subject subject) {
  std::string s = "<ul class=\"key\">\n";
  std::size_t number = 0;
  for (const validation::GroupAssessment& g : a.groups)
    if (g.subject == subject)
      s += fmt::format("<li><svg width=\"14\" height=\"14\" viewBox=\"0 0 14 14\">{}</svg> {}</li>\n", mark(number++, 7, 7, 5, ""),
                       escaped(g.name));
  return s + "</ul>\n";
}

// Our own Markdown tables as HTML: cells between bars, the second line dropped.
std::string html_tables(const std::string& markdown) {
  std::string out;
  bool open = false;
  std::size_t row = 0;
  for (std::size_t at = 0; at < markdown.size();) {
    const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
    std::string line = markdown.substr(at, end - at);
    at = end + 1;
    const bool cells = line.starts_with('|');
    if (cells && !open) out += "<div class=\"wide\"><table>\n", row = 0;
    if (!cells && open) out += "</table></div>\n";
    open = cells;
    if (!cells) {
      if (line.starts_with("### ")) out += fmt::format("<h2>{}</h2>\n", escaped(line.substr(4)));
      else if (!line.empty()) out += fmt::format("<p>{}</p>\n", escaped(line));
      continue;
    }
    if (++row == 2) continue;
    const char* tag = row == 1 ? "th" : "td";
    out += "<tr>";
    for (std::size_t from = 1; from < line.size();) {
      const std::size_t bar = line.find('|', from);
      if (bar == std::string::npos) break;
      out += fmt::format("<{0}>{1}</{0}>", tag, escaped(line.substr(from + 1, bar - from - 2)));
      from = bar + 1;
    }
    out += "</tr>\n";
  }
  return open ? out + "</table></div>\n" : out;
}

std::string worst_cases(const validation::Assessment& a) {
  std::string s =
      "<h2>Worst cases</h2>\n<div "
      "class=\"wide\"><table>\n<tr><th>group</th><th>point</th><th>measured</th><th>predicted</th><th>error</th></tr>\n";
  for (const validation::GroupAssessment& g : a.groups)
    for (const std::size_t index : g.worst) {
      const validation::Item& i = a.items[index];
      s += fmt::format("<tr><td>{}</td><td class=\"text\">{} ({})</td><td>{}</td>", escaped(i.group), escaped(i.id), escaped(i.where),
                       base::to_text(i.measured));
      if (i.failure.empty())
        s += fmt::format("<td>{}</td><td>{:+.1f} %</td></tr>\n", base::to_text(i.predicted), 100 * (i.predicted / i.measured - 1));
      else s += fmt::format("<td class=\"text\" colspan=\"2\">{}</td></tr>\n", escaped(i.failure));
    }
  return s + "</table></div>\n";
}

}  // namespace

std::string html_report(const validation::Assessment& a) {
  std::string s =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>Predicted against measured</title><style>" +
      std::string(kStyle) + "</style></head><body>\n<h1>Predicted against measured</h1>\n";
  s += "<p>On the line a forecast is right; the band is &plusmn;10 %; whiskers are the intervals that the forecasts carry. Point at a mark "
       "for its name.</p>\n";
  for (const validation::Subject subject : {validation::Subject::iteration, validation::Subject::kernel, validation::Subject::collective}) {
    if (std::ranges::none_of(a.groups, [&](const validation::GroupAssessment& g) { return g.subject == subject; })) continue;
    s += fmt::format("<h2>{}s</h2>\n", validation::to_text(subject)) + key(a, subject);
    s += "<div class=\"pair\">" + Plot(a, subject, Shown::time).svg() + Plot(a, subject, Shown::ratio).svg() + "</div>\n";
  }
  s += html_tables(markdown_tables(a)) + worst_cases(a);
  for (const std::string& n : a.notes) s += fmt::format("<p>{}</p>\n", escaped(n));
  return s + "</body></html>\n";
}

}  // namespace reports
