// See parameter_values.h.
#include "verifier/refutation/parameter_values.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::verifier {

using rules::Rule;

std::vector<rules::Bindings> parameter_grid(const Rule& rule, int count) {
  if (rule.parameters.empty()) return {rules::Bindings(rule.source.symbols().size())};
  std::vector<rules::Bindings> grid;
  const auto wanted = static_cast<std::size_t>(count);
  for (std::uint64_t seed = 0; seed < 8 * wanted && grid.size() < wanted; ++seed) {
    auto values = rules::sample_parameters(rule, seed);
    if (values && std::ranges::find(grid, *values) == grid.end())
      grid.push_back(*std::move(values));
  }
  return grid;
}

NamedValues named_values(const Rule& rule, std::span<const core::Symbol> parameters,
                         const rules::Bindings& values) {
  NamedValues named;
  for (const core::Symbol s : parameters) {
    const bool is_real = std::ranges::find(rule.real_parameters, s) != rule.real_parameters.end();
    std::variant<std::int64_t, double> value = *values[s.id];
    if (is_real) value = std::bit_cast<double>(*values[s.id]);
    named.emplace_back(rule.source.symbols().name(s), value);
  }
  return named;
}

namespace {

std::string value_text(const std::variant<std::int64_t, double>& value) {
  return std::visit([](const auto& number) { return fmt::format("{}", number); }, value);
}

/// `2`, or `(2, 0.5)`.
std::string in_parentheses(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? texts[0] : fmt::format("({})", fmt::join(texts, ", "));
}

}  // namespace

std::string parameter_text(const Rule& rule, const rules::Bindings& values) {
  std::string text;
  for (const auto& [name, value] : named_values(rule, rule.parameters, values))
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value_text(value));
  return text;
}

std::string set_text(std::span<const NamedValues> sets) {
  struct Group {
    std::string names;
    std::vector<std::string> values;
    bool has_reals = false;
  };
  std::vector<Group> groups;
  for (const NamedValues& set : sets) {
    std::vector<std::string> names, values;
    for (const auto& [name, value] : set) {
      names.push_back(name);
      values.push_back(value_text(value));
    }
    const std::string key = in_parentheses(names);
    auto group = std::ranges::find(groups, key, &Group::names);
    if (group == groups.end()) group = groups.insert(group, {key, {}});
    group->values.push_back(in_parentheses(values));
    group->has_reals = std::ranges::any_of(
        set, [](const auto& entry) { return std::holds_alternative<double>(entry.second); });
  }
  constexpr std::size_t kLong = 120;
  std::string text;
  for (const auto& [names, values, has_reals] : groups) {
    if (!text.empty()) text += ", ";
    const std::string listed = fmt::format("{} in {{{}}}", names, fmt::join(values, ", "));
    const bool is_listed = has_reals || text.size() + listed.size() <= kLong;
    text += is_listed ? listed : fmt::format("{} of {}", values.size(), names);
  }
  return text;
}

}  // namespace soapstone::verifier
