// One walk over the expressions of a meaning. Private to lowering.
#pragma once

#include <span>
#include <vector>

#include "ops/lowering/spread.h"

namespace soapstone::ops {

class Lowering {
 public:
  /// `type`: that of real numbers.
  Lowering(SharedNodes& nodes, const Semantics& semantics, std::span<const core::TensorId> inputs,
           core::DataType type);

  void add_stage(const Stage& stage);
  /// The tensor, with all its dimensions and that type.
  core::TensorId output(std::uint32_t tensor, const core::TensorType& type);

 private:
  /// The tensor of a stage: dimensions on which no element depends are left out.
  struct Computed {
    Spread value;
    std::vector<bool> has_dim;
  };
  /// A product: coefficient · Π factors / Π divisors where no mask is 0.
  struct Product {
    double coefficient = 1;
    std::vector<Spread> factors, divisors;
    std::vector<IndexTable> masks;
  };
  /// A sum or a maximum runs over the variables where no mask is 0.
  struct Domain {
    std::vector<Symbol> variables;
    std::vector<Constraint> constraints;
    std::vector<IndexTable> masks;
    Expr body;
  };

  Spread value(const Expr& e);
  Spread element(const ExprNode& e);
  Spread sum_of_terms(const ExprNode& e);
  Spread product(const Expr& e);
  Spread sum(const Expr& e);
  Spread maximum(const ExprNode& e);
  Spread guarded(const ExprNode& e);
  Spread index_value(const Polynomial& value);
  Spread summed(const Expr& body, const Domain& domain);
  void collect(const Expr& e, Product& product);
  Domain enter(const Expr& e, bool solves);
  void declare(const std::vector<Binder>& binders, const Expr& body, Domain& domain);
  void add_masks(std::span<const Constraint> constraints, std::vector<IndexTable>& masks);
  Spread with_masks(Spread x, const std::vector<IndexTable>& masks, double other);
  /// Puts each mask on the smallest factor that has its axes, or makes it a factor.
  void mask_factors(std::vector<Spread>& factors, const std::vector<IndexTable>& masks);

  SharedNodes& nodes_;
  std::uint32_t input_count_;
  std::vector<core::TensorId> inputs_;
  std::vector<Computed> stages_;
  IndexSpace space_;
  SpreadOps ops_;
};

}  // namespace soapstone::ops
