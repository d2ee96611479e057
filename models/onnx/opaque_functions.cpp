// See opaque_functions.h.
#include "models/onnx/opaque_functions.h"

#include <algorithm>
#include <optional>
#include <string>

#include "models/onnx/format/model_header.h"
#include "models/onnx/reading/onnx_document.h"
#include "onnx/defs/schema.h"

namespace soapstone::models {
namespace {

std::optional<onnx::NodeProto> proto_of(const core::Node& node) {
  const QuietProtobuf quiet;
  onnx::NodeProto proto;
  if (!proto.ParseFromString(node.attributes.get_text("proto"))) return std::nullopt;
  return proto;
}

/// The default domain has two names.
std::string domain_of(const onnx::NodeProto& node) {
  return node.domain() == "ai.onnx" ? std::string() : node.domain();
}

int version_of(const ModelHeader& header, const std::string& domain) {
  const auto opsets = opsets_of(header.skeleton);
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

bool has_subgraphs(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
}

/// The body of the function of the model that the node calls; empty: it calls none.
std::string body_of(const onnx::NodeProto& node, const ModelHeader& header) {
  for (const onnx::FunctionProto& function : header.skeleton.functions())
    if (function.name() == node.op_type() && function.domain() == node.domain())
      return function.SerializeAsString();
  return {};
}

bool is_repeatable_proto(const onnx::NodeProto& node);

bool is_repeatable_graph(const onnx::GraphProto& graph) {
  return std::ranges::all_of(graph.node(), is_repeatable_proto);
}

/// ONNX's operators that draw random numbers have a seed.
bool is_repeatable_proto(const onnx::NodeProto& node) {
  const auto* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), domain_of(node));
  if (schema == nullptr || schema->attributes().contains("seed")) return false;
  return std::ranges::all_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return (!attribute.has_g() || is_repeatable_graph(attribute.g())) &&
           std::ranges::all_of(attribute.graphs(), is_repeatable_graph);
  });
}

}  // namespace

bool means_the_same(const core::Node& node, const ModelHeader& a, const ModelHeader& b) {
  const auto proto = proto_of(node);
  if (!proto || body_of(*proto, a) != body_of(*proto, b)) return false;
  const std::string domain = domain_of(*proto);
  const int in_a = version_of(a, domain), in_b = version_of(b, domain);
  if (in_a == in_b) return true;
  if (has_subgraphs(*proto)) return false;
  const auto* const first = onnx::OpSchemaRegistry::Schema(proto->op_type(), in_a, domain);
  const auto* const second = onnx::OpSchemaRegistry::Schema(proto->op_type(), in_b, domain);
  return first != nullptr && second != nullptr && first->since_version() == second->since_version();
}

bool is_repeatable(const core::Node& node) {
  const auto proto = proto_of(node);
  return proto && is_repeatable_proto(*proto);
}

}  // namespace soapstone::models
