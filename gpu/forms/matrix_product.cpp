// See matrix_product.h.
#include "gpu/forms/matrix_product.h"

#include <algorithm>

#include "gpu/forms/pointwise.h"

namespace soapstone::gpu {
namespace {

using ops::evaluation::NodeKind;

/// A term of a sum: a number times a node.
struct AddedTerm {
  std::uint32_t node = 0;
  double factor = 1;
};

class MatrixProductFinder {
 public:
  MatrixProductFinder(const Region& region, const Product& product)
      : region_(region), product_(product), e_(product.expression) {}

  core::Result<MatrixProduct> find() {
    if (product_.batch.size() > 1) return core::unsupported("several strides from batch to batch");
    if (!product_.batch.empty()) batch_ = product_.batch[0];
    result_.data_type = region_.tensors[region_.outputs[0]].data_type;
    result_.rows = product_.column.size;
    result_.columns = product_.row.size;
    result_.summed = product_.summed.size;
    result_.batch = batch_.size;
    result_.alpha = product_.scale;
    SOAPSTONE_RETURN_IF_ERROR(find_matrices());
    SOAPSTONE_RETURN_IF_ERROR(find_function());
    return result_;
  }

 private:
  core::Status find_matrices() {
    if (!core::is_floating(result_.data_type) || !is_of_type(product_.left) ||
        !is_of_type(product_.right))
      return core::unsupported("factors of another type than the result");
    // The transpose is computed: columns are its rows, and the right factor comes first.
    const auto left = matrix(product_.right, product_.right_offset, product_.column.right,
                             product_.summed.right, result_.rows, result_.summed, batch_.right);
    const auto right = matrix(product_.left, product_.left_offset, product_.summed.left,
                              product_.row.left, result_.summed, result_.columns, batch_.left);
    const auto whole = matrix(region_.outputs[0], 0, product_.column.result, product_.row.result,
                              result_.rows, result_.columns, batch_.result);
    if (!left || !right || !whole || whole->is_transposed)
      return core::unsupported("a matrix without contiguous rows or columns");
    result_.left = *left;
    result_.right = *right;
    result_.result = *whole;
    return core::Done{};
  }

  bool is_of_type(std::uint32_t tensor) const {
    return region_.tensors[tensor].data_type == result_.data_type;
  }

  /// None: neither rows nor columns lie side by side.
  std::optional<StridedMatrix> matrix(std::uint32_t tensor, std::int64_t offset,
                                      std::int64_t row_stride, std::int64_t column_stride,
                                      std::int64_t rows, std::int64_t columns,
                                      std::int64_t batch_stride) const {
    StridedMatrix m{region_.tensors[tensor].id, offset, rows, columns, 1, batch_stride, false};
    const bool by_columns = rows == 1 || row_stride == 1,
               by_rows = columns == 1 || column_stride == 1;
    if (by_columns && (columns == 1 || column_stride >= rows)) {
      m.leading = columns == 1 ? rows : column_stride;
    } else if (by_rows && (rows == 1 || row_stride >= columns)) {
      std::swap(m.rows, m.columns);
      m.leading = rows == 1 ? columns : row_stride;
      m.is_transposed = true;
    } else {
      return std::nullopt;
    }
    return m;
  }

  core::Status find_function() {
    std::uint32_t node = static_cast<std::uint32_t>(e_.root());
    if (const auto known = known_function(e_, node)) {
      const bool is_narrow = core::size_bytes(result_.data_type) == 2;
      if (known->function != Pointwise::kGeluByTanh &&
          !(known->function == Pointwise::kGelu && is_narrow))
        return core::unsupported("a function that is no GELU by tanh");
      result_.function = MatrixFunction::kGelu;
      node = static_cast<std::uint32_t>(known->argument);
    } else if (e_.nodes[node].kind == NodeKind::kApply &&
               e_.nodes[node].function == ops::Function::kRelu) {
      result_.function = MatrixFunction::kRelu;
      node = e_.nodes[node].children[0];
    }
    std::vector<AddedTerm> terms;
    collect_terms({node, 1}, terms);
    bool has_product = false;
    for (const AddedTerm& term : terms) {
      if (term.node == product_.sum && !std::exchange(has_product, true))
        result_.alpha *= term.factor;
      else if (!take_term(term))
        return core::unsupported("more behind the product than a bias, an addend and a function");
    }
    return has_product ? core::Status(core::Done{}) : core::unsupported("no sum with the product");
  }

  void collect_terms(AddedTerm term, std::vector<AddedTerm>& terms) const {
    const FlatNode& node = e_.nodes[term.node];
    if (node.kind == NodeKind::kAdd) {
      for (const std::uint32_t child : node.children) collect_terms({child, term.factor}, terms);
      return;
    }
    if (node.kind == NodeKind::kMul) {
      std::optional<std::uint32_t> rest;
      double factor = term.factor;
      for (const std::uint32_t child : node.children) {
        if (const auto number = evaluate(e_, child, e_.nodes.size(), 0))
          factor *= *number;
        else if (std::exchange(rest, child))
          return terms.push_back(term);
      }
      if (rest) return collect_terms({*rest, factor}, terms);
    }
    terms.push_back(term);
  }

  /// A bias or the addend.
  bool take_term(const AddedTerm& term) {
    const FlatNode& node = e_.nodes[term.node];
    if (node.kind != NodeKind::kRead || !is_of_type(node.tensor)) return false;
    const auto stride = [&](const ProductLoop& loop) {
      return loop.size == 1 ? 0 : node.position.coefficient(loop.variable);
    };
    const std::int64_t along_rows = stride(product_.column), along_columns = stride(product_.row),
                       along_batch = stride(batch_);
    const core::TensorId id = region_.tensors[node.tensor].id;
    const std::int64_t offset = node.position.constant;
    const bool is_row_of_numbers =
        along_rows == (result_.rows == 1 ? 0 : 1) && along_columns == 0 && along_batch == 0;
    if (is_row_of_numbers && term.factor == 1 && !result_.bias) {
      result_.bias = StridedMatrix{id, offset, result_.rows, 1, result_.rows, 0, false};
      return true;
    }
    const auto addend = matrix(node.tensor, offset, along_rows, along_columns, result_.rows,
                               result_.columns, along_batch);
    const bool varies = (result_.columns == 1 || along_columns != 0) &&
                        (result_.rows == 1 || along_rows != 0) &&
                        (result_.batch == 1 || along_batch != 0);
    if (!addend || addend->is_transposed || !varies || result_.addend) return false;
    result_.addend = addend;
    result_.beta = term.factor;
    return true;
  }

  const Region& region_;
  const Product& product_;
  const FlatExpression& e_;
  ProductLoop batch_;
  MatrixProduct result_;
};

}  // namespace

core::Result<MatrixProduct> matrix_product_of(const Region& region, const Product& product) {
  return MatrixProductFinder(region, product).find();
}

}  // namespace soapstone::gpu
