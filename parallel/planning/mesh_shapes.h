// The shapes of meshes that a search may try: those that it begins with, and the neighbors of one.
#pragma once

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "parallel/planning/mesh_evaluation.h"

namespace soapstone::parallel {

class MeshShapes {
 public:
  /// Both must outlive this.
  MeshShapes(const MeshEvaluator& evaluator, const Freedom& freedom);

  /// Whether there are so many operators that not all can be tried of each shape.
  bool are_large() const;
  /// Not all of them are allowed.
  std::vector<MeshShape> first() const;
  /// Those that first() lacks, with the sizes of a mesh that there are; with the usual numbers of
  /// microbatches. Not all of them are allowed.
  std::vector<MeshShape> rest() const;
  /// Shapes whose sizes are half or twice as large, with other numbers of microbatches, or even in
  /// place of uneven. Not all of them are allowed.
  std::vector<MeshShape> neighbors(const MeshShape& from) const;
  /// Whether the model, the machine and the freedom admit it.
  bool is_allowed(const MeshShape& shape) const;
  /// The shape at the first level of recomputation and with the fewest pieces: a search tries each
  /// core at all levels and numbers of pieces.
  MeshShape core_of(MeshShape shape) const;
  /// Precondition: no shape is allowed, or none has a plan.
  core::Error why_none() const;

 private:
  /// Why stages cannot have as many pieces as the freedom asks for, if that is so.
  std::optional<core::Error> why_no_pieces(const std::vector<MeshShape>& shapes) const;
  /// The same of chunks of the loss.
  std::optional<core::Error> why_no_loss_chunks(const std::vector<MeshShape>& shapes) const;
  MeshShape start() const;
  std::vector<std::int64_t> parts_of_batch() const;
  std::vector<std::int64_t> stage_counts() const;
  std::vector<std::int64_t> microbatch_counts(const MeshShape& shape) const;
  std::vector<std::int64_t> other_microbatches(const MeshShape& from) const;
  std::int64_t usual_microbatches(const MeshShape& shape) const;
  void add_few_microbatches(MeshShape shape, std::vector<MeshShape>& shapes) const;
  void add_free_axis(std::vector<MeshShape>& shapes) const;
  void add_uneven(std::vector<MeshShape>& shapes) const;

  const MeshEvaluator& evaluator_;
  const Freedom& freedom_;
  const std::int64_t devices_, nodes_, batch_;
  const std::vector<std::int64_t> divisors_of_batch_;
};

}  // namespace soapstone::parallel
