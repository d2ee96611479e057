// See rule_between.h.
#include "generator/sides/rule_between.h"

#include <utility>

#include "rules/checking/complete.h"

namespace soapstone::generator {
namespace {

bool uses(const core::Graph& side, core::TensorId input) {
  return !side.consumers(input).empty() || side.is_output(input);
}

}  // namespace

std::optional<rules::Rule> rule_between(const core::Graph& source, const core::Graph& target) {
  for (core::TensorId id : source.outputs())
    if (!source.tensor(id).producer.valid()) return std::nullopt;
  for (std::size_t k = 0; k < source.inputs().size(); ++k)
    if (uses(target, target.inputs()[k]) && !uses(source, source.inputs()[k])) return std::nullopt;
  rules::Rule rule;
  rule.name = "rule";
  rule.source = source;
  rule.target = target;
  rule.constant_inputs.assign(source.inputs().size(), false);
  // Many forms are tried; one that fits rarely is not worth the time.
  constexpr int kParameterAttempts = 12;
  if (auto complete =
          rules::complete(std::move(rule), nullptr, rules::Purpose::kMatching, kParameterAttempts))
    return *std::move(complete);
  return std::nullopt;
}

}  // namespace soapstone::generator
