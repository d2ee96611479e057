// See kernel_names.h.
#include "jobs/kernels/kernel_names.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace soapstone::jobs {
namespace {

using core::NodeId;
using core::TensorId;
using workers::RuntimeKernel;

constexpr std::string_view kMark = "ss";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Letters and digits alone, in lower case: runtimes spell names of operators in their own way.
std::string plain_text(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string observed_name(TensorId id) { return fmt::format("{}{}t", kMark, id.index()); }

KernelNames::KernelNames(const core::Graph& graph, const WrittenNames& names,
                         const std::vector<RuntimeKernel>& kernels)
    : graph_(graph), names_(names) {
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (const std::string& output : kernels[k].outputs) writer_[output] = k;
}

std::optional<std::size_t> KernelNames::writer(const std::string& name) const {
  const auto at = writer_.find(name);
  return at == writer_.end() ? std::nullopt : std::optional(at->second);
}

TensorId KernelNames::ours(const std::string& name) const {
  const auto at = names_.tensors.find(name);
  return at == names_.tensors.end() ? TensorId::none() : at->second;
}

bool KernelNames::is_private(const std::string& name) const {
  return !ours(name).valid() && writer_.contains(name);
}

bool KernelNames::leaves(const RuntimeKernel& kernel) const {
  std::size_t inputs = 0, privates = 0;
  for (const std::string& input : kernel.inputs) {
    const TensorId id = ours(input);
    if (is_private(input)) ++privates;
    if (writer_.contains(input) || (id.valid() && graph_.tensor(id).is_input())) ++inputs;
  }
  return inputs == 1 && privates == 1;
}

bool KernelNames::is_called_alike(const RuntimeKernel& kernel, NodeId id) const {
  return plain_text(kernel.op).ends_with(plain_text(graph_.node(id).op->name));
}

NodeId KernelNames::origin_node(const std::string& origin) const {
  if (const TensorId id = ours(origin); id.valid()) return graph_.tensor(id).producer;
  const auto at = names_.nodes.find(origin);
  return at == names_.nodes.end() ? NodeId::none() : at->second;
}

NodeId KernelNames::owner(const RuntimeKernel& kernel) const {
  for (const std::string& origin : kernel.origins)
    if (const NodeId node = origin_node(origin); node.valid()) return node;
  if (const TensorId id = mentioned(kernel.name); id.valid()) {
    const NodeId node = graph_.tensor(id).producer;
    if (node.valid()) return node;
  }
  for (const std::string& output : kernel.outputs) {
    const TensorId id = ours(output);
    const NodeId node = id.valid() ? graph_.tensor(id).producer : NodeId::none();
    if (node.valid() && (!leaves(kernel) || is_called_alike(kernel, node))) return node;
  }
  return node_in(kernel.name);
}

TensorId KernelNames::mentioned(std::string_view text) const {
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) {
    std::size_t end = at + kMark.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == text.size() || text[end] != 't') continue;
    const auto known = names_.tensors.find(std::string(text.substr(at, end + 1 - at)));
    if (known != names_.tensors.end()) return known->second;
  }
  return TensorId::none();
}

/// The longest name of a node that stands in the text as a word.
NodeId KernelNames::node_in(std::string_view text) const {
  NodeId found;
  std::size_t longest = 0;
  for (const auto& [name, node] : names_.nodes) {
    const std::size_t at = name.size() > longest ? text.find(name) : text.npos;
    if (at == text.npos || (at > 0 && is_word(text[at - 1]))) continue;
    const std::size_t end = at + name.size();
    if (end < text.size() && is_word(text[end])) continue;
    found = node;
    longest = name.size();
  }
  return found;
}

}  // namespace soapstone::jobs
