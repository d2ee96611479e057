// See einsum_product.h.
#include "runtime/launches/einsum_product.h"

#include <algorithm>
#include <array>

namespace soapstone::runtime {
namespace {

using Spread = EinsumProduct::Spread;

bool has_one_element(const core::Size& size) { return size.as_constant() == 1; }

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

/// The labels of a list that are among others, in the order of the list.
std::string among(const std::string& list, const std::string& others) {
  std::string kept;
  for (const char label : list)
    if (has(others, label)) kept += label;
  return kept;
}

/// What libraries read while they compute a batch of products: a number, a column, a row, a row for
/// each product, a tensor like the result. oneDNN computes all others by plain loops.
constexpr std::array<Spread, 5> kReadable = {{{false, false, false},
                                              {false, false, true},
                                              {false, true, false},
                                              {true, false, true},
                                              {true, true, true}}};

}  // namespace

std::optional<EinsumProduct> EinsumProduct::of(const core::Node& node) {
  auto equation = ops::equation_of(node);
  if (!equation) return std::nullopt;
  auto labels = ops::product_labels(*equation);
  if (!labels) return std::nullopt;
  return EinsumProduct(*std::move(equation), *std::move(labels));
}

std::string EinsumProduct::varying(const core::Shape& operand, const core::Shape& result) const {
  std::string labels;
  const std::size_t shift = result.size() - operand.size();
  for (std::size_t d = 0; d < operand.size(); ++d)
    if (!has_one_element(operand[d])) labels += equation_.result[d + shift];
  return labels;
}

std::optional<Spread> EinsumProduct::spread(const core::Shape& operand,
                                            const core::Shape& result) const {
  if (operand.size() > result.size()) return std::nullopt;
  const std::string all = varying(result, result), own = varying(operand, result);
  const std::array groups = {&labels_.batch, &labels_.rows, &labels_.columns};
  std::array<bool, 3> varies{}, is_one_wide{};
  std::string in_order;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string whole = among(*groups[g], all), part = among(*groups[g], own);
    if (!part.empty() && part != whole) return std::nullopt;
    varies[g] = !part.empty();
    is_one_wide[g] = whole.empty();
    in_order += part;
  }
  if (in_order != own) return std::nullopt;
  const auto fits = [&](const Spread& readable) {
    const std::array<bool, 3> its = {readable.batch, readable.rows, readable.columns};
    for (std::size_t g = 0; g < its.size(); ++g)
      if (its[g] != varies[g] && !is_one_wide[g]) return false;
    return true;
  };
  const auto* const found = std::ranges::find_if(kReadable, fits);
  return found == kReadable.end() ? std::nullopt : std::optional(*found);
}

bool EinsumProduct::lies_as_computed(const core::Shape& result) const {
  return spread(result, result).has_value();
}

}  // namespace soapstone::runtime
