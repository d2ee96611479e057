// `slice`: evenly spaced elements of some dimensions, forward or backward. ONNX's starts and ends
// are clamped and counted from either side; ours are plain.
#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

/// First and last element of a non-empty range lie within the dimension.
bool require_range(InferContext& c, const Polynomial& start, const Polynomial& size,
                   std::int64_t step, const Polynomial& whole) {
  if (!c.require_at_least(size, 0, "slice.sizes")) return false;
  if (size == Polynomial(0)) return true;
  const Polynomial last = start + (size - 1) * step;
  return c.require_at_least(step > 0 ? start : last, 0, "slice.range") &&
         c.require_at_least(whole - 1, step > 0 ? last : start, "slice.range");
}

std::vector<TensorType> infer_slice(InferContext& c) {
  if (!require_elements(c, "slice", Elements::kNumbers)) return {};
  const auto axes = require_axes(c, "slice", c.rank(0));
  const auto steps = require_ints(c, "slice", "steps");
  if (!axes || !steps) return {};
  const Sizes &starts = c.attributes().get_sizes("starts"),
              &sizes = c.attributes().get_sizes("sizes");
  if (!c.require(starts.size() == axes->size() && sizes.size() == axes->size() &&
                     steps->size() == axes->size(),
                 "slice.lists", "axes, starts, sizes and steps must be equally long") ||
      !c.require(std::ranges::find(*steps, 0) == steps->end(), "slice.steps",
                 "steps must not be 0"))
    return {};
  Shape result = c.shape(0);
  for (std::size_t k = 0; k < axes->size(); ++k) {
    if (!require_range(c, starts[k], sizes[k], (*steps)[k], result[(*axes)[k]])) return {};
    result[(*axes)[k]] = sizes[k];
  }
  return {{c.input(0).data_type, std::move(result)}};
}

Semantics slice_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const std::vector<std::size_t> axes = axes_of(op.attributes);
  const std::vector<std::int64_t> steps = op.attributes.get_ints("steps");
  const Sizes& starts = op.attributes.get_sizes("starts");
  builder.output(op.outputs[0].shape, [&](Index i) {
    for (std::size_t k = 0; k < axes.size(); ++k) i[axes[k]] = starts[k] + i[axes[k]] * steps[k];
    return read(0, std::move(i));
  });
  return std::move(builder).finish();
}

/// Start and size that ONNX's clamped start and end come to.
std::pair<std::int64_t, std::int64_t> clamped_range(std::int64_t start, std::int64_t end,
                                                    std::int64_t step, std::int64_t whole) {
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? whole : whole - 1;
  // Starts of backward slices are within the tensor; ends may be one before it.
  if (start < 0) start += whole;
  if (end < 0) end += whole;
  start = std::clamp(start, std::int64_t{0}, std::max<std::int64_t>(highest, 0));
  end = std::clamp(end, lowest, std::max(highest, lowest));
  const std::int64_t span = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  if (span <= 0 || whole == 0) return {0, 0};
  return {start, (span - 1) / stride + 1};
}

ReadResult read_slice(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto starts, import.ints_or_input("starts", 1));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto ends, import.ints_or_input("ends", 2));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given_axes, import.ints_or_input("axes", 3));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given_steps, import.ints_or_input("steps", 4));
  const std::size_t count = starts ? starts->size() : 0;
  const auto steps = given_steps.value_or(std::vector<std::int64_t>(count, 1));
  if (!starts || !ends || ends->size() != count || steps.size() != count ||
      (given_axes ? given_axes->size() != count : count > x.size()))
    return bad_node(import, "starts, ends, axes and steps are not equally long");
  // By axis, so that the result ascends.
  std::vector<std::optional<std::size_t>> entry_of(x.size());
  for (std::size_t k = 0; k < count; ++k) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        const std::int64_t axis,
        non_negative_axis(import, given_axes ? (*given_axes)[k] : static_cast<std::int64_t>(k),
                          x.size()));
    auto& entry = entry_of[static_cast<std::size_t>(axis)];
    if (entry || steps[k] == 0) return bad_node(import, "an axis given twice, or a step of 0");
    entry = k;
  }
  Sizes axes, from, sizes, by;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!entry_of[d]) continue;
    const std::size_t k = *entry_of[d];
    const auto [start, size] = clamped_range((*starts)[k], (*ends)[k], steps[k], x[d]);
    if (start == 0 && size == x[d] && (steps[k] == 1 || size <= 1)) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    from.push_back(start);
    sizes.push_back(size);
    by.push_back(size <= 1 ? 1 : steps[k]);
  }
  if (axes.empty()) return std::vector{import.input(0)};
  return import.append("slice", {import.input(0)},
                       {{"axes", axes}, {"starts", from}, {"sizes", sizes}, {"steps", by}});
}

core::Status write_slice(OnnxExport& out) {
  Emitter emitter(out);
  const Attributes& given = emitter.attributes();
  emitter.slice(emitter.operand(0),
                {given.get_ints("axes"), given.get_ints("starts"), given.get_ints("sizes"),
                 given.get_ints("steps")},
                true);
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> slice_ops() {
  const auto list = [](const char* name, AttributeRole role,
                       std::vector<core::AttributeValue> tried) {
    return AttributeSchema{name, role, std::nullopt, std::move(tried)};
  };
  return {OpDefinition({
      .name = "slice",
      .equation = "x[…] → y[…] = x[…, start + i·step, …] for i < size in each of the axes",
      .attributes =
          std::vector<AttributeSchema>{list("axes", AttributeRole::kAxes, {Sizes{0}, Sizes{1}}),
                                       list("starts", AttributeRole::kStart, {Sizes{0}, Sizes{1}}),
                                       list("sizes", AttributeRole::kExtent, {}),
                                       list("steps", AttributeRole::kStep, {Sizes{1}})},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kCut,
      .infer = infer_slice,
      .semantics = slice_semantics,
      .onnx = OnnxMapping{{reader("Slice", Elements::kNumbers, read_slice)}, write_slice},
  })};
}

}  // namespace soapstone::ops
