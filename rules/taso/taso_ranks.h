// How many dimensions each tensor of a TASO rule has, as far as its operators say.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/base/result.h"
#include "rules/taso/taso_file.h"

namespace soapstone::rules::taso {

struct Ranks {
  std::map<std::int32_t, std::size_t> inputs;            ///< By input id.
  std::vector<std::vector<std::size_t>> source, target;  ///< By operator and output.
};

/// Ranks of all tensors. A tensor whose rank nothing determines gets `free_rank`. Precondition:
/// operators read tensors that exist. Errors: kUnsupported: a tensor would have two ranks.
core::Result<Ranks> ranks_of(const RuleMessage& rule, std::size_t free_rank);
/// How many results the operator has.
std::size_t output_count(const Operator& op);

}  // namespace soapstone::rules::taso
