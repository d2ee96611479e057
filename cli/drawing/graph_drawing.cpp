// Writes DOT, and runs dot.
#include "cli/drawing/graph_drawing.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "core/base/file_io.h"

namespace soapstone::cli {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kLongestAttribute = 40;

/// Inside double quotes of DOT; `\n` starts a new line there.
std::string type_text(const Graph& graph, TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  const std::string shape = type.shape_known ? core::to_string(type.shape, graph.symbols()) : "[?]";
  const std::string element = type.data_type == core::DataType::kFloat32
                                  ? ""
                                  : std::string(core::to_string(type.data_type));
  return element + shape;
}

bool is_default(const core::OpSchema& op, const std::string& name,
                const core::AttributeValue& value) {
  const core::AttributeSchema* schema = op.find_attribute(name);
  return schema && schema->default_value && *schema->default_value == value;
}

std::string node_label(const Graph& graph, const core::Node& node) {
  const bool opaque = node.op->is_opaque();
  std::string label = dot_escaped(opaque ? node.attributes.get_text("op_type") : node.op->name);
  for (const auto& [name, value] : node.attributes.values()) {
    if (opaque || is_default(*node.op, name, value)) continue;
    const std::string text = core::to_string(value, graph.symbols());
    if (text.size() <= kLongestAttribute)
      label += fmt::format("\\n{} {}", dot_escaped(name), dot_escaped(text));
  }
  for (TensorId input : node.inputs) {
    if (input.valid() && graph.tensor(input).value) {
      label += "\\nconstant " + dot_escaped(type_text(graph, input));
    }
  }
  return label;
}

std::string node_id(NodeId id) { return fmt::format("n{}", id.index()); }

std::string node_line(const Graph& graph, NodeId id, std::string_view style) {
  return fmt::format("{} [label=\"{}\"{}];\n", node_id(id), node_label(graph, graph.node(id)),
                     style);
}

/// The node of the drawing at which an edge that reads the tensor starts.
std::string source_id(const Graph& graph, TensorId id) {
  const core::Tensor& tensor = graph.tensor(id);
  return tensor.producer.valid() ? node_id(tensor.producer) : fmt::format("t{}", id.index());
}

std::string edge_line(const Graph& graph, TensorId from, const std::string& to) {
  return fmt::format("  {} -> {} [label=\"{}\"];\n", source_id(graph, from), to,
                     dot_escaped(type_text(graph, from)));
}

std::string all_nodes(const Graph& graph, runtime::Fusion fusion) {
  const runtime::LaunchPlan plan = runtime::plan_launches(graph, runtime::generic_fusion(fusion));
  std::string text;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const std::vector<NodeId> nodes = plan.launches[i].nodes();
    if (nodes.size() > 1) text += fmt::format("  subgraph cluster_{} {{\n", i);
    for (NodeId id : nodes) text += "  " + node_line(graph, id, "");
    if (nodes.size() > 1) text += "  }\n";
  }
  for (NodeId id : plan.views) text += "  " + node_line(graph, id, ", color=gray");
  for (NodeId id : plan.folded) text += "  " + node_line(graph, id, ", style=dashed");
  return text;
}

std::string all_edges(const Graph& graph) {
  std::string text;
  for (NodeId id : graph.order()) {
    for (TensorId input : graph.node(id).inputs) {
      if (input.valid() && !graph.tensor(input).value) {
        text += edge_line(graph, input, node_id(id));
      }
    }
  }
  return text;
}

std::string graph_ends(const Graph& graph) {
  std::string text;
  for (TensorId id : graph.inputs()) {
    text += fmt::format("  t{} [label=\"{}\", shape=ellipse];\n", id.index(),
                        dot_escaped(graph.tensor(id).name));
  }
  std::size_t number = 0;
  for (TensorId id : graph.outputs()) {
    const std::string end = fmt::format("out{}", number++);
    text += fmt::format("  {} [label=\"{}\", shape=ellipse];\n", end,
                        dot_escaped(graph.tensor(id).name));
    if (graph.tensor(id).value) {
      text += fmt::format("  t{} [label=\"constant\", shape=plaintext];\n", id.index());
    }
    text += edge_line(graph, id, end);
  }
  return text;
}

/// Exit status of the program, or an error if it could not be started.
core::Result<int> run_program(std::vector<std::string> arguments, int input, int output) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return core::unavailable(std::generic_category().message(failed));
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

std::string dot_text(const Graph& graph, runtime::Fusion fusion) {
  std::string text = fmt::format("digraph \"{}\" {{\n", dot_escaped(graph.name()));
  text += "  graph [style=rounded, color=gray, fontname=Helvetica];\n"
          "  node [shape=box, style=rounded, fontname=Helvetica, fontsize=11];\n"
          "  edge [fontname=Helvetica, fontsize=9];\n";
  return text + graph_ends(graph) + all_nodes(graph, fusion) + all_edges(graph) + "}\n";
}

std::string dot_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

core::Status write_text(const std::filesystem::path& path, const std::string& text) {
  return core::write_file(path, text);
}

core::Status write_svg(const std::filesystem::path& path, const std::string& dot) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto drawing, core::AtomicFile::create(path));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> source(std::tmpfile(), &std::fclose);
  if (!source || std::fwrite(dot.data(), 1, dot.size(), source.get()) != dot.size() ||
      std::fflush(source.get()) != 0) {
    return core::unavailable("there is no room for temporary files",
                             "write DOT with --dot and draw it with another program");
  }
  std::rewind(source.get());
  const auto status = run_program({"dot", "-Tsvg"}, fileno(source.get()), drawing->descriptor());
  if (!status) {
    return core::unavailable("Graphviz cannot be run: " + status.error().message,
                             "install Graphviz, or write DOT with --dot");
  }
  if (*status != 0) {
    return core::unavailable(fmt::format("dot ended with exit code {}", *status),
                             "write DOT with --dot and draw it with another program")
        .at(path.string());
  }
  return drawing->commit();
}

}  // namespace soapstone::cli
