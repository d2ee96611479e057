// See result_check.h.
#include "jobs/run/result_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "parallel/running/pieces_of_values.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/double_precision.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

/// Operations of a run in double precision that a difference may ask for: a few seconds.
constexpr double kMostExactWork = 3e10;

/// The result of one device with a rank's piece in its place.
core::Literal with_piece(const core::Literal& expected, const ComputedPiece& piece) {
  std::vector<std::byte> bytes(expected.bytes().begin(), expected.bytes().end());
  parallel::put_piece(piece.value->bytes(), core::size_bytes(expected.data_type()), *piece.piece,
                      expected.dims(), bytes);
  return core::Literal::copy(expected.data_type(), expected.dims(), bytes);
}

/// Positions in the piece of elements that have other bits.
std::vector<std::int64_t> different_elements(const core::Literal& expected,
                                             const core::Literal& actual) {
  std::vector<std::int64_t> positions;
  const std::size_t width = core::size_bytes(expected.data_type());
  for (std::int64_t k = 0; k < expected.count(); ++k) {
    const std::size_t at = static_cast<std::size_t>(k) * width;
    if (std::memcmp(expected.bytes().data() + at, actual.bytes().data() + at, width) != 0)
      positions.push_back(k);
  }
  return positions;
}

std::vector<search::Rounding> rounding_from(const std::vector<core::Literal>& expected,
                                            std::vector<std::vector<double>> exact) {
  std::vector<search::Rounding> rounding;
  for (std::size_t k = 0; k < expected.size(); ++k)
    rounding.push_back(search::rounding_of(expected[k].to_doubles(), std::move(exact[k])));
  return rounding;
}

}  // namespace

core::Result<ResultCheck> ResultCheck::make(const core::Graph& whole,
                                            const std::vector<core::Literal>& inputs,
                                            runtime::Backend& backend, runtime::Fusion fusion) {
  ResultCheck check(whole, inputs, backend);
  SOAPSTONE_ASSIGN_OR_RETURN(
      runtime::Executable executable,
      runtime::Executable::make(whole, backend, {.fusion = fusion, .hold_shared_weights = false}));
  SOAPSTONE_ASSIGN_OR_RETURN(check.expected_, executable.run(inputs));
  return check;
}

void ResultCheck::compare(const std::vector<ComputedPiece>& pieces,
                          std::vector<CheckedResult>& results) {
  std::vector<search::Floor> floors = search::floors_of(*whole_);
  for (std::size_t k = 0; k < floors.size(); ++k)
    floors[k].absolute = std::max(floors[k].absolute, results[k].accepted_error);
  for (const ComputedPiece& piece : pieces)
    add_piece(piece, floors[piece.output], results[piece.output]);
}

void ResultCheck::add_piece(const ComputedPiece& piece, const search::Floor& floor,
                            CheckedResult& result) {
  const auto whole = std::make_shared<const core::Literal>(expected_[piece.output]);
  const core::LiteralPtr expected = parallel::value_of_piece(whole, *piece.piece);
  result.elements += expected->count();
  const auto different = different_elements(*expected, *piece.value);
  if (different.empty()) return;
  result.different += static_cast<std::int64_t>(different.size());
  search::OutputError error;
  const bool is_within_tolerance = is_within(piece, floor, error);
  const bool is_worst = !result.difference || error.max_rel_error > result.max_rel_error ||
                        (result.is_within && !is_within_tolerance);
  result.is_within = result.is_within && is_within_tolerance;
  result.max_abs_error = std::max(result.max_abs_error, error.max_abs_error);
  result.max_rel_error = std::max(result.max_rel_error, error.max_rel_error);
  if (!is_worst) return;
  const auto at = static_cast<std::size_t>(different.front());
  result.difference = {piece.rank, parallel::index_in_whole(*piece.piece, different.front()),
                       expected->to_doubles()[at], piece.value->to_doubles()[at]};
}

bool ResultCheck::is_within(const ComputedPiece& piece, const search::Floor& floor,
                            search::OutputError& error) {
  const core::Literal& expected = expected_[piece.output];
  const std::vector<double> values = expected.to_doubles();
  const std::vector<double> actual = with_piece(expected, piece).to_doubles();
  if (search::compare(values, actual, floor, nullptr, {}, nullptr, error)) return true;
  if (rounding().empty()) return false;
  error = {};
  return search::compare(values, actual, floor, &rounding()[piece.output], {}, nullptr, error);
}

/// From double precision if that is affordable, else from a run of other kernels on inputs as
/// rounding might have left them.
const std::vector<search::Rounding>& ResultCheck::rounding() {
  if (rounding_) return *rounding_;
  rounding_.emplace();
  search::DoublePrecision precise(*whole_, kMostExactWork);
  if (auto exact = precise.run(*inputs_)) {
    *rounding_ = rounding_from(expected_, *std::move(exact));
    return *rounding_;
  }
  auto other = runtime::Executable::make(
      *whole_, *backend_, {.fusion = runtime::Fusion::kNone, .hold_shared_weights = false});
  if (!other) return *rounding_;
  const auto moved = other->run(search::perturbed(*inputs_, 0));
  if (!moved) return *rounding_;
  for (std::size_t k = 0; k < expected_.size(); ++k)
    rounding_->push_back(search::rounding_between(
        expected_[k].to_doubles(), (*moved)[k].to_doubles(), search::OtherRun::kMoved));
  return *rounding_;
}

}  // namespace soapstone::jobs
