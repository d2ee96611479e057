// From bytes to a checked ModelProto. Protobuf takes almost any bytes for a message, so that a
// file is a model is decided by what it says, not by whether it parses.
#include "models/onnx/reading/onnx_document.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>

#include "models/onnx/format/model_header.h"
#include "models/onnx/format/tensor_claims.h"
#include "ops/composites/composite.h"

namespace soapstone::models {
namespace {

core::Error no_model(std::string why) {
  return core::invalid_input("is not an ONNX model: " + std::move(why));
}

/// Both "" and "ai.onnx" name the default domain; all else here knows only "".
void use_short_domain(std::string& domain) {
  if (domain == "ai.onnx") domain.clear();
}

void use_short_domains(onnx::GraphProto& graph);

void use_short_domains(onnx::NodeProto& node) {
  use_short_domain(*node.mutable_domain());
  if (node.domain().empty()) node.clear_domain();
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) use_short_domains(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) use_short_domains(graph);
  }
}

void use_short_domains(onnx::GraphProto& graph) {
  for (auto& node : *graph.mutable_node()) use_short_domains(node);
}

core::Status use_short_domains(onnx::ModelProto& model) {
  auto& imports = *model.mutable_opset_import();
  for (auto& import : imports) use_short_domain(*import.mutable_domain());
  for (int i = 0; i < imports.size(); ++i) {
    for (int k = imports.size() - 1; k > i; --k) {
      if (imports[k].domain() != imports[i].domain()) continue;
      if (imports[k].version() != imports[i].version()) {
        return no_model(fmt::format("it uses opsets {} and {} of one domain, '{}'",
                                    imports[i].version(), imports[k].version(),
                                    imports[i].domain()));
      }
      imports.DeleteSubrange(k, 1);
    }
  }
  use_short_domains(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) {
    use_short_domain(*function.mutable_domain());
    for (auto& import : *function.mutable_opset_import())
      use_short_domain(*import.mutable_domain());
    for (auto& node : *function.mutable_node()) use_short_domains(node);
  }
  return core::Done{};
}

bool uses_domain(const onnx::GraphProto& graph, std::string_view domain) {
  return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
    return node.domain() == domain ||
           std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
             return (attribute.has_g() && uses_domain(attribute.g(), domain)) ||
                    std::ranges::any_of(attribute.graphs(), [&](const onnx::GraphProto& inner) {
                      return uses_domain(inner, domain);
                    });
           });
  });
}

core::Status check_versions(const onnx::ModelProto& model) {
  if (model.ir_version() <= 0) return no_model("it has no IR version");
  if (model.ir_version() > onnx::IR_VERSION) {
    return core::unsupported(fmt::format("IR version {} is newer than the newest one known, {}",
                                         model.ir_version(), static_cast<int>(onnx::IR_VERSION)),
                             "save the model with an older version of ONNX");
  }
  const int opset = default_opset(model);
  if (opset == 0) {
    return core::unsupported("the model names no version of the standard operators",
                             fmt::format("opsets {} to {} are read", kOldestOpset, kNewestOpset));
  }
  if (opset < kOldestOpset || opset > kNewestOpset) {
    return core::unsupported(fmt::format("opset {} is not supported; opsets {} to {} are", opset,
                                         kOldestOpset, kNewestOpset),
                             "convert the model with onnx.version_converter");
  }
  return core::Done{};
}

bool parse(std::string_view bytes, onnx::ModelProto& model) {
  const QuietProtobuf quiet;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  google::protobuf::io::CodedInputStream input(data, static_cast<int>(bytes.size()));
  return model.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

}  // namespace

core::Result<onnx::ModelProto> parse_document(std::string_view bytes) {
  if (bytes.empty()) return no_model("it is empty");
  if (bytes.starts_with("version https://git-lfs")) {
    return core::invalid_input("is a pointer of Git LFS, not the model itself",
                               "run `git lfs pull`");
  }
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return core::unsupported("is larger than 2 GB, which ONNX does not allow",
                             "save the model with its weights as external data");
  }
  onnx::ModelProto model;
  if (!parse(bytes, model)) return no_model("it is truncated or of another format");
  if (!model.has_graph()) return no_model("it has no graph");
  SOAPSTONE_RETURN_IF_ERROR(check_tensor_claims(model));
  SOAPSTONE_RETURN_IF_ERROR(use_short_domains(model));
  SOAPSTONE_RETURN_IF_ERROR(check_versions(model));
  return model;
}

int default_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (!import.domain().empty()) continue;
    return static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 9999));
  }
  return 0;
}

Opsets opsets_of(const onnx::ModelProto& model) {
  Opsets opsets;
  for (const auto& import : model.opset_import()) {
    opsets[import.domain()] = static_cast<int>(import.version());
  }
  return opsets;
}

bool import_contrib_domain(onnx::ModelProto& model) {
  if (opsets_of(model).contains(ops::kContribDomain)) return false;
  if (!uses_domain(model.graph(), ops::kContribDomain)) return false;
  auto& import = *model.add_opset_import();
  import.set_domain(ops::kContribDomain);
  import.set_version(1);
  return true;
}

std::string qualified_op_type(const onnx::NodeProto& node) {
  return node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
}

std::string describe(const onnx::NodeProto& node) {
  const std::string type = qualified_op_type(node);
  if (!node.name().empty()) return fmt::format("node '{}' ({})", node.name(), type);
  for (const std::string& output : node.output()) {
    if (!output.empty()) return fmt::format("node of '{}' ({})", output, type);
  }
  return fmt::format("node ({})", type);
}

std::string one_line(std::string_view text) {
  std::string line;
  for (char c : text) {
    if (c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace soapstone::models
