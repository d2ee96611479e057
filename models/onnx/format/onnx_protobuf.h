// The protobuf messages of ONNX under a short name, and how a node is named in messages to a
// person. Only sources and private headers of models/ include this file.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <string>
#include <string_view>

#include "onnx/onnx_pb.h"

namespace soapstone::models {

namespace onnx = ONNX_NAMESPACE;

/// While one of these lives, protobuf does not write its complaints to stderr.
using QuietProtobuf = google::protobuf::LogSilencer;

/// `node 'conv1' (Conv)`, or by its first result if it has no name: `node of 'y' (Conv)`.
std::string describe(const onnx::NodeProto& node);
/// `com.microsoft.Gelu`; the default domain is not written.
std::string qualified_op_type(const onnx::NodeProto& node);
/// The text of one of ONNX's exceptions without line breaks.
std::string one_line(std::string_view text);

}  // namespace soapstone::models
