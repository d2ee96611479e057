// Limits on sizes and integer attributes. They are looked at once for each node, before and after
// its shape rule; the rule itself then computes without fear.
#include "ops/language/size_limits.h"

#include <fmt/format.h>

namespace soapstone::ops {
namespace {

using core::Polynomial;

bool is_small(std::int64_t value) { return value >= -kLargestSize && value <= kLargestSize; }

bool is_small(const Polynomial& value) {
  if (!is_small(value.constant())) return false;
  for (const Polynomial::Term& term : value.terms())
    if (!is_small(term.coefficient)) return false;
  return true;
}

core::Error too_large(const core::OpSchema& op, std::string_view what) {
  return core::invalid_input(fmt::format("{}: {} [{}.size_limit]", op.name, what, op.name),
                             fmt::format("sizes may be at most {}", kLargestSize));
}

}  // namespace

core::Status check_attribute_sizes(const core::OpSchema& op, const core::Attributes& attributes) {
  for (const auto& [name, value] : attributes.values()) {
    bool small = true;
    if (const auto* one = std::get_if<Polynomial>(&value)) small = is_small(*one);
    if (const auto* list = std::get_if<std::vector<Polynomial>>(&value))
      for (const Polynomial& each : *list) small &= is_small(each);
    if (!small) return too_large(op, fmt::format("attribute '{}' is too large", name));
  }
  return core::Done{};
}

core::Status check_tensor_sizes(const core::OpSchema& op, std::span<const core::TensorType> types) {
  for (const core::TensorType& type : types) {
    if (!type.shape_known) continue;
    for (const core::Size& size : type.shape)
      if (!is_small(size)) return too_large(op, "a tensor has a size that is too large");
    if (const auto dims = core::concrete(type.shape); dims && !core::checked_element_count(*dims))
      return too_large(op, "a tensor has too many elements, or a negative size");
  }
  return core::Done{};
}

}  // namespace soapstone::ops
