// Does a NaN or an infinity in one part of an input reach results that it did not reach in the
// original? Products with rows of zeros, which make one large operation of several small ones,
// carry 0·NaN from one item of a batch, one channel or one place to the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/backend.h"
#include "search/equivalence/equivalence.h"

namespace soapstone::search {

class SpreadCheck {
 public:
  /// Both must outlive it. Errors: kUnsupported: the original cannot be run.
  static core::Result<SpreadCheck> make(const core::Graph& original, runtime::Backend& backend,
                                        std::uint64_t seed);
  ~SpreadCheck();
  SpreadCheck(SpreadCheck&&) noexcept;
  SpreadCheck& operator=(SpreadCheck&&) noexcept;

  /// The first element of a result that is finite in the original and not in the other graph.
  /// None: there is none. Difference::sample counts trials. Errors: those of EquivalenceCheck::run.
  core::Result<std::optional<Difference>> run(const core::Graph& other,
                                              const core::StopToken& stop);
  /// Whether there is one in that trial.
  core::Result<bool> differs_on(const core::Graph& other, int trial);

 private:
  struct State;
  explicit SpreadCheck(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::search
