// See index_space.h.
#include "runtime/generated/index_space.h"

#include <algorithm>

#include <fmt/format.h>

namespace soapstone::runtime::generated {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

std::uint32_t IndexSpace::add(std::string name, std::int64_t low, std::int64_t high) {
  variables_.push_back({low, high, std::move(name), std::nullopt});
  return static_cast<std::uint32_t>(variables_.size() - 1);
}

void IndexSpace::rename(std::uint32_t variable, std::string name) {
  variables_[variable].name = std::move(name);
}

std::optional<std::uint32_t> IndexSpace::narrowed(std::uint32_t variable, std::int64_t low,
                                                  std::int64_t high) {
  const IndexVariable whole = variables_[variable];
  low = std::max(low, whole.low);
  high = std::min(high, whole.high);
  if (low >= high || (low == whole.low && high == whole.high)) return std::nullopt;
  has_narrowed_ = true;
  variables_.push_back({low, high, "", Digit{value_of(variable), 1, 0}});
  return static_cast<std::uint32_t>(variables_.size() - 1);
}

Affine IndexSpace::plain(const Affine& a) {
  if (!has_narrowed_) return joined(a);
  Affine result{a.constant, {}};
  for (const auto& [id, c] : a.coefficients) {
    const std::optional<Digit> digit = variables_[id].digit;
    if (!digit)
      result.add(value_of(id), c);
    else if (digit->divisor == 1 && digit->modulus == 0)
      result.add(plain(digit->of), c);
    else
      result.add(IndexSpace::digit(plain(digit->of), digit->divisor, digit->modulus), c);
  }
  return joined(result);
}

std::pair<std::int64_t, std::int64_t> IndexSpace::bounds(const Affine& a) const {
  std::pair<std::int64_t, std::int64_t> b{a.constant, a.constant};
  for (const auto& [id, c] : a.coefficients) {
    const IndexVariable& v = variables_[id];
    b.first += c * (c > 0 ? v.low : v.high - 1);
    b.second += c * (c > 0 ? v.high - 1 : v.low);
  }
  return b;
}

std::int64_t IndexSpace::value_at(const Affine& a,
                                  const std::map<std::uint32_t, std::int64_t>& at) const {
  std::int64_t value = a.constant;
  for (const auto& [id, c] : a.coefficients) {
    const IndexVariable& v = variables_[id];
    if (!v.digit) {
      const auto found = at.find(id);
      value += c * (found == at.end() ? v.low : found->second);
      continue;
    }
    const std::int64_t quotient = floor_divide(value_at(v.digit->of, at), v.digit->divisor);
    value += c * (v.digit->modulus == 0 ? quotient : quotient % v.digit->modulus);
  }
  return value;
}

void IndexSpace::add_variables_of(const Affine& a, std::set<std::uint32_t>& variables) const {
  for (const auto& [id, c] : a.coefficients) {
    if (variables_[id].digit)
      add_variables_of(variables_[id].digit->of, variables);
    else
      variables.insert(id);
  }
}

const Digit* IndexSpace::as_digit(const Affine& a) const {
  if (a.constant != 0 || a.coefficients.size() != 1) return nullptr;
  const auto& [id, c] = *a.coefficients.begin();
  return c == 1 && variables_[id].digit ? &*variables_[id].digit : nullptr;
}

/// a = quotient · divisor + rest, term by term; the least value of the rest is below the divisor.
IndexSpace::Split IndexSpace::split(const Affine& a, std::int64_t divisor) const {
  Split s;
  s.rest.constant = a.constant;
  for (const auto& [id, c] : a.coefficients) {
    if (c % divisor == 0)
      s.quotient.coefficients[id] = c / divisor;
    else
      s.rest.coefficients[id] = c;
  }
  const std::int64_t carry = floor_divide(bounds(s.rest).first, divisor);
  s.quotient.constant += carry;
  s.rest.constant -= carry * divisor;
  return s;
}

/// c·x + rest, where rest lies between 0 and c, has the digit of x at what c divides exactly.
std::optional<Affine> IndexSpace::digit_of_multiple(const Affine& of, std::int64_t divisor,
                                                    std::int64_t modulus) {
  for (const auto& [id, c] : of.coefficients) {
    const std::int64_t whole = divisor > 1 ? divisor : modulus;
    if (c <= 1 || whole % c != 0) continue;
    Split s = split(of, c);
    const auto [low, high] = bounds(s.rest);
    if (low < 0 || high >= c) continue;
    if (divisor > 1) return digit(s.quotient, divisor / c, modulus);
    s.rest.add(digit(s.quotient, 1, modulus / c), c);
    return s.rest;
  }
  return std::nullopt;
}

Affine IndexSpace::digit(const Affine& given, std::int64_t divisor, std::int64_t modulus) {
  Affine of = joined(given);
  auto [least, most] = bounds(of);
  if (modulus > 0 && least >= 0 && most < divisor * modulus) modulus = 0;
  if (divisor > 1) {
    const Split s = split(of, divisor);
    const auto [low, high] = bounds(s.rest);
    if (low >= 0 && high < divisor) return digit(s.quotient, 1, modulus);
    // What the divisor divides adds to the quotient of the rest.
    if (s.quotient != Affine{}) {
      Affine whole = s.quotient;
      whole.add(digit(s.rest, divisor, 0), 1);
      return digit(whole, 1, modulus);
    }
  } else if (modulus == 0) {
    return of;
  } else {
    // A multiple of the modulus changes nothing.
    Affine rest = split(of, modulus).rest;
    const auto [low, high] = bounds(rest);
    if (low >= 0 && high < modulus) return rest;
    if (rest != of) return digit(rest, 1, modulus);
  }
  if (auto simpler = digit_of_multiple(of, divisor, modulus)) return *std::move(simpler);
  if (const Digit* inner = as_digit(of)) {
    const auto [x, d, m] = *inner;
    const std::int64_t needed = modulus == 0 ? 0 : divisor * modulus;
    if (m == 0 || (needed != 0 && m % needed == 0)) return digit(x, d * divisor, modulus);
    if (needed == 0 && m % divisor == 0) return digit(x, d * divisor, m / divisor);
  }
  const Key key{of.constant, of.coefficients, divisor, modulus};
  const auto [at, is_new] = digits_.try_emplace(key, static_cast<std::uint32_t>(variables_.size()));
  if (is_new) {
    std::tie(least, most) = bounds(of);
    const std::int64_t high = floor_divide(most, divisor) + 1;
    const bool wraps = modulus > 0;
    variables_.push_back({wraps ? 0 : floor_divide(least, divisor), wraps ? modulus : high, "",
                          Digit{std::move(of), divisor, modulus}});
  }
  return value_of(at->second);
}

std::vector<Affine> IndexSpace::indices_at(const Affine& position,
                                           std::span<const std::int64_t> sizes) {
  std::int64_t stride = 1;
  for (std::int64_t size : sizes) stride *= size;
  // No loop comes to an element of an empty tensor.
  if (stride == 0) return std::vector<Affine>(sizes.size());
  std::vector<Affine> indices;
  Affine rest = joined(position);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    stride /= sizes[k];
    const Split s = split(rest, stride);
    const auto [low, high] = bounds(s.rest);
    if (low >= 0 && high < stride) {
      indices.push_back(joined(s.quotient));
      rest = s.rest;
      continue;
    }
    indices.push_back(digit(rest, stride, k == 0 ? 0 : sizes[k]));
    rest = digit(rest, 1, stride);
  }
  return indices;
}

