// See device_writer.h. Shards with several holders name a group of devices by a negative number.
#include "models/onnx/writing/device_writer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace soapstone::models {
namespace {

constexpr int kFirstIrVersion = 11;

void write_shards(const std::string& name, const TensorShards& shards,
                  onnx::ShardingSpecProto& out) {
  out.set_tensor_name(name);
  std::int64_t group = 0;
  for (const std::vector<std::int64_t>& holders : shards.holders) {
    if (holders.size() == 1) {
      out.add_device(holders.front());
      continue;
    }
    out.add_device(--group);
    auto& entry = *out.add_index_to_device_group_map();
    entry.set_key(group);
    for (const std::int64_t device : holders) entry.add_value(device);
  }
  for (const ShardedDim& sharded : shards.dims) {
    auto& dim = *out.add_sharded_dim();
    dim.set_axis(static_cast<std::int64_t>(sharded.dim));
    for (const ShardedDim::Level& level : sharded.levels) {
      auto& simple = *dim.add_simple_sharding();
      simple.set_dim_value(level.size);
      simple.set_num_shards(level.shards);
    }
  }
}

}  // namespace

/// What several nodes of a graph, written as one, read and write.
struct DeviceWriter::Found {
  std::optional<std::int32_t> stage;
  std::unordered_map<std::string, TensorShardsPtr> shards;  ///< By the tensor's name.
};

DeviceWriter::DeviceWriter(const core::Graph& graph, const TensorNames& names,
                           const DeviceAnnotations& annotations, onnx::ModelProto& model)
    : graph_(graph), names_(names), annotations_(annotations), out_(*model.mutable_graph()) {
  model.set_ir_version(std::max<std::int64_t>(model.ir_version(), kFirstIrVersion));
  auto& configuration = *model.add_configuration();
  configuration.set_name(annotations.configuration);
  configuration.set_num_devices(static_cast<std::int32_t>(annotations.devices.size()));
  for (const std::string& device : annotations.devices) configuration.add_device(device);
}

DeviceWriter::Found DeviceWriter::of_nodes(std::span<const core::NodeId> nodes) const {
  Found found;
  for (const core::NodeId id : nodes) {
    if (id.index() >= annotations_.nodes.size() || !annotations_.nodes[id.index()]) continue;
    const NodeDevices& devices = *annotations_.nodes[id.index()];
    const core::Node& node = graph_.node(id);
    found.stage = devices.stage;
    const auto add = [&](const auto& tensors, const std::vector<TensorShardsPtr>& shards) {
      for (std::size_t k = 0; k < tensors.size() && k < shards.size(); ++k)
        if (tensors[k].valid() && shards[k] != nullptr && !names_.of(tensors[k]).empty())
          found.shards.emplace(names_.of(tensors[k]), shards[k]);
    };
    add(node.outputs, devices.outputs);
    add(node.inputs, devices.inputs);
  }
  return found;
}

void DeviceWriter::annotate(int first, std::span<const core::NodeId> nodes) {
  if (first == out_.node_size()) return;
  const Found found = of_nodes(nodes);
  if (!found.stage) return;
  for (int k = first; k < out_.node_size(); ++k) {
    onnx::NodeProto& node = *out_.mutable_node(k);
    auto& devices = *node.add_device_configurations();
    devices.set_configuration_id(annotations_.configuration);
    devices.set_pipeline_stage(*found.stage);
    std::unordered_set<std::string> said;
    const auto write = [&](const auto& tensors) {
      for (const std::string& name : tensors)
        if (const auto at = found.shards.find(name);
            at != found.shards.end() && said.insert(name).second)
          write_shards(name, *at->second, *devices.add_sharding_spec());
    };
    write(node.input());
    write(node.output());
  }
}

}  // namespace soapstone::models
