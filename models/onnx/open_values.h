// Sizes and tensors that a file for all sizes computes from the shapes of its inputs when it runs.
// Private to models/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/onnx/format/folded_nodes.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

/// One of the files that were written at several sizes. The exported model has to outlive it.
struct SizedFile {
  explicit SizedFile(const ExportedModel& exported);

  core::LiteralPtr weight(const std::string& name) const;
  bool is_taken(const std::string& name) const;

  const onnx::GraphProto& graph;
  std::shared_ptr<const FoldedNodes> folded;
  std::unordered_set<std::string> names;  ///< Of inputs and results, subgraphs included.
  std::unordered_map<std::string, core::LiteralPtr> weights;
  std::unordered_map<std::string, core::Dims> shapes;  ///< Where they are known.

 private:
  void note(const onnx::ValueInfoProto& value);
};

/// One number of the first file, and what it is in the others.
using SizedNumber = std::vector<std::int64_t>;

bool is_same_everywhere(const SizedNumber& number);

/// A size as the file computes it: factor * first * second + offset.
struct SizeFormula {
  std::optional<std::size_t> first, second;  ///< Sizes of inputs.
  std::int64_t factor = 1, offset = 0;
};

class OpenValues {
 public:
  /// Adds to `file`, which is the first of those files. All have to outlive this.
  OpenValues(std::span<const SizedFile> files, ExportedModel& file);

  /// A number, a multiple of a size, one more or less than a size, a multiple of two sizes.
  std::optional<SizeFormula> formula_of(const SizedNumber& number) const;

  /// The name of a tensor with these elements, of the type and shape of `like`.
  std::string computed(const std::vector<SizeFormula>& formulas, const core::Literal& like);
  /// The name of a tensor with these values, by file, as the nodes of the model compute it. Sizes
  /// of tensors that are not its inputs are computed by formulas. None: the model has no such
  /// tensor, or no formula fits.
  std::optional<std::string> computed_again(std::span<const core::LiteralPtr> values);

  std::string scalar(std::int64_t value) { return constant({}, {value}); }
  /// The name of a weight of that value, which is new if there is none.
  std::string weight(core::LiteralPtr value);
  /// The name of the result of a new node.
  std::string added(const char* op, const std::vector<std::string>& inputs,
                    const char* attribute = nullptr, std::int64_t number = 0);
  /// New nodes read inputs, weights and new nodes before them; all others may read them.
  void put_new_nodes_first();

 private:
  /// A size of an input that is not the same in all files.
  struct InputSize {
    std::string input;
    std::size_t dimension = 0;
    SizedNumber number;
    std::string name;  ///< Of the tensor that holds it; empty: there is none yet.
  };

  void note_sizes(const std::string& input);
  std::string element(const SizeFormula& formula);
  std::string size(std::size_t number);
  std::string constant(core::Dims dims, const SizedNumber& values);
  std::string fresh();

  const FoldedNode* producer_everywhere(const std::string& name) const;
  std::optional<std::string> result_again(const std::string& name);
  std::optional<std::string> as_sizes(const std::string& name);
  std::optional<std::string> operand_again(const FoldedNode& node, int k);

  static constexpr int kMostDepth = 500;  // of nodes that are computed again

  std::span<const SizedFile> files_;
  ExportedModel& file_;
  std::vector<InputSize> sizes_;
  std::map<std::string, std::string> written_;               // by elements and type
  std::map<std::string, std::optional<std::string>> again_;  // by name in the original
  std::vector<onnx::NodeProto> new_nodes_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace soapstone::models
