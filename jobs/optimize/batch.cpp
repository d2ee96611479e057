// See batch.h.
#include "jobs/optimize/batch.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "jobs/models/batched_file.h"
#include "jobs/models/model_files.h"
#include "models/onnx/batch_size.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/rounding.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::Literal;
using core::TensorId;

/// Kernels round otherwise in a batch; an item on which others have an influence is further off.
constexpr double kOfOthers = 0.02;

core::Error mixes(const Graph& graph, TensorId id, const std::string& why) {
  return core::invalid_input(
      fmt::format("the model allows no other batch: '{}' {}", graph.tensor(id).name, why),
      kBatchHint);
}

/// The dimension in which two shapes differ as 1 and `batch`; none inside: they are equal. None at
/// all: they differ otherwise.
std::optional<std::optional<std::size_t>> batch_axis(const core::Dims& one, const core::Dims& many,
                                                     std::int64_t batch) {
  if (one.size() != many.size()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t k = 0; k < one.size(); ++k) {
    if (one[k] == many[k]) continue;
    if (axis || one[k] != 1 || many[k] != batch) return std::nullopt;
    axis = k;
  }
  return std::optional(axis);
}

/// Bytes of one item behind the axis, and how often they occur.
struct Stretch {
  std::size_t count = 1, size_bytes = 0;
};
Stretch stretch_of(const Literal& item, std::size_t axis) {
  Stretch stretch;
  for (std::size_t k = 0; k < axis; ++k) stretch.count *= static_cast<std::size_t>(item.dims()[k]);
  stretch.size_bytes = stretch.count == 0 ? 0 : item.bytes().size() / stretch.count;
  return stretch;
}

Literal joined(const std::vector<Literal>& items, std::size_t axis) {
  const auto [count, size_bytes] = stretch_of(items.front(), axis);
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < count; ++at)
    for (const Literal& item : items) {
      const auto part = item.bytes().subspan(at * size_bytes, size_bytes);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  core::Dims dims = items.front().dims();
  dims[axis] = static_cast<std::int64_t>(items.size());
  return Literal::copy(items.front().data_type(), std::move(dims), bytes);
}

/// `alike`: has the type and the sizes of one item.
Literal item_of(const Literal& all, const Literal& alike, std::size_t axis, std::size_t item) {
  const auto [count, size_bytes] = stretch_of(alike, axis);
  const auto items = static_cast<std::size_t>(all.dims()[axis]);
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < count; ++at) {
    const auto part = all.bytes().subspan((at * items + item) * size_bytes, size_bytes);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return Literal::copy(alike.data_type(), alike.dims(), bytes);
}

class BatchCheck {
 public:
  BatchCheck(const Graph& one, const Graph& many, std::int64_t batch)
      : one_(one), many_(many), batch_(batch) {}

  core::Status check_shapes() {
    for (std::size_t k = 0; k < one_.inputs().size(); ++k)
      SOAPSTONE_RETURN_IF_ERROR(add_axis(one_.inputs()[k], many_.inputs()[k], input_axes_));
    for (std::size_t k = 0; k < one_.outputs().size(); ++k) {
      SOAPSTONE_RETURN_IF_ERROR(add_axis(one_.outputs()[k], many_.outputs()[k], output_axes_));
      if (!output_axes_.back()) return mixes(one_, one_.outputs()[k], "is the same for all items");
    }
    return core::Done{};
  }

  /// The first and the last item among all of them. False: something cannot be run.
  core::Result<bool> check_items(runtime::Backend& backend, std::uint64_t seed) {
    const auto last = static_cast<std::size_t>(batch_) - 1;
    const auto items = draw(seed);
    std::vector<Literal> all;
    for (std::size_t k = 0; k < input_axes_.size(); ++k) {
      std::vector<Literal> of_input;
      for (const auto& item : items) of_input.push_back(item[k]);
      all.push_back(input_axes_[k] ? joined(of_input, *input_axes_[k]) : of_input.front());
    }
    auto together = runtime::Executable::make(many_, backend);
    auto alone = runtime::Executable::make(one_, backend);
    if (!together || !alone) return false;
    const auto results = together->run(all);
    if (!results) return false;
    for (const std::size_t item : {std::size_t{0}, last}) {
      const auto expected = alone->run(items[item]);
      if (!expected) return false;
      SOAPSTONE_RETURN_IF_ERROR(compare(*expected, *results, item));
    }
    return true;
  }

 private:
  core::Status add_axis(TensorId one, TensorId many,
                        std::vector<std::optional<std::size_t>>& axes) {
    const auto dims = core::concrete(one_.tensor(one).type.shape);
    const auto of_many = core::concrete(many_.tensor(many).type.shape);
    const auto axis = dims && of_many ? batch_axis(*dims, *of_many, batch_) : std::nullopt;
    if (!axis) return mixes(one_, one, "does not grow with it");
    axes.push_back(*axis);
    return core::Done{};
  }

  /// Inputs for each item; those without a batch are the same for all.
  std::vector<std::vector<Literal>> draw(std::uint64_t seed) const {
    std::vector<std::vector<Literal>> items;
    for (std::uint64_t item = 0; item < static_cast<std::uint64_t>(batch_); ++item) {
      items.push_back(search::sample_inputs(one_, search::SampleKind::kNormal, seed + item));
      for (std::size_t k = 0; k < input_axes_.size(); ++k)
        if (!input_axes_[k]) items.back()[k] = items.front()[k];
    }
    return items;
  }

  core::Status compare(const std::vector<Literal>& expected, const std::vector<Literal>& results,
                       std::size_t item) const {
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const core::DataType type = expected[k].data_type();
      if (core::size_bytes(type) == 0) continue;
      const Literal own = item_of(results[k], expected[k], *output_axes_[k], item);
      const search::Floor floor{core::is_floating(type) ? kOfOthers : 0, 0,
                                core::is_floating(type) ? std::numeric_limits<double>::max() : 0};
      search::OutputError error;
      if (!search::compare(expected[k].to_doubles(), own.to_doubles(), floor, nullptr, {}, nullptr,
                           error))
        return mixes(one_, one_.outputs()[k], "is another for an item among others than alone");
    }
    return core::Done{};
  }

  const Graph &one_, &many_;
  const std::int64_t batch_;
  std::vector<std::optional<std::size_t>> input_axes_, output_axes_;
};

}  // namespace

core::Status check_batch(const OptimizeRequest& request, const models::OnnxModel& model,
                         runtime::Backend& backend, const Context& context) {
  if (request.batch == 1) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto folder, core::PrivateFolder::make());
  const std::filesystem::path path = folder.path() / "one.onnx";
  SOAPSTONE_RETURN_IF_ERROR(models::write_with_batch(request.model, 1, path));
  auto one = models::read_onnx(
      path, {.shapes = request.shapes, .fold_default_inputs = request.fold_default_inputs});
  if (!one) return one.error().at(request.model);
  BatchCheck check(one->graph, model.graph, request.batch);
  if (auto status = check.check_shapes(); !status) return status.error().at(request.model);
  const auto checked = check.check_items(backend, request.seed);
  if (!checked) return checked.error().at(request.model);
  if (!*checked) {
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}: cannot be run here, so nothing shows that items of a "
                                     "batch do not depend on each other",
                                     request.model));
  }
  return core::Done{};
}

}  // namespace soapstone::jobs
