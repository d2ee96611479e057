// See parameter_values.h.
#include "verifier/refutation/parameter_values.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

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

std::string parameter_text(const Rule& rule, const rules::Bindings& values) {
  std::string text;
  for (const core::Symbol s : rule.parameters) {
    text += fmt::format("{}{} = ", text.empty() ? "" : ", ", rule.source.symbols().name(s));
    const bool real = std::ranges::find(rule.real_parameters, s) != rule.real_parameters.end();
    text += real ? fmt::format("{}", std::bit_cast<double>(*values[s.id]))
                 : fmt::format("{}", *values[s.id]);
  }
  return text;
}

}  // namespace soapstone::verifier
