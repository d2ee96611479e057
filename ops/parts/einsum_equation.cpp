// See einsum_equation.h.
#include "ops/parts/einsum_equation.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace soapstone::ops {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::string_view kArrow = "->";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool all_letters(std::string_view text) { return std::ranges::all_of(text, is_letter); }

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The labels with letters instead of the ellipsis: the last `count` of `names`.
std::string without_ellipsis(std::string labels, std::string_view names, std::size_t count) {
  const std::size_t at = labels.find(kEllipsis);
  if (at != std::string::npos)
    labels.replace(at, kEllipsis.size(), names.substr(names.size() - count));
  return labels;
}

/// Letters that the text does not use; empty if there are too few.
std::string unused_letters(std::string_view text, std::size_t count) {
  std::string unused;
  for (char c = 'A'; c <= 'z' && unused.size() < count; ++c)
    if (is_letter(c) && text.find(c) == std::string_view::npos) unused += c;
  return unused.size() == count ? unused : std::string();
}

std::string implicit_result(const std::vector<std::string>& operands, std::string_view ellipsis) {
  std::map<char, int> uses;
  for (const std::string& operand : operands)
    for (const char label : operand) ++uses[label];
  std::string result(ellipsis);
  for (const auto& [label, count] : uses)
    if (count == 1 && ellipsis.find(label) == std::string_view::npos) result += label;
  return result;
}

EinsumEquation with_names_in_order(const EinsumEquation& equation) {
  std::map<char, char> names;
  const auto renamed = [&](std::string labels) {
    for (char& label : labels) {
      const auto next =
          static_cast<char>(names.size() < 26 ? 'a' + names.size() : 'A' + (names.size() - 26));
      label = names.emplace(label, next).first->second;
    }
    return labels;
  };
  EinsumEquation result;
  for (const std::string& operand : equation.operands) result.operands.push_back(renamed(operand));
  result.result = renamed(equation.result);
  return result;
}

}  // namespace

std::optional<EinsumEquation> EinsumEquation::parse(std::string_view text) {
  const std::size_t arrow = text.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  EinsumEquation equation{split_at_commas(text.substr(0, arrow)),
                          std::string(text.substr(arrow + kArrow.size()))};
  std::string all;
  for (const std::string& operand : equation.operands) all += operand;
  if (!all_letters(all) || !all_letters(equation.result)) return std::nullopt;
  for (const char label : equation.result)
    if (all.find(label) == std::string::npos || std::ranges::count(equation.result, label) > 1)
      return std::nullopt;
  return equation;
}

std::optional<EinsumEquation> EinsumEquation::from_onnx(std::string_view text,
                                                        std::span<const std::size_t> ranks) {
  std::string dense;
  std::ranges::copy_if(text, std::back_inserter(dense), [](char c) { return c != ' '; });
  const std::size_t arrow = dense.find(kArrow);
  EinsumEquation equation{split_at_commas(dense.substr(0, arrow)), {}};
  if (equation.operands.size() != ranks.size()) return std::nullopt;
  std::size_t most = 0;
  std::vector<std::size_t> counts(ranks.size());
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    const std::string& labels = equation.operands[k];
    const bool open = labels.find(kEllipsis) != std::string::npos;
    const std::size_t letters = labels.size() - (open ? kEllipsis.size() : 0);
    if (ranks[k] < letters || (!open && ranks[k] != letters)) return std::nullopt;
    counts[k] = ranks[k] - letters;
    most = std::max(most, counts[k]);
  }
  const std::string names = unused_letters(dense, most);
  if (names.size() != most) return std::nullopt;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    equation.operands[k] = without_ellipsis(equation.operands[k], names, counts[k]);
  equation.result =
      arrow == std::string::npos
          ? implicit_result(equation.operands, names)
          : without_ellipsis(dense.substr(arrow + kArrow.size()), names, names.size());
  // parse() checks what is left: letters only, and a result of known ones.
  const auto checked = parse(equation.to_string());
  if (!checked) return std::nullopt;
  return with_names_in_order(*checked);
}

std::string EinsumEquation::to_string() const {
  std::string text = operands.front();
  for (std::size_t k = 1; k < operands.size(); ++k) text += ',' + operands[k];
  return text + std::string(kArrow) + result;
}

}  // namespace soapstone::ops
