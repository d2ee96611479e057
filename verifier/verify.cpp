// Proof first; where it fails, a search for a counterexample.
#include "verifier/verify.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "verifier/graph_reader.h"
#include "verifier/proof.h"

namespace soapstone::verifier {
namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Sizes that are products, with the orders of digits that some tensor of the rule suggests.
std::vector<std::vector<Factorization>> factorizations(const GraphReader& reader,
                                                       const core::Graph& graph) {
  std::vector<Factorization> found;
  const auto note = [&](const std::vector<Linear>& shape) {
    for (std::size_t first = 0; first < shape.size(); ++first) {
      Linear product = shape[first];
      for (std::size_t last = first + 1; last < shape.size(); ++last) {
        product = product * shape[last];
        if (product.is_constant()) continue;
        std::vector<Linear> factors(shape.begin() + static_cast<std::ptrdiff_t>(first),
                                    shape.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        Factorization entry{product, std::move(factors)};
        if (std::find(found.begin(), found.end(), entry) == found.end()) {
          found.push_back(std::move(entry));
        }
      }
    }
  };
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    if (graph.contains(core::TensorId(k))) note(reader.shape(core::TensorId(k)));
  }
  return {found};
}

class Attempt {
 public:
  Attempt(const rules::Rule& rule, Solver& solver, const VerifyOptions& options)
      : rule_(rule), options_(options), sizes_(solve_sizes(rule)),
        oracle_(sizes_.background, sizes_.sizes, solver), budget_(options.max_steps),
        normalizer_(arena_, oracle_, budget_), source_(rule.source, sizes_, normalizer_),
        target_(rule.target, sizes_, normalizer_), solver_(solver) {}

  /// Empty: proved. Otherwise why not.
  std::string run();
  bool assumed_nonzero() const { return normalizer_.assumed_nonzero(); }

 private:
  std::string compare(std::size_t output);

  const rules::Rule& rule_;
  const VerifyOptions& options_;
  SizeSystem sizes_;
  Oracle oracle_;
  Arena arena_;
  Budget budget_;
  Normalizer normalizer_;
  GraphReader source_;
  GraphReader target_;
  Solver& solver_;
};

std::string Attempt::compare(std::size_t output) {
  const core::TensorId left = rule_.source.outputs()[output];
  const core::TensorId right = rule_.target.outputs()[output];
  const std::vector<Linear> shape = source_.shape(left);
  const std::vector<Linear> other = target_.shape(right);
  if (shape.size() != other.size()) return "the results have different ranks";
  FactSet context;
  std::vector<Linear> index;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (!(shape[k] == other[k]) && !oracle_.implied({}, equal(shape[k], other[k]))) {
      return "the results have different shapes";
    }
    std::vector<Symbol> symbols;
    index.push_back(normalizer_.counter(0, shape[k], context, symbols));
  }
  const NormalForm a = source_.element(left, index, context);
  const NormalForm b = target_.element(right, index, context);
  return prove_equal(normalizer_, a, b, context) ? "" : "the normal forms differ";
}

std::string Attempt::run() {
  if (!sizes_.contradiction.empty()) return sizes_.contradiction;
  try {
    const std::vector<Fact> background(sizes_.background.begin(), sizes_.background.end());
    if (solver_.proves_impossible(background)) return "no sizes satisfy the rule";
    auto orders = factorizations(source_, rule_.source);
    auto more = factorizations(target_, rule_.target);
    orders[0].insert(orders[0].end(), more[0].begin(), more[0].end());
    normalizer_.set_factorizations(orders[0]);
    for (std::size_t k = 0; k < rule_.source.outputs().size(); ++k) {
      if (std::string reason = compare(k); !reason.empty()) return reason;
    }
    if (options_.certify && !oracle_.confirm_all()) return "the solver does not confirm the proof";
  } catch (const OutOfBudget& end) {
    return end.reason;
  }
  return {};
}

}  // namespace

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
  case VerdictKind::kProved:
    return "proved";
  case VerdictKind::kRefuted:
    return "refuted";
  case VerdictKind::kUnknown:
    return "unknown";
  }
  return "";
}

std::string attempt_proof(const rules::Rule& rule, Solver& solver, const VerifyOptions& options) {
  return Attempt(rule, solver, options).run();
}

Verdict verify(const rules::Rule& rule, Solver& solver, const VerifyOptions& options) {
  const double before = cpu_ms();
  Verdict verdict;
  Attempt attempt(rule, solver, options);
  verdict.reason = attempt.run();
  if (verdict.reason.empty()) {
    verdict.kind = VerdictKind::kProved;
    verdict.floats = attempt.assumed_nonzero() ? rules::FloatBehavior::kChangesRange
                                               : rules::FloatBehavior::kReassociates;
  } else if ((verdict.refutation = refute(rule, options.refutation_sizes, options.seed))) {
    verdict.kind = VerdictKind::kRefuted;
  }
  verdict.cpu_ms = cpu_ms() - before;
  return verdict;
}

}  // namespace soapstone::verifier
