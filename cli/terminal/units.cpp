// See units.h.
#include "cli/terminal/units.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace soapstone::cli {
namespace {

/// Three significant digits, never in exponent form: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.{}f}", value, size < 99.95 ? 1 : 0);
}

template <std::size_t n>
std::string scaled(double value, const std::array<const char*, n>& units) {
  std::size_t i = 0;
  while (std::fabs(value) >= 999.5 && i + 1 < n) {
    value /= 1000;
    ++i;
  }
  const bool whole = i == 0 && value == std::round(value);
  const std::string number = whole ? fmt::format("{:.0f}", value) : three_digits(value);
  return units[i][0] ? fmt::format("{} {}", number, units[i]) : number;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

std::string time_text(double us) { return scaled(us, std::array<const char*, 3>{"us", "ms", "s"}); }

std::string bytes_text(double bytes) {
  return scaled(bytes, std::array<const char*, 5>{"B", "kB", "MB", "GB", "TB"});
}

std::string count_text(double count) {
  return scaled(count, std::array<const char*, 5>{"", "k", "M", "G", "T"});
}

std::string flops_text(double flops) {
  return scaled(flops, std::array<const char*, 5>{"flop", "kflop", "Mflop", "Gflop", "Tflop"});
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace soapstone::cli