/// k·(⌊x/d⌋ mod m) + k·m·(⌊x/(d·m)⌋ mod n) is k·(⌊x/d⌋ mod m·n).
std::optional<Affine> IndexSpace::joined_pair(const Affine& a) {
  for (const auto& [low_id, k] : a.coefficients) {
    if (!variables_[low_id].digit) continue;
    const Digit low = *variables_[low_id].digit;
    if (low.modulus == 0) continue;
    for (const auto& [high_id, c] : a.coefficients) {
      const std::optional<Digit>& high = variables_[high_id].digit;
      const std::int64_t next = low.divisor * low.modulus;
      const bool is_next = high && high->of == low.of && high->divisor == next;
      if (c != k * low.modulus || !is_next) continue;
      const std::int64_t modulus = high->modulus == 0 ? 0 : low.modulus * high->modulus;
      const std::int64_t times = k;
      Affine result = a;
      result.coefficients.erase(low_id);
      result.coefficients.erase(high_id);
      result.add(digit(low.of, low.divisor, modulus), times);
      return result;
    }
  }
  return std::nullopt;
}

Affine IndexSpace::joined(const Affine& a) {
  Affine result = a;
  while (auto shorter = joined_pair(result)) result = *std::move(shorter);
  return result;
}

std::optional<std::int64_t> IndexSpace::step(const Affine& a, const Chunk& chunk) const {
  std::int64_t total = 0;
  for (const auto& [id, c] : a.coefficients) {
    if (id == chunk.variable) {
      total += c;
      continue;
    }
    if (!variables_[id].digit) continue;
    const auto& [of, divisor, modulus] = *variables_[id].digit;
    const auto inner = step(of, chunk);
    if (inner == 0) continue;
    if (inner != 1 || !is_aligned(of, chunk)) return std::nullopt;
    if (divisor % chunk.width == 0) continue;
    if (divisor != 1 || modulus % chunk.width != 0) return std::nullopt;
    total += c;
  }
  return total;
}

bool IndexSpace::is_aligned(const Affine& a, const Chunk& chunk) const {
  if (a.constant % chunk.width != 0) return false;
  for (const auto& [id, c] : a.coefficients) {
    if (c % chunk.width == 0 || id == chunk.variable) continue;
    const std::optional<Digit>& digit = variables_[id].digit;
    if (!digit || digit->divisor != 1 || digit->modulus % chunk.width != 0 ||
        !is_aligned(digit->of, chunk))
      return false;
  }
  return true;
}

std::string IndexSpace::digit_text(const Digit& digit) const {
  const auto& [constant, coefficients] = digit.of;
  const bool is_variable =
      constant == 0 && coefficients.size() == 1 && coefficients.begin()->second == 1;
  std::string text = IndexSpace::text(digit.of);
  if (!is_variable) text = "(" + text + ")";
  if (digit.divisor != 1) text += fmt::format(" / {}", digit.divisor);
  if (digit.modulus != 0) text += fmt::format(" % {}", digit.modulus);
  return "(" + text + ")";
}

std::string IndexSpace::text(const Affine& a) const {
  std::string result;
  const auto append = [&](bool negative, const std::string& term) {
    if (result.empty())
      result = (negative ? "-" : "") + term;
    else
      result += (negative ? " - " : " + ") + term;
  };
  for (const auto& [id, c] : a.coefficients) {
    const IndexVariable& v = variables_[id];
    const std::string name = v.digit ? digit_text(*v.digit) : v.name;
    const std::int64_t size = c < 0 ? -c : c;
    append(c < 0, size == 1 ? name : fmt::format("{} * {}", size, name));
  }
  if (a.constant != 0 || result.empty())
    append(a.constant < 0, fmt::format("{}", a.constant < 0 ? -a.constant : a.constant));
  return result;
}

}  // namespace soapstone::runtime::generated
