// Operators of ONNX Runtime's own domain are written on demand alone.
#pragma once

#include <memory>

#include "models/onnx/format/onnx_model.h"

namespace soapstone::models {

/// The same header, for graphs whose operators may be written in ONNX Runtime's own domain.
/// Otherwise such an operator is written as what it stands for; those of the file that nothing has
/// changed stay in any case.
std::shared_ptr<const ModelHeader> with_contrib(const ModelHeader& header);

}  // namespace soapstone::models
