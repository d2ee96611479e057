#include "parallel/planning/mesh_shapes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::parallel {
namespace {

constexpr std::int64_t kMostModel = 64;
constexpr std::int64_t kNodesOfStage = 4;
constexpr std::int64_t kMostStages = 64;
constexpr std::int64_t kMicrobatchesAStage = 4;

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    result.push_back(d);
    if (d * d < n) result.push_back(n / d);
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace

MeshShapes::MeshShapes(const MeshEvaluator& evaluator, const Freedom& freedom)
    : evaluator_(evaluator), freedom_(freedom), devices_(evaluator.devices()),
      nodes_(evaluator.nodes()), batch_(evaluator.batch()), divisors_of_batch_(divisors(batch_)) {}

bool MeshShapes::are_large() const {
  constexpr std::int64_t kManyNodes = 1000;
  return nodes_ > kManyNodes;
}

core::Error MeshShapes::why_none() const {
  const std::vector<MeshShape> shapes = first();
  const bool all_wait = std::ranges::all_of(shapes, [](const MeshShape& shape) {
    return shape.chunks > 1 && shape.microbatches % shape.stages != 0;
  });
  if (!shapes.empty() && all_wait)
    return core::unsupported(
        fmt::format("stages with several pieces need a multiple of their number of microbatches, "
                    "and {} is none of {}",
                    shapes[0].microbatches, shapes[0].stages),
        "take more microbatches, or another strategy");
  if (const auto error = why_no_pieces(shapes)) return *error;
  if (const auto error = why_no_loss_chunks(shapes)) return *error;
  const std::vector<std::int64_t> parts = parts_of_batch();
  if (parts.empty())
    return core::unsupported(
        fmt::format("the strategy has no mesh for {} operators on {} devices", nodes_, devices_),
        "take another number of devices, or another strategy");
  const std::string hint =
      fmt::format("take a {} {}, or another strategy",
                  freedom_.premises.divides_batch ? "multiple of" : "batch of at least",
                  fmt::join(parts, " or "));
  return core::unsupported(
      fmt::format("a batch of {} does not fit {} devices with this strategy", batch_, devices_),
      hint);
}

std::optional<core::Error> MeshShapes::why_no_pieces(const std::vector<MeshShape>& shapes) const {
  const std::int64_t chunks = freedom_.chunks.value_or(freedom_.premises.least.chunks);
  if (chunks == 1 || std::ranges::any_of(shapes, [&](const MeshShape& shape) {
        return shape.stages > 1 && shape.stages * chunks <= nodes_;
      }))
    return std::nullopt;
  if (devices_ == 1 || freedom_.stages == 1 || !freedom_.pipelines)
    return core::unsupported(
        fmt::format("{} pieces a stage need several stages, and {}", chunks,
                    devices_ == 1 ? "there is one device" : "the plan has one stage"),
        "take one piece a stage, or several stages");
  return core::unsupported(
      fmt::format("{} pieces for each of several stages need more than the {} operators of the "
                  "model",
                  chunks, nodes_),
      "take fewer pieces, or another number of stages");
}

std::optional<core::Error>
MeshShapes::why_no_loss_chunks(const std::vector<MeshShape>& shapes) const {
  if (shapes.empty() || std::ranges::any_of(shapes, [&](const MeshShape& shape) {
        return evaluator_.can_cut_loss(shape);
      }))
    return std::nullopt;
  const std::int64_t chunks = freedom_.loss_chunks.value_or(1), rows = evaluator_.rows_of_loss();
  if (rows == 0)
    return core::unsupported("the model has no loss behind a product with a weight, which alone "
                             "is computed in chunks",
                             "leave `loss_chunks` to the search");
  return core::unsupported(
      rows % chunks == 0
          ? fmt::format("{} chunks do not divide the share of a part of the batch in the {} rows "
                        "of the loss",
                        chunks, rows)
          : fmt::format("{} chunks do not divide the {} rows of the loss", chunks, rows),
      "take a divisor of the number of rows, or leave `loss_chunks` to the search");
}

/// Into how many parts the first meshes cut the batch; without multiples of one another.
std::vector<std::int64_t> MeshShapes::parts_of_batch() const {
  std::vector<std::int64_t> parts, least;
  for (const MeshShape& shape : first()) {
    const std::int64_t microbatches =
        freedom_.microbatches.value_or(shape.chunks > 1 ? shape.stages : 1);
    if (holds(freedom_.premises, shape, 0)) parts.push_back(shape.batch * microbatches);
  }
  std::ranges::sort(parts);
  for (const std::int64_t count : parts)
    if (std::ranges::none_of(least, [&](std::int64_t less) { return count % less == 0; }))
      least.push_back(count);
  return least;
}

std::vector<MeshShape> MeshShapes::first() const {
  std::vector<MeshShape> shapes;
  for (const std::int64_t stages : stage_counts())
    for (const std::int64_t model : divisors(devices_ / stages)) {
      if (freedom_.model ? model != *freedom_.model : model > kMostModel) continue;
      MeshShape shape = start();
      shape.stages = stages;
      shape.model = model;
      shape.any = freedom_.any.value_or(freedom_.premises.least.any);
      if (devices_ % (stages * model * shape.any) != 0) continue;
      shape.batch = devices_ / (stages * model * shape.any);
      shape.microbatches = usual_microbatches(shape);
      shapes.push_back(shape);
      add_few_microbatches(shape, shapes);
    }
  add_free_axis(shapes);
  add_uneven(shapes);
  return shapes;
}

std::vector<MeshShape> MeshShapes::rest() const {
  std::vector<MeshShape> shapes;
  if (freedom_.any || freedom_.premises.least.any > 1) return shapes;
  for (const std::int64_t stages : stage_counts())
    for (const std::int64_t model : divisors(devices_ / stages)) {
      if (freedom_.model ? model != *freedom_.model : model > kMostModel) continue;
      for (const std::int64_t any : divisors(devices_ / stages / model)) {
        if (any == 1) continue;
        MeshShape shape = start();
        shape.stages = stages;
        shape.model = model;
        shape.any = any;
        shape.batch = devices_ / (stages * model * any);
        shape.microbatches = usual_microbatches(shape);
        shapes.push_back(shape);
        add_few_microbatches(shape, shapes);
      }
    }
  add_uneven(shapes);
  return shapes;
}

void MeshShapes::add_uneven(std::vector<MeshShape>& shapes) const {
  for (std::size_t k = 0, evenly = shapes.size(); k < evenly; ++k) {
    MeshShape shape = shapes[k];
    shape.is_uneven = true;
    if (evaluator_.can_be_uneven(shape)) shapes.push_back(shape);
  }
}

/// Stages in pieces need no more microbatches than there are stages.
void MeshShapes::add_few_microbatches(MeshShape shape, std::vector<MeshShape>& shapes) const {
  if (freedom_.microbatches || shape.stages == 1 || are_large()) return;
  if (shape.microbatches == shape.stages || freedom_.chunks.value_or(2) == 1) return;
  shape.microbatches = shape.stages;
  shapes.push_back(shape);
}

MeshShape MeshShapes::start() const {
  MeshShape shape;
  shape.recompute = freedom_.recompute.value_or(Recompute::kNothing);
  shape.chunks = freedom_.chunks.value_or(freedom_.premises.least.chunks);
  shape.loss_chunks = freedom_.loss_chunks.value_or(1);
  shape.sums_behind = freedom_.sums_behind;
  shape.gathers_once = freedom_.gathers_once.value_or(false);
  return shape;
}

/// An axis that may cut anything, batch or not, for what no axis of one kind cuts well: over all
/// devices, and in small models over some of them.
void MeshShapes::add_free_axis(std::vector<MeshShape>& shapes) const {
  if (freedom_.any || freedom_.model || freedom_.stages.value_or(1) != 1) return;
  for (const std::int64_t any : divisors(devices_)) {
    if (any == 1 || (any < devices_ && are_large())) continue;
    MeshShape shape = start();
    shape.any = any;
    shape.batch = devices_ / any;
    shape.microbatches = usual_microbatches(shape);
    shapes.push_back(shape);
  }
}

std::vector<std::int64_t> MeshShapes::stage_counts() const {
  if (freedom_.stages) return {*freedom_.stages};
  std::vector<std::int64_t> counts;
  for (const std::int64_t d : divisors(devices_))
    if (d == 1 || (freedom_.pipelines && d <= std::min(nodes_ / kNodesOfStage, kMostStages)))
      counts.push_back(d);
  return counts;
}

/// Numbers of microbatches that the batch and the strategy admit, ascending.
std::vector<std::int64_t> MeshShapes::microbatch_counts(const MeshShape& shape) const {
  std::vector<std::int64_t> counts;
  for (const std::int64_t count : divisors_of_batch_) {
    MeshShape with = shape;
    with.microbatches = count;
    if (count * shape.batch > batch_ || !holds(freedom_.premises, with, batch_)) continue;
    if (shape.chunks > 1 && count % shape.stages != 0) continue;
    counts.push_back(count);
  }
  return counts;
}

/// The most up to some for each stage.
std::int64_t MeshShapes::usual_microbatches(const MeshShape& shape) const {
  if (freedom_.microbatches) return *freedom_.microbatches;
  if (shape.stages == 1) return 1;
  const std::vector<std::int64_t> counts = microbatch_counts(shape);
  const auto above = std::ranges::upper_bound(counts, kMicrobatchesAStage * shape.stages);
  if (above != counts.begin()) return *std::prev(above);
  return counts.empty() ? 1 : counts.front();
}

/// The next smaller and larger numbers, those half and twice as large, and the largest one.
std::vector<std::int64_t> MeshShapes::other_microbatches(const MeshShape& from) const {
  const std::vector<std::int64_t> counts = microbatch_counts(from);
  std::set<std::int64_t> others;
  const auto add = [&](std::vector<std::int64_t>::const_iterator at) {
    if (at != counts.end()) others.insert(*at);
  };
  add(std::ranges::upper_bound(counts, from.microbatches));
  add(std::ranges::lower_bound(counts, 2 * from.microbatches));
  add(std::ranges::lower_bound(counts, (from.microbatches + 1) / 2));
  const auto here = std::ranges::lower_bound(counts, from.microbatches);
  if (here != counts.begin()) add(std::prev(here));
  if (!counts.empty()) others.insert(counts.back());
  others.erase(from.microbatches);
  return {others.begin(), others.end()};
}

/// A shape comes with all levels of recomputation and all numbers of pieces.
MeshShape MeshShapes::core_of(MeshShape shape) const {
  shape.recompute = start().recompute;
  shape.chunks = start().chunks;
  return shape;
}

std::vector<MeshShape> MeshShapes::neighbors(const MeshShape& from) const {
  std::vector<MeshShape> all;
  const auto add = [&](MeshShape shape, std::int64_t MeshShape::*grows,
                       std::int64_t MeshShape::*shrinks) {
    if (shrinks && shape.*shrinks % 2 != 0) return;
    shape.*grows *= 2;
    if (shrinks) shape.*shrinks /= 2;
    all.push_back(shape);
    // The new sizes may not admit that many microbatches: the nearest smaller number is taken.
    if (freedom_.microbatches || is_allowed(shape)) return;
    const std::vector<std::int64_t> counts = microbatch_counts(shape);
    const auto near = std::ranges::upper_bound(counts, shape.microbatches);
    if (near == counts.begin()) return;
    all.back().microbatches = *std::prev(near);
  };
  const auto sizes = {&MeshShape::stages, &MeshShape::model, &MeshShape::any, &MeshShape::batch};
  for (const auto grows : sizes)
    for (const auto shrinks : sizes)
      if (grows != shrinks) add(from, grows, shrinks);
  for (const std::int64_t count : other_microbatches(from)) {
    all.push_back(from);
    all.back().microbatches = count;
  }
  MeshShape turned = from;
  turned.is_uneven = !from.is_uneven;
  all.push_back(turned);
  return all;
}

bool MeshShapes::is_allowed(const MeshShape& shape) const {
  const auto differs = [](const std::optional<std::int64_t>& fixed, std::int64_t size) {
    return fixed && *fixed != size;
  };
  if (differs(freedom_.model, shape.model) || differs(freedom_.any, shape.any) ||
      differs(freedom_.stages, shape.stages) || differs(freedom_.chunks, shape.chunks) ||
      differs(freedom_.microbatches, shape.microbatches) ||
      differs(freedom_.loss_chunks, shape.loss_chunks) || !evaluator_.can_cut_loss(shape))
    return false;
  if (shape.stages > 1 && !freedom_.pipelines) return false;
  if (shape.is_uneven && !(freedom_.cuts_unevenly && evaluator_.can_be_uneven(shape))) return false;
  if (freedom_.recompute ? *freedom_.recompute != shape.recompute
                         : !evaluator_.can_recompute(shape.recompute))
    return false;
  if (shape.gathers_once && !evaluator_.is_training()) return false;
  if (freedom_.gathers_once && *freedom_.gathers_once != shape.gathers_once) return false;
  // Stages in pieces take turns with as many microbatches as there are stages.
  if (shape.chunks > 1 && (shape.stages == 1 || shape.microbatches % shape.stages != 0))
    return false;
  if (shape.stages * shape.chunks > nodes_) return false;
  if (!holds(freedom_.premises, shape, batch_)) return false;
  if (shape.batch * shape.microbatches > batch_) return false;
  return batch_ % shape.microbatches == 0 && shape.device_count() == devices_;
}

}  // namespace soapstone::parallel
