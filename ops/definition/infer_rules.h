// Checks that many shape rules share: element types, axes in range, attributes that must be plain
// numbers even where sizes are symbols. Labels are `<op>.<what>`, as in docs and tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/infer_context.h"

namespace soapstone::ops {

/// A list of integers, as attributes have them.
using Sizes = std::vector<Polynomial>;
/// The fewest and the most inputs that an operator has.
using Arity = std::pair<std::size_t, std::size_t>;

/// The element types on which a comprehension says what the operator computes.
enum class Elements : std::uint8_t {
  kFloating,    ///< f16, bf16, f32, f64
  kArithmetic,  ///< Also i32 and i64, taken as unbounded integers; narrower ones would wrap.
  kNumbers,     ///< All but texts: moving, comparing and selecting compute nothing new.
  kBool,
};
bool admits(Elements elements, core::DataType type);
std::string_view to_string(Elements elements);

/// Every input that is there has one of those types. Label: `<op>.element_type`.
bool require_elements(InferContext& context, std::string_view op, Elements elements);
/// Every input from `first` on that is there has one and the same type. Label: `<op>.same_type`.
bool require_same_type(InferContext& context, std::string_view op, std::size_t first = 0);
/// Both of the above.
bool require_one_type(InferContext& context, std::string_view op, Elements elements);

/// The attribute if it is a plain number. Label: `<op>.concrete`.
std::optional<std::int64_t> require_int(InferContext& context, std::string_view op,
                                        std::string_view name);
std::optional<std::vector<std::int64_t>> require_ints(InferContext& context, std::string_view op,
                                                      std::string_view name);
/// Schema of `axis`, which must be given: counting from the end needs the rank.
core::AttributeSchema axis_attribute();
/// Attribute `axis` in 0 … rank−1. Label: `<op>.axis`.
std::optional<std::size_t> require_axis(InferContext& context, std::string_view op,
                                        std::size_t rank);
/// Attribute `axes`, strictly ascending in 0 … rank−1. Label: `<op>.axes`.
std::optional<std::vector<std::size_t>> require_axes(InferContext& context, std::string_view op,
                                                     std::size_t rank);
/// Attribute `axis`, `axes` of a node that passed the checks above.
std::size_t axis_of(const core::Attributes& attributes);
std::vector<std::size_t> axes_of(const core::Attributes& attributes);

/// Input k can be broadcast to `result` as it is. Label: `<op>.<what>`.
bool require_broadcasts_to(InferContext& context, std::string_view op, std::string_view what,
                           const Shape& input, const Shape& result);

/// Whether a comprehension can hold the number: finite, and neither too large nor too small for a
/// fraction of 64-bit integers.
bool is_representable(double value);
/// Label: `<op>.<name>`.
bool require_representable(InferContext& context, std::string_view op, std::string_view name);

/// `<op>.<what>`
std::string label(std::string_view op, std::string_view what);

}  // namespace soapstone::ops
