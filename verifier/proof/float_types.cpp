// See float_types.h.
#include "verifier/proof/float_types.h"

#include "rules/floats/float_types.h"

namespace soapstone::verifier {

using core::DataType;

rules::FloatTypes proved_types(const rules::Rule& rule, Solver& solver,
                               const VerifyOptions& options) {
  if (!rules::depends_on_float_type(rule)) return rules::FloatTypes::any();
  std::vector<DataType> proved{DataType::kFloat32};
  for (const DataType type : {DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16}) {
    const auto typed = rules::with_float_type(rule, type);
    if (typed && attempt_proof(*typed, solver, options).empty()) proved.push_back(type);
  }
  return rules::FloatTypes::only(std::move(proved));
}

}  // namespace soapstone::verifier
