#include "reports/validation/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/template.hpp"
#include "reports/validation/tables.hpp"

namespace reports {
namespace {

using Data = TemplateData;
using validation::Item;

// Colours that colour-blind readers tell apart (Okabe and Ito, "Color universal design", 2008), those that show on white and on black.
constexpr std::array kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A"};

// In the plot's own units: its side, and margins wide enough for the labels of its axes.
constexpr double kSide = 640, kLeft = 78, kBottom = 52, kTop = 12, kRight = 12;
// Marks small enough that a few hundred stay apart, larger ones in the key.
constexpr double kMarkRadius = 3.6, kKeyRadius = 5, kKeySide = 14;

std::string colour_of(std::size_t group) { return kColours[group % kColours.size()]; }
std::string number(double v) { return fmt::format("{:.1f}", v); }

// A mark about (x, y): groups beyond the first round of colours have another shape.
std::string mark_path(std::size_t group, double x, double y, double r) {
  switch (group / kColours.size() % 4) {
    case 0: return fmt::format("M{0:.1f} {1:.1f}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0Z", x - r, y, r, 2 * r);
    case 1: return fmt::format("M{:.1f} {:.1f}h{}v{}h-{}Z", x - r, y - r, 2 * r, 2 * r, 2 * r);
    case 2: return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}Z", x, y - r, x + r, y + r, x - r);
    default: return fmt::format("M{:.1f} {:.1f}l{} {}l-{} {}l-{} -{}Z", x, y - r, r, r, r, r, r, r);
  }
}

// The values of an axis.
struct Range {
  double low = 1e300, high = 0;

  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  // 15 % beyond the outermost points, so that no mark lies on the frame. Without points any range will do.
  [[nodiscard]] Range padded() const { return high <= 0 ? Range{0.1, 1} : Range{low / 1.15, high * 1.15}; }
  [[nodiscard]] double share(double v) const { return std::log(v / low) / std::log(high / low); }
  [[nodiscard]] bool has(double v) const { return low <= v && v <= high; }
  // 1, 2 and 5 of every decade where there are few decades, else 1.
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> found;
    for (int e = static_cast<int>(std::floor(std::log10(low))); e <= std::ceil(std::log10(high)); ++e)
      for (const double digit : {1.0, 2.0, 5.0})
        if (const double v = digit * std::pow(10, e); has(v) && (digit == 1 || high / low < 300)) found.push_back(v);
    return found;
  }
};

class Plot {
 public:
  Plot(const validation::Assessment& a, validation::Subject subject, Shown shown) : a_(a), subject_(subject), shown_(shown) {
    // Both axes of times are one range, so that the diagonal is the diagonal. Ratios show a band of at least this width: with small
    // errors the plot would magnify noise.
    Range measured, all, ratios{0.8, 1.25};
    for (const Item& i : a.items) {
      if (i.subject != subject || !i.failure.empty()) continue;
      measured.take(i.measured.value());
      all.take(i.measured.value());
      all.take(i.predicted.value());
      ratios.take(i.predicted / i.measured);
    }
    x_ = shown == Shown::time ? all.padded() : measured.padded();
    y_ = shown == Shown::time ? all.padded() : ratios.padded();
  }

