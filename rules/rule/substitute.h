// The symbols in attributes, and numbers put in their place.
#pragma once

#include <optional>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// Whether the attribute must be a number before a shape can be inferred from it.
bool needs_number(const core::AttributeSchema& attribute);
/// The symbols in such attributes on either side, ascending; `real` selects those of real ones.
std::vector<core::Symbol> parameters_of(const Graph& source, const Graph& target, bool real);

/// All symbols in attributes of one side, ascending.
std::vector<core::Symbol> attribute_symbols(const Graph& side);

/// `p` with all symbols replaced that have a value.
core::Polynomial substitute(const core::Polynomial& p, const Bindings& values);
/// The same for all attributes. A symbol in a real attribute becomes the double of those bits.
core::Attributes substitute(const core::OpSchema& op, const core::Attributes& attributes,
                            const Bindings& values);
/// The same for all attributes with a number for each symbol. None: one does not fit into 64 bits.
std::optional<core::Attributes> with_numbers(const core::OpSchema& op,
                                             const core::Attributes& attributes,
                                             const std::vector<std::int64_t>& sizes);

}  // namespace soapstone::rules
