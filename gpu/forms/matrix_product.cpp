// See matrix_product.h.
#include "gpu/forms/matrix_product.h"

#include <algorithm>

#include "gpu/forms/pointwise.h"

namespace soapstone::gpu {
namespace {

using ops::evaluation::NodeKind;

class MatrixProductFinder {
 public:
  MatrixProductFinder(const Region& region, const Product& product)
      : region_(region), product_(product), e_(product.expression) {}

  core::Result<MatrixProduct> find() {
    SOAPSTONE_RETURN_IF_ERROR(split_batches());
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
  /// The largest loop of batches is the library's; others are loops around it.
  core::Status split_batches() {
    constexpr std::int64_t kMostCalls = 64;
    const auto largest = std::ranges::max_element(product_.batch, {}, &ProductLoop::size);
    std::int64_t calls = 1;
    for (auto loop = product_.batch.begin(); loop != product_.batch.end(); ++loop) {
      if (loop == largest) {
        batch_ = *loop;
        continue;
      }
      calls *= loop->size;
      // The transpose is computed, so that the factors change places.
      outer_.push_back(*loop);
      result_.outer.push_back({loop->size, loop->right, loop->left, loop->result, 0});
    }
    return calls <= kMostCalls ? core::Status(core::Done{})
                               : core::unsupported("too many strides from batch to batch");
  }

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
    bool has_product = false;
    for (const AddedTerm& term : terms_of(e_, node)) {
      if (term.node == product_.sum && !std::exchange(has_product, true))
        result_.alpha *= term.factor;
      else if (!take_term(term))
        return core::unsupported("more behind the product than a bias, an addend and a function");
    }
    return has_product ? core::Status(core::Done{}) : core::unsupported("no sum with the product");
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
    const bool is_the_same_outside =
        std::ranges::all_of(outer_, [&](const ProductLoop& loop) { return stride(loop) == 0; });
    const bool is_row_of_numbers = along_rows == (result_.rows == 1 ? 0 : 1) &&
                                   along_columns == 0 && along_batch == 0 && is_the_same_outside;
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
    for (std::size_t k = 0; k < outer_.size(); ++k) result_.outer[k].addend = stride(outer_[k]);
    result_.addend = addend;
    result_.beta = term.factor;
    return true;
  }

  const Region& region_;
  const Product& product_;
  const FlatExpression& e_;
  ProductLoop batch_;
  std::vector<ProductLoop> outer_;  // parallel to those of the result
  MatrixProduct result_;
};

}  // namespace

core::Result<MatrixProduct> matrix_product_of(const Region& region, const Product& product) {
  return MatrixProductFinder(region, product).find();
}

}  // namespace soapstone::gpu
