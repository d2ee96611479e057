#include "transforms/recognize/named_functions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "transforms/recognize/region_text.h"

namespace soapstone::transforms {
namespace {

/// How far values may be from each other: constants are rounded to fp32.
constexpr double kNearlyEqual = 2e-6;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// One operator. `attributes`: behind the operand; `kind`: in front of its name.
Named single(std::string_view op, bool is_scaled, std::function<double(double, double)> value,
             std::string attributes = "", std::string_view kind = "") {
  return {fmt::format("{}{}", kind, op), is_scaled, std::move(value), 1,
          [=](SideText& text, const std::string&, const std::string& ax) {
            return text.line(fmt::format("{}({}{})", op, ax, attributes));
          }};
}

const std::vector<Named>& functions() {
  static const std::vector<Named> kAll = {
      single("sigmoid", true, [](double, double ax) { return sigmoid(ax); }),
      single("tanh", true, [](double, double ax) { return std::tanh(ax); }),
      single("softplus", true, [](double, double ax) { return softplus(ax); }),
      single("relu", false, [](double x, double) { return std::max(x, 0.0); }),
      single("abs", false, [](double x, double) { return std::abs(x); }),
      single("gelu", false,
             [](double x, double) { return x * (1 + std::erf(x * std::numbers::sqrt2 / 2)) / 2; }),
      single(
          "gelu", false,
          [](double x, double) {
            const double inner = x + 0.044715 * x * x * x;
            return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * inner)) / 2;
          },
          "; approximate=\"tanh\"", "tanh_"),
      single("hard_swish", false,
             [](double x, double) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }),
      {"silu", true, [](double x, double ax) { return x * sigmoid(ax); }, 2,
       [](SideText& text, const std::string& x, const std::string& ax) {
         return text.line(fmt::format("mul({}, {})", x, text.line(fmt::format("sigmoid({})", ax))));
       }},
      {"mish", false, [](double x, double) { return x * std::tanh(softplus(x)); }, 3,
       [](SideText& text, const std::string& x, const std::string&) {
         const std::string t = text.line(fmt::format("softplus({})", x));
         return text.line(fmt::format("mul({}, {})", x, text.line(fmt::format("tanh({})", t))));
       }},
  };
  return kAll;
}

bool is_about(double a, double b) {
  return std::abs(a - b) <= kNearlyEqual * (1 + std::max(std::abs(a), std::abs(b)));
}

double rounded(double value) {
  const double near = std::round(value * 1e4) / 1e4;
  return is_about(near, value) ? near : value;
}

/// How the values depend on those of the function. None: in no such way.
std::optional<Line> line_through(const Values& function, const Values& values) {
  const auto [low, high] = std::ranges::minmax_element(function);
  const double rise = *high - *low;
  if (!(rise > 0)) return std::nullopt;
  const auto at = [&](auto place) {
    return values[static_cast<std::size_t>(place - function.begin())];
  };
  Line line;
  line.factor = rounded((at(high) - at(low)) / rise);
  line.offset = rounded(at(low) - line.factor * *low);
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!is_about(line.factor * function[k] + line.offset, values[k])) return std::nullopt;
  return line;
}

/// Between which numbers the values are 0, if they are on one slope beyond both. None: they are
/// not.
std::optional<std::pair<double, double>> limits_within(const Values& points, const Values& values) {
  const auto slope = [&](std::size_t a, std::size_t b) {
    return (values[b] - values[a]) / (points[b] - points[a]);
  };
  const double below = slope(0, 1), above = slope(4, 5);
  if (below == 0 || !is_about(below, above)) return std::nullopt;
  const double least = rounded(points[0] - values[0] / below),
               most = rounded(points[5] - values[5] / below);
  return least < most ? std::optional(std::pair(least, most)) : std::nullopt;
}

/// The functions of a few pieces, most of them lines, whose numbers are those of these values.
std::vector<Named> bent_lines(const Values& points, const Values& values) {
  const auto far = std::ranges::minmax_element(points);
  const auto at = [&](auto place) {
    return values[static_cast<std::size_t>(place - points.begin())];
  };
  const double low = rounded(at(far.min)), high = rounded(at(far.max));
  std::vector<Named> lines;
  const double slope = rounded(at(far.min) / *far.min);
  if (slope > 0 && slope < 1)
    lines.push_back(single(
        "leaky_relu", false, [=](double x, double) { return x > 0 ? x : slope * x; },
        fmt::format("; alpha={}", text_of(slope))));
  constexpr std::string_view kClip = "clip";
  const auto within_limits = [](double least, double most) {
    return fmt::format("; min={}, max={}", text_of(least), text_of(most));
  };
  if (const auto limits = limits_within(points, values)) {
    const auto [least, most] = *limits;
    lines.push_back({"soft_threshold", false,
                     [=](double x, double) { return x - std::clamp(x, least, most); }, 2,
                     [=](SideText& text, const std::string& x, const std::string&) {
                       const std::string t =
                           text.line(fmt::format("{}({}{})", kClip, x, within_limits(least, most)));
                       return text.line(fmt::format("sub({}, {})", x, t));
                     }});
  }
  if (!(low < high)) return lines;
  if (low < 0)
    lines.push_back(single(
        "elu", false, [=](double x, double) { return x > 0 ? x : -low * std::expm1(x); },
        fmt::format("; alpha={}", text_of(-low))));
  lines.push_back(single(
      kClip, false, [=](double x, double) { return std::clamp(x, low, high); },
      within_limits(low, high)));
  if (low != 0 || high != 1) return lines;
  // From two places within.
  std::vector<std::size_t> within;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k] > kNearlyEqual && values[k] < 1 - kNearlyEqual) within.push_back(k);
  if (within.size() < 2) return lines;
  const std::size_t first = within.front(), last = within.back();
  const double alpha = rounded((values[last] - values[first]) / (points[last] - points[first]));
  const double beta = rounded(values[first] - alpha * points[first]);
  lines.push_back(single(
      "hard_sigmoid", false,
      [=](double x, double) { return std::clamp(alpha * x + beta, 0.0, 1.0); },
      fmt::format("; alpha={}, beta={}", text_of(alpha), text_of(beta))));
  return lines;
}

}  // namespace

Values sample_points() {
  Values points{-40, -17.3, -9.1, 9.7, 18.2, 41};
  for (int k = -16; k <= 16; ++k) points.push_back(0.3721 * k + 0.0113);
  return points;
}

std::optional<NamedValue> function_of(const Values& values, const std::set<double>& numbers,
                                      std::size_t operators) {
  std::set<double> factors{-1, 1};
  for (const double number : numbers) {
    if (number == 0) continue;
    for (const double factor : {number, 1 / number, 2 * number}) {
      factors.insert(rounded(factor));
      factors.insert(-rounded(factor));
    }
  }
  static const Values kPoints = sample_points();
  std::optional<NamedValue> best;
  std::size_t fewest = operators;
  std::vector<Named> all = functions();
  std::ranges::move(bent_lines(kPoints, values), std::back_inserter(all));
  for (const Named& function : all) {
    for (const double inner : function.is_scaled ? factors : std::set<double>{1}) {
      Values of_function;
      for (const double x : kPoints) of_function.push_back(function.value(x, inner * x));
      const auto line = line_through(of_function, values);
      if (!line) continue;
      const std::size_t its = function.operators + line->operators() + (inner != 1 ? 1U : 0U);
      if (its >= fewest) continue;
      fewest = its;
      best = {function, inner, *line};
    }
  }
  return best;
}

}  // namespace soapstone::transforms
