// Models whose files leave sizes open: which, how to read them with other sizes, and a result that
// leaves those sizes open in turn which made no difference to it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/onnx/format/onnx_model.h"

namespace soapstone::models {

/// A dimension of inputs that the file gives no size, or several that change by the same number.
struct OpenDimension {
  std::string name;                                         ///< Empty: it has none in the file.
  std::vector<std::pair<std::string, std::size_t>> places;  ///< Inputs and their dimensions.
  /// The size that was settled when the model was read; of several, the smallest.
  std::int64_t size = 1;
  /// The name, or the first place: `N`, `dimension 0 of x`.
  std::string text() const;
};

/// Whether a constant of the model's graph may be another one at other sizes of its open
/// dimensions, beside how often its elements are repeated.
bool may_vary(const OnnxModel& model, const core::Literal& constant);

/// In the order of the inputs. An input of unknown rank has none.
std::vector<OpenDimension> open_dimensions(const OnnxModel& model);

/// The open dimensions, each of which may have other sizes while the rest stays as it is: one that
/// `has_other` denies alone is taken together with others, as of inputs whose batches have no name
/// in common, or of a cache and a mask that covers it. A dimension that has no other size with any
/// stays alone.
std::vector<OpenDimension>
free_dimensions(const OnnxModel& model, const std::function<bool(const OpenDimension&)>& has_other);

/// Shapes for ImportOptions: each place of a dimension is larger by what its number of `sizes` is
/// larger than its size; all other places have the sizes that they have.
std::map<std::string, core::Dims> shapes_at(const OnnxModel& model,
                                            std::span<const OpenDimension> dimensions,
                                            std::span<const std::int64_t> sizes);

/// One model as it would be written at several sizes of its open dimensions.
class OpenExport {
 public:
  /// Errors: those of write_onnx().
  static core::Result<OpenExport> begin(const core::Graph& graph, const ModelHeader& header);
  OpenExport(OpenExport&&) noexcept;
  ~OpenExport();

  /// The same model at other sizes. Errors: kUnsupported: no one file is right at these sizes, too;
  /// the message says why.
  core::Status add(const core::Graph& graph, const ModelHeader& header);
  /// Sizes in which the models differ are open in the file, as the original has them.
  core::Status write(const std::filesystem::path& path) const;

 private:
  struct State;
  explicit OpenExport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::models
