// See small_sizes.h. Sizes are tried one after the other, each from the smallest on.
#include "jobs/run/small_sizes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jobs/models/model_files.h"
#include "jobs/run/resized_plan.h"
#include "models/networks/builders.h"

namespace soapstone::jobs {
namespace {

/// One number of a request.
struct Size {
  std::int64_t value = 0, original = 0;
  std::int64_t lowest = 1;
  void (*set)(PlannedModelRequest& request, const std::string& name, std::size_t at,
              std::int64_t value) = nullptr;
  std::string name;    ///< Of a parameter or a shape.
  std::size_t at = 0;  ///< Within the shape.
  std::string label;   ///< For people.
};

void set_parameter(PlannedModelRequest& request, const std::string& name, std::size_t,
                   std::int64_t value) {
  if (name == "batch" && request.batch)
    request.batch = value;
  else
    request.set[name] = value;
}

void set_shape(PlannedModelRequest& request, const std::string& name, std::size_t at,
               std::int64_t value) {
  request.shapes[name][at] = value;
}

void set_batch(PlannedModelRequest& request, const std::string&, std::size_t, std::int64_t value) {
  request.batch = value;
}

std::vector<Size> sizes_of_file(const PlannedModelRequest& request) {
  std::vector<Size> sizes;
  for (const auto& [name, dims] : request.shapes)
    for (std::size_t d = 0; d < dims.size(); ++d)
      sizes.push_back({dims[d], dims[d], 1, set_shape, name, d, fmt::format("{}[{}]", name, d)});
  if (request.batch)
    sizes.push_back({*request.batch, *request.batch, 1, set_batch, {}, 0, "batch"});
  return sizes;
}

std::vector<Size> sizes_of_network(const PlannedModelRequest& request) {
  std::vector<Size> sizes;
  for (const models::ModelBuilder& builder : models::builders()) {
    if (builder.name != request.model) continue;
    for (const models::ModelParameter& parameter : builder.parameters) {
      const auto set = request.set.find(parameter.name);
      std::int64_t value = set == request.set.end() ? parameter.default_value : set->second;
      if (parameter.name == "batch" && request.batch) value = *request.batch;
      sizes.push_back(
          {value, value, parameter.lowest, set_parameter, parameter.name, 0, parameter.name});
    }
  }
  return sizes;
}

double elements_of(const core::Graph& graph) {
  double elements = 0;
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t)
    if (const core::TensorId id(t); graph.contains(id))
      elements +=
          static_cast<double>(core::element_count(*core::concrete(graph.tensor(id).type.shape)));
  return elements;
}

class SmallSizes {
 public:
  SmallSizes(const MarkedModel& whole, PlannedModelRequest request,
             const parallel::PlanDocument& plan, const SizeLimits& limits, const Context& context)
      : limits_(limits), elements_(elements_of(whole.graph)),
        resizer_(whole.graph, whole.is_weight, plan), request_(std::move(request)),
        trains_(plan.is_training), context_(context) {}

  core::Result<std::optional<SizedModel>> run() {
    sizes_ = is_model_file(request_.model) ? sizes_of_file(request_) : sizes_of_network(request_);
    for (Size& size : sizes_)
      if (const auto least = limits_.least.find(size.label); least != limits_.least.end())
        size.lowest = std::max(size.lowest, least->second);
    for (bool has_changed = true; std::exchange(has_changed, false);)
      for (Size& size : sizes_) {
        SOAPSTONE_RETURN_IF_ERROR(context_.check_interrupt());
        has_changed |= lower(size);
      }
    if (!smallest_) return std::optional<SizedModel>();
    for (const Size& size : sizes_)
      if (size.value != size.original) smallest_->sizes.emplace(size.label, size.value);
    return std::move(smallest_);
  }

 private:
  /// 1, 2, 3, 4, 6, 8, 12, and so on: many divide them, and they are few.
  static std::int64_t next(std::int64_t value) {
    if (value < 2) return value + 1;
    return (value & (value - 1)) == 0 ? value + value / 2 : value + value / 3;
  }

  /// Whether a smaller value makes a model that the plan can be of.
  bool lower(Size& size) {
    for (std::int64_t value = 1; value < size.value; value = next(value)) {
      if (value < size.lowest) continue;
      PlannedModelRequest tried = request_;
      size.set(tried, size.name, size.at, value);
      auto resized = sized(tried);
      if (!resized) continue;
      const double elements = elements_of(resized->model.graph);
      if (elements == elements_) return false;  // It is the size of nothing.
      elements_ = elements;
      smallest_ = std::move(resized);
      request_ = std::move(tried);
      size.value = value;
      return true;
    }
    return false;
  }

  /// None: there is no such model, or the plan is none of it.
  std::optional<SizedModel> sized(const PlannedModelRequest& request) const {
    auto loaded = load_planned_model(request, Context{core::silent(), context_.stop, {}});
    if (!loaded || loaded->graph.node_bound() > resizer_.node_bound()) return std::nullopt;
    MarkedModel model = trains_ ? with_loss(*loaded, Context{core::silent(), context_.stop, {}})
                                : *std::move(loaded);
    auto plan = resizer_.plan_of(model.graph, model.is_weight, limits_);
    if (!plan) return std::nullopt;
    return SizedModel{std::move(model), *std::move(plan), {}};
  }

  const SizeLimits& limits_;
  double elements_;  ///< Of all tensors of the smallest model so far.
  const PlanResizer resizer_;
  PlannedModelRequest request_;
  const bool trains_;
  const Context& context_;
  std::vector<Size> sizes_;
  std::optional<SizedModel> smallest_;
};

}  // namespace

core::Result<std::optional<SizedModel>> at_small_sizes(const MarkedModel& whole,
                                                       const PlannedModelRequest& request,
                                                       const parallel::PlanDocument& plan,
                                                       const SizeLimits& limits,
                                                       const Context& context) {
  return SmallSizes(whole, request, plan, limits, context).run();
}

}  // namespace soapstone::jobs
