#include "parallel/lowering/rank_turns.h"

#include <fmt/format.h>

namespace soapstone::parallel {

core::Status run_in_turns(const std::vector<RankProgram>& programs, const TakeStep& take) {
  std::vector<std::size_t> next(programs.size(), 0);
  std::vector<bool> is_first(programs.size(), true);
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::size_t r = 0; r < programs.size(); ++r)
      while (next[r] < programs[r].steps.size()) {
        SOAPSTONE_ASSIGN_OR_RETURN(const bool is_done,
                                   take(r, programs[r].steps[next[r]], is_first[r]));
        is_first[r] = is_done;
        if (!is_done) break;
        ++next[r];
        has_moved = true;
      }
  }
  for (std::size_t r = 0; r < programs.size(); ++r)
    if (next[r] < programs[r].steps.size())
      return core::Error{core::ErrorCode::kInternal,
                         fmt::format("rank {} waits for ever in step {}", r, next[r]),
                         {},
                         {}};
  return core::Done{};
}

}  // namespace soapstone::parallel
