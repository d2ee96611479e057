// The files that are written at several sizes become one, which computes the sizes that differ and
// leaves open those that it declares.
#include "models/onnx/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "models/onnx/open_constants.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

bool is_open(const Dimension& dimension) {
  return !dimension.has_dim_value() || dimension.dim_value() < 0;
}

const onnx::TensorShapeProto* shape_of(const onnx::ValueInfoProto& value) {
  const bool has = value.type().has_tensor_type() && value.type().tensor_type().has_shape();
  return has ? &value.type().tensor_type().shape() : nullptr;
}

core::Dims sizes_of(const core::Graph& graph, const std::string& input) {
  for (core::TensorId id : graph.inputs()) {
    if (graph.tensor(id).name == input)
      return core::concrete(graph.tensor(id).type.shape).value_or(core::Dims{});
  }
  return {};
}

/// Dimensions that are tried together: each trial may read the model several times.
constexpr std::size_t kMostInPairs = 6, kMostInParts = 4;

OpenDimension together(std::span<const OpenDimension> parts) {
  OpenDimension all{"", {}, std::ranges::min(parts, {}, &OpenDimension::size).size};
  for (const OpenDimension& part : parts) {
    all.name += (all.name.empty() ? "" : " with ") + part.text();
    if (part.size > all.size) all.name += fmt::format(" ({} more)", part.size - all.size);
    all.places.insert(all.places.end(), part.places.begin(), part.places.end());
  }
  return all;
}

/// Sizes of `value` that are others in `other` become open. True: there were some.
bool open_differing(onnx::ValueInfoProto& value, const onnx::ValueInfoProto& other,
                    const onnx::ValueInfoProto* declared) {
  const auto* there = shape_of(other);
  if (!shape_of(value) || !there) return false;
  auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  const auto* original = declared ? shape_of(*declared) : nullptr;
  bool differs = false;
  for (int d = 0; d < shape.dim_size(); ++d) {
    if (d < there->dim_size() && shape.dim(d).dim_value() == there->dim(d).dim_value()) continue;
    differs = true;
    shape.mutable_dim(d)->clear_value();
    if (original && d < original->dim_size() && is_open(original->dim(d)))
      *shape.mutable_dim(d) = original->dim(d);
  }
  return differs;
}

}  // namespace

std::string OpenDimension::text() const {
  if (!name.empty()) return name;
  return fmt::format("dimension {} of {}", places.front().second, places.front().first);
}

bool may_vary(const OnnxModel& model, const core::Literal& constant) {
  return model.header->folded && model.header->folded->varies(constant.hash());
}

std::vector<OpenDimension> open_dimensions(const OnnxModel& model) {
  std::vector<OpenDimension> open;
  for (const auto& input : model.header->skeleton.graph().input()) {
    const auto* shape = shape_of(input);
    const core::Dims sizes = sizes_of(model.graph, input.name());
    for (int d = 0; shape && d < shape->dim_size(); ++d) {
      const auto index = static_cast<std::size_t>(d);
      if (!is_open(shape->dim(d)) || index >= sizes.size()) continue;
      const std::string& name = shape->dim(d).dim_param();
      auto known = std::find_if(open.begin(), open.end(), [&](const OpenDimension& dimension) {
        return !name.empty() && dimension.name == name;
      });
      if (known == open.end()) known = open.insert(open.end(), {name, {}, sizes[index]});
      known->places.emplace_back(input.name(), index);
    }
  }
  return open;
}

std::vector<OpenDimension>
free_dimensions(const OnnxModel& model,
                const std::function<bool(const OpenDimension&)>& has_other) {
  std::vector<OpenDimension> free, stuck;
  for (OpenDimension& dimension : open_dimensions(model))
    (has_other(dimension) ? free : stuck).push_back(std::move(dimension));
  std::vector<bool> has_place(stuck.size());  // in a dimension that is free
  const auto take = [&](const std::vector<std::size_t>& members) {
    if (members.size() < 2) return;
    std::vector<OpenDimension> parts;
    for (const std::size_t k : members) parts.push_back(stuck[k]);
    OpenDimension all = together(parts);
    if (!has_other(all)) return;
    for (const std::size_t k : members) has_place[k] = true;
    free.push_back(std::move(all));
  };
  // The smallest parts first: of two pairs that are free each, one need not follow the other.
  const auto take_parts = [&](const std::vector<std::size_t>& members) {
    if (members.size() > kMostInParts) return take(members);
    for (std::size_t count = 2; count <= members.size(); ++count) {
      for (std::size_t chosen = 0; chosen < std::size_t{1} << members.size(); ++chosen) {
        std::vector<std::size_t> part;
        for (std::size_t k = 0; k < members.size(); ++k)
          if ((chosen >> k & 1) != 0 && !has_place[members[k]]) part.push_back(members[k]);
        const auto asked = static_cast<std::size_t>(std::popcount(chosen));
        if (asked == count && part.size() == count) take(part);
      }
    }
  };
  const auto take_alike = [&](const auto& key_of) {
    std::map<decltype(key_of(stuck[0])), std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < stuck.size(); ++k)
      if (!has_place[k]) groups[key_of(stuck[k])].push_back(k);
    for (const auto& [key, members] : groups) take_parts(members);
  };
  take_alike([](const OpenDimension& dimension) { return dimension.size; });
  take_alike([](const OpenDimension& dimension) {
    return std::pair(dimension.places.front().second, dimension.size);
  });
  const std::vector<bool> was_taken = has_place;
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < stuck.size(); ++k)
    if (!was_taken[k]) left.push_back(k);
  if (left.size() <= kMostInPairs) {
    for (std::size_t a = 0; a < left.size(); ++a)
      for (std::size_t b = a + 1; b < left.size(); ++b) take({left[a], left[b]});
  }
  for (std::size_t k = 0; k < stuck.size(); ++k)
    if (!has_place[k]) free.push_back(std::move(stuck[k]));
  return free;
}

