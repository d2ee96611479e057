// A runtime may fail at a graph, or by bad luck, and still be of use for others.
#pragma once

#include <optional>
#include <string>

#include "search/trials/trials.h"

namespace soapstone::search {

/// Passes comparisons on to a clock, a second time if the runtime failed. Two graphs at which it
/// fails twice are not comparable (kUnsupported); after several of them in a row the runtime is
/// given up, and all comparisons are kUnavailable at once.
class EnduringClock final : public TrialClock {
 public:
  /// `clock` must outlive it.
  explicit EnduringClock(TrialClock& clock) : clock_(clock) {}

  std::string runtime() const override { return clock_.runtime(); }
  core::Result<cost::Comparison> compare(const core::Graph& a, const core::Graph& b,
                                         double budget_s, const core::StopToken& stop) override;
  core::Result<cost::Comparison> compare_file(const core::Graph& original, const core::Graph& b,
                                              double budget_s,
                                              const core::StopToken& stop) override;
  /// Why the runtime was given up; none: it was not.
  const std::optional<core::Error>& given_up() const { return given_up_; }

 private:
  template <class Compare>
  core::Result<cost::Comparison> endure(const Compare& compare, const core::StopToken& stop);

  TrialClock& clock_;
  int failures_ = 0;  ///< Comparisons that failed since the last that did not.
  std::optional<core::Error> given_up_;
};

}  // namespace soapstone::search
