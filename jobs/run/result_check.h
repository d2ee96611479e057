// Whether what ranks computed is what one device computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/literal.h"
#include "parallel/lowering/rank_program.h"
#include "runtime/launches/backend.h"
#include "search/equivalence/rounding.h"

namespace soapstone::jobs {

/// An element of a rank's result that is not that of one device.
struct ResultDifference {
  std::int64_t rank = 0;
  core::Dims index;  ///< In the tensor of the model.
  double expected = 0, actual = 0;
};

struct CheckedResult {
  std::string name;
  double accepted_error = 0;   ///< An element may be off by that much, whatever else.
  bool has_cut_sums = false;   ///< A sum on the way to it is cut, so its bits may differ.
  std::int64_t elements = 0;   ///< Of all ranks' pieces.
  std::int64_t different = 0;  ///< Of these, other bits than one device has.
  bool is_within = true;       ///< Within the tolerance of compare-graphs.
  double max_abs_error = 0, max_rel_error = 0;
  /// The first element with other bits of the rank that is the furthest off.
  std::optional<ResultDifference> difference;

  /// Kernels add in the same order whatever the shape, so that bits differ only if sums are cut.
  bool has_exact_kernels = false;

  bool is_equal() const { return has_exact_kernels && !has_cut_sums ? different == 0 : is_within; }
};

/// A rank's piece of a result.
struct ComputedPiece {
  std::int64_t rank = 0;
  std::size_t output = 0;  ///< Number of the model's result.
  const parallel::TensorPiece* piece = nullptr;
  core::LiteralPtr value;
};

/// The model on one device, and how far its results may be off.
class ResultCheck {
 public:
  /// Runs `whole` on `backend`; all must outlive the result. Errors: those of running it.
  static core::Result<ResultCheck> make(const core::Graph& whole,
                                        const std::vector<core::Literal>& inputs,
                                        runtime::Backend& backend, runtime::Fusion fusion);

  /// `results`: by result of the model, with their names and what is known of their sums.
  void compare(const std::vector<ComputedPiece>& pieces, std::vector<CheckedResult>& results);

 private:
  ResultCheck(const core::Graph& whole, const std::vector<core::Literal>& inputs,
              runtime::Backend& backend)
      : whole_(&whole), inputs_(&inputs), backend_(&backend) {}

  void add_piece(const ComputedPiece& piece, const search::Floor& floor, CheckedResult& result);
  bool is_within(const ComputedPiece& piece, const search::Floor& floor,
                 search::OutputError& error);
  const std::vector<search::Rounding>& rounding();

  const core::Graph* whole_;
  const std::vector<core::Literal>* inputs_;
  runtime::Backend* backend_;
  std::vector<core::Literal> expected_;
  /// The rounding of each result, once it was asked for; empty: nothing is known of it.
  std::optional<std::vector<search::Rounding>> rounding_;
};

}  // namespace soapstone::jobs