std::map<std::string, core::Dims> shapes_at(const OnnxModel& model,
                                            std::span<const OpenDimension> dimensions,
                                            std::span<const std::int64_t> sizes) {
  std::map<std::string, core::Dims> shapes;
  for (const auto& input : model.header->skeleton.graph().input()) {
    if (input.type().has_tensor_type()) shapes[input.name()] = sizes_of(model.graph, input.name());
  }
  for (std::size_t k = 0; k < dimensions.size(); ++k) {
    for (const auto& [input, d] : dimensions[k].places)
      shapes[input][d] += sizes[k] - dimensions[k].size;
  }
  return shapes;
}

struct OpenExport::State {
  std::vector<ExportedModel> files;  ///< At each of the sizes.
  onnx::GraphProto declared;         ///< Inputs and outputs as the original has them.
  bool has_external_weights = false;

  core::Result<ExportedModel> open_file() const;
  void declare_open(const onnx::GraphProto& theirs, onnx::GraphProto& ours) const;
};

OpenExport::OpenExport(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenExport::OpenExport(OpenExport&&) noexcept = default;
OpenExport::~OpenExport() = default;

core::Result<OpenExport> OpenExport::begin(const core::Graph& graph, const ModelHeader& header) {
  auto state = std::make_unique<State>();
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel first, export_graph(graph, header));
  state->files.push_back(std::move(first));
  state->declared = header.skeleton.graph();
  state->has_external_weights = header.has_external_weights;
  return OpenExport(std::move(state));
}

core::Status OpenExport::add(const core::Graph& graph, const ModelHeader& header) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel other, export_graph(graph, header));
  state_->files.push_back(std::move(other));
  const auto file = state_->open_file();
  if (!file) return file.error();
  return core::Done{};
}

core::Result<ExportedModel> OpenExport::State::open_file() const {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel file, with_open_constants(files));
  for (const ExportedModel& other : files) {
    const onnx::GraphProto &ours = file.model.graph(), &theirs = other.model.graph();
    if (ours.input_size() != theirs.input_size() || ours.output_size() != theirs.output_size())
      return core::unsupported("it has other inputs or outputs at other sizes");
    declare_open(theirs, *file.model.mutable_graph());
  }
  return file;
}

void OpenExport::State::declare_open(const onnx::GraphProto& theirs, onnx::GraphProto& ours) const {
  for (int k = 0; k < ours.input_size(); ++k)
    open_differing(*ours.mutable_input(k), theirs.input(k),
                   k < declared.input_size() ? &declared.input(k) : nullptr);
  for (int k = 0; k < ours.output_size(); ++k)
    open_differing(*ours.mutable_output(k), theirs.output(k),
                   k < declared.output_size() ? &declared.output(k) : nullptr);
  std::map<std::string, const onnx::ValueInfoProto*> inner;
  for (const auto& value : theirs.value_info()) inner[value.name()] = &value;
  auto& values = *ours.mutable_value_info();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](onnx::ValueInfoProto& value) {
                                const auto found = inner.find(value.name());
                                return found == inner.end() ||
                                       open_differing(value, *found->second, nullptr);
                              }),
               values.end());
}

core::Status OpenExport::write(const std::filesystem::path& path) const {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel file, state_->open_file());
  auto status =
      write_exported(std::move(file), state_->has_external_weights, path, kMostEmbeddedBytes);
  if (status || !status.error().where.empty()) return status;
  return status.error().at(path.string());
}

}  // namespace soapstone::models
