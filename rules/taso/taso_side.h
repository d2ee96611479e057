// One side of a TASO rule as statements of our rule language, with sizes found on the way.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rules/taso/taso_file.h"
#include "rules/taso/taso_sizes.h"

namespace soapstone::rules::taso {

struct Value {
  std::string name;
  Axes axes;
};

/// `results = op(operands; attributes)`.
struct Statement {
  std::vector<std::string> results;
  std::string op;
  std::vector<std::string> operands;
  /// Sizes in brackets, or any text.
  struct Attribute {
    std::string name;
    std::vector<Polynomial> sizes;
    std::string text;
  };
  std::vector<Attribute> attributes;
};

class Side {
 public:
  /// `inputs` by their ids. `result_names` names the tensors that are results of the rule; all
  /// others get names that begin with `prefix`.
  Side(std::string prefix, std::map<std::int32_t, Value> inputs,
       std::map<TensorRef, std::string> result_names, SizeEquations& sizes)
      : prefix_(std::move(prefix)), inputs_(std::move(inputs)),
        result_names_(std::move(result_names)), sizes_(sizes) {}

  /// Convolutions may be grouped if the channels say so.
  void allow_groups() { groups_ = true; }
  /// Precondition: what it reads is there. `ranks`: of its results.
  /// Errors: kUnsupported, kInvalidInput: sizes that do not fit.
  core::Status add(const Operator& op, const std::vector<std::size_t>& ranks);
  const Value& value(TensorRef ref) const;
  const std::vector<Statement>& statements() const { return statements_; }

 private:
  core::Status add_conv(const Operator& op);
  core::Status add_pool(const Operator& op, std::string name);
  core::Status add_matmul(const Operator& op);
  core::Status add_elementwise(const Operator& op, std::string name);
  core::Status add_batch_norm(const Operator& op);
  core::Status add_concat(const Operator& op);
  core::Status add_split(const Operator& op);
  core::Status add_transpose(const Operator& op);
  core::Status add_enlarge(const Operator& op);
  core::Status add_ones(std::size_t rank);

  const Axes& axes(const Operator& op, std::size_t k) const { return value(op.inputs[k]).axes; }
  core::Status require_inputs(const Operator& op, std::size_t count, std::string_view name) const;
  core::Status equate(const Axes& a, const Axes& b, std::size_t except);
  core::Result<std::int64_t> group_of(const Operator& op, const Polynomial& channels,
                                      const Polynomial& of_weight);
  std::string name_of(std::size_t output, std::size_t outputs) const;
  /// The statement and, where the operator has one, its activation.
  core::Status finish(const Operator& op, Statement statement, Axes axes);

  std::string prefix_;
  std::map<std::int32_t, Value> inputs_;
  std::map<TensorRef, std::string> result_names_;
  SizeEquations& sizes_;
  bool groups_ = false;
  std::vector<std::vector<Value>> values_;  // by operator and output
  std::vector<Statement> statements_;
};

}  // namespace soapstone::rules::taso