  [[nodiscard]] std::string svg() const {
    Data d = frame();
    d.set("title", shown_ == Shown::time ? "predicted" : "predicted / measured");
    d.set("name", fmt::format("{}-{}", validation::to_text(subject_), shown_ == Shown::time ? "time" : "ratio"));
    d.set("x_ticks", x_ticks());
    d.set("y_ticks", y_ticks());
    const double a = x_.low, b = x_.high;
    d.set("band", fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z", x(a), y(1.1 * a, a), x(b), y(1.1 * b, b), x(b),
                              y(0.9 * b, b), x(a), y(0.9 * a, a)));
    d.set("diagonal", fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x(a), y(a, a), x(b), y(b, b)));
    add_points(d);
    return filled("plot", d);
  }

 private:
  [[nodiscard]] double x(double v) const { return kLeft + x_.share(v) * (kSide - kLeft - kRight); }
  [[nodiscard]] double y(double v) const { return kSide - kBottom - y_.share(v) * (kSide - kTop - kBottom); }
  // The height of a predicted time over a measured one.
  [[nodiscard]] double y(double predicted, double measured) const { return y(shown_ == Shown::time ? predicted : predicted / measured); }

  static Data frame() {
    Data d;
    const std::pair<const char*, double> numbers[] = {{"side", kSide},
                                                      {"left", kLeft},
                                                      {"top", kTop},
                                                      {"right", kSide - kRight},
                                                      {"bottom", kSide - kBottom},
                                                      {"width", kSide - kLeft - kRight},
                                                      {"height", kSide - kTop - kBottom},
                                                      {"middle", kSide / 2},
                                                      {"foot", kSide - 10}};
    for (const auto& [name, value] : numbers) d.set(name, fmt::format("{:.0f}", value));
    return d;
  }

  [[nodiscard]] Data x_ticks() const {
    Data ticks{Data::type::list};
    for (const double v : x_.ticks()) {
      Data tick;
      tick.set("at", number(x(v)));
      tick.set("label_y", number(kSide - kBottom + 18));
      tick.set("label", base::to_text(base::Seconds(v)));
      ticks.push_back(tick);
    }
    return ticks;
  }

  [[nodiscard]] Data y_ticks() const {
    Data ticks{Data::type::list};
    for (const double v : y_.ticks()) {
      Data tick;
      tick.set("at", number(y(v)));
      tick.set("label_x", number(kLeft - 6));
      tick.set("label_y", number(y(v) + 4));
      tick.set("label", shown_ == Shown::time ? base::to_text(base::Seconds(v)) : fmt::format("{:g}", v));
      ticks.push_back(tick);
    }
    return ticks;
  }

  void add_points(Data& d) const {
    // Groups are numbered as in the tables, which decides their colours; whiskers come before marks, which they would hide.
    Data whiskers{Data::type::list}, marks{Data::type::list};
    std::size_t number = 0;
    for (const validation::GroupAssessment& g : a_.groups) {
      if (g.subject != subject_) continue;
      for (const Item& i : a_.items) {
        if (i.subject != subject_ || i.group != g.name || !i.failure.empty()) continue;
        if (i.interval) whiskers.push_back(whisker(number, i));
        marks.push_back(mark(number, i));
      }
      ++number;
    }
    d.set("whiskers", whiskers);
    d.set("marks", marks);
  }

  [[nodiscard]] Data whisker(std::size_t group, const Item& i) const {
    const double measured = i.measured.value();
    Data d;
    d.set("colour", colour_of(group));
    d.set("path", fmt::format("M{:.1f} {:.1f}V{:.1f}", x(measured), y(i.interval->first.value(), measured),
                              y(i.interval->second.value(), measured)));
    return d;
  }

  [[nodiscard]] Data mark(std::size_t group, const Item& i) const {
    const double measured = i.measured.value();
    Data d;
    d.set("colour", colour_of(group));
    d.set("path", mark_path(group, x(measured), y(i.predicted.value(), measured), kMarkRadius));
    d.set("title", fmt::format("{} ({}): measured {}, predicted {} ({})", i.id, i.group, base::to_text(i.measured),
                               base::to_text(i.predicted), error_of(i)));
    return d;
  }

  const validation::Assessment& a_;
  validation::Subject subject_;
  Shown shown_;
  Range x_, y_;
};

}  // namespace

std::string plot_svg(const validation::Assessment& a, validation::Subject subject, Shown shown) { return Plot(a, subject, shown).svg(); }

std::string key_svg(std::size_t group) {
  return fmt::format("<svg width=\"{0}\" height=\"{0}\" viewBox=\"0 0 {0} {0}\"><path class=\"mark\" fill=\"{1}\" d=\"{2}\"/></svg>",
                     kKeySide, colour_of(group), mark_path(group, kKeySide / 2, kKeySide / 2, kKeyRadius));
}

}  // namespace reports
