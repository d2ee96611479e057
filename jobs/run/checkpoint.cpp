// See checkpoint.h.
#include "jobs/run/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "models/files/npz.h"
#include "parallel/running/pieces_of_values.h"

namespace soapstone::jobs {
namespace {

constexpr const char* kSteps = "soapstone.steps";

using Arrays = std::vector<std::pair<std::string, core::Literal>>;

const core::Literal* find(const Arrays& arrays, const std::string& name) {
  const auto at = std::ranges::find(
      arrays, name, [](const auto& entry) -> const auto& { return entry.first; });
  return at == arrays.end() ? nullptr : &at->second;
}

}  // namespace

Arrays whole_results(const PreparedRun& prepared, const std::vector<ComputedPiece>& pieces) {
  Arrays results;
  for (std::size_t k = 0; k < prepared.results.size(); ++k) {
    const core::TensorType& type = prepared.results[k].type;
    const core::Dims dims = *core::concrete(type.shape);
    const std::size_t width = core::size_bytes(type.data_type);
    std::vector<std::byte> bytes(static_cast<std::size_t>(core::element_count(dims)) * width);
    for (const ComputedPiece& piece : pieces)
      if (piece.output == k)
        parallel::put_piece(piece.value->bytes(), width, *piece.piece, dims, bytes);
    results.emplace_back(prepared.results[k].name,
                         core::Literal::copy(type.data_type, dims, bytes));
  }
  return results;
}

core::Status save_checkpoint(const std::string& path, const PreparedRun& prepared,
                             const std::vector<ComputedPiece>& pieces, std::int64_t steps) {
  Arrays arrays = whole_results(prepared, pieces);
  for (std::size_t k = arrays.size(); k-- > 0;)
    if (!prepared.training->replaced.contains(prepared.results[k].tensor))
      arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(k));
  arrays.emplace_back(
      kSteps, core::Literal::copy(core::DataType::kInt64, {}, std::as_bytes(std::span(&steps, 1))));
  const std::string unfinished = path + ".part";
  SOAPSTONE_RETURN_IF_ERROR(models::write_npz(unfinished, arrays));
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (!error) return core::Done{};
  return core::invalid_input("the checkpoint cannot be written: " + error.message()).at(path);
}

core::Status load_checkpoint(const std::string& path, PreparedRun& prepared) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Arrays arrays, models::read_npz(path));
  const core::Literal* const steps = find(arrays, kSteps);
  if (!steps || steps->data_type() != core::DataType::kInt64 || !steps->dims().empty() ||
      steps->to_doubles()[0] < 0)
    return core::invalid_input(
               fmt::format("it is no checkpoint: there is no number of steps '{}'", kSteps))
        .at(path);
  for (const RunResult& result : prepared.results) {
    const auto replaced = prepared.training->replaced.find(result.tensor);
    if (replaced == prepared.training->replaced.end()) continue;
    const core::Literal* const array = find(arrays, result.name);
    const auto value = array ? models::with_type(*array, result.type.data_type) : std::nullopt;
    if (!value || value->dims() != *core::concrete(result.type.shape))
      return core::invalid_input(
                 fmt::format("it is of another model or optimizer: '{}' is not there, or has "
                             "another type or shape",
                             result.name))
          .at(path);
    prepared.model.weights[replaced->second] = std::make_shared<const core::Literal>(*value);
  }
  prepared.training->steps_before = static_cast<std::int64_t>(steps->to_doubles()[0]);
  return core::Done{};
}

}  // namespace soapstone::jobs
