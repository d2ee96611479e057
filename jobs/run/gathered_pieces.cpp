// See gathered_pieces.h.
#include "jobs/run/gathered_pieces.h"

#include <algorithm>
#include <set>

namespace soapstone::jobs {
namespace {

using parallel::HeldPiece;
using parallel::RankProgram;

/// Which outputs of which ranks are brought, the same on all ranks.
class Selection {
 public:
  Selection(const std::vector<RankProgram>& programs, Gathered which) {
    std::multimap<core::TensorId, const parallel::TensorPiece*> known;
    for (const RankProgram& program : programs) {
      std::vector<std::size_t>& chosen = chosen_.emplace_back();
      for (std::size_t k = 0; k < program.outputs.size(); ++k) {
        const HeldPiece& output = program.outputs[k];
        const auto [first, last] = known.equal_range(output.tensor);
        const bool is_known = std::any_of(
            first, last, [&](const auto& entry) { return *entry.second == output.piece; });
        if (which == Gathered::kOnce && is_known) continue;
        known.emplace(output.tensor, &output.piece);
        chosen.push_back(k);
      }
    }
  }
  /// Numbers of outputs of the rank's program.
  const std::vector<std::size_t>& of(std::size_t rank) const { return chosen_[rank]; }

 private:
  std::vector<std::vector<std::size_t>> chosen_;
};

void add(const PreparedRun& prepared, std::size_t rank, const HeldPiece& piece,
         core::LiteralPtr value, std::vector<ComputedPiece>& pieces) {
  for (std::size_t k = 0; k < prepared.results.size(); ++k)
    if (prepared.results[k].tensor == piece.tensor)
      pieces.push_back({static_cast<std::int64_t>(rank), k, &piece.piece, value});
}

core::Status send(const std::vector<std::size_t>& chosen,
                  const std::vector<core::LiteralPtr>& outputs, runtime::Collectives& collectives) {
  SOAPSTONE_RETURN_IF_ERROR(collectives.begin_group());
  for (const std::size_t k : chosen) {
    const core::Literal& value = *outputs[k];
    const runtime::DeviceAddress from(reinterpret_cast<std::uintptr_t>(value.bytes().data()));
    SOAPSTONE_RETURN_IF_ERROR(collectives.send({from, value.count(), value.data_type()}, 0));
  }
  SOAPSTONE_RETURN_IF_ERROR(collectives.end_group());
  return collectives.wait();
}

}  // namespace

core::Result<std::vector<ComputedPiece>> gather_pieces(const PreparedRun& prepared,
                                                       const std::vector<core::LiteralPtr>& outputs,
                                                       Gathered which,
                                                       runtime::Collectives& collectives) {
  const std::vector<RankProgram>& programs = prepared.programs;
  const Selection selection(programs, which);
  std::vector<ComputedPiece> pieces;
  if (const auto rank = static_cast<std::size_t>(collectives.rank()); rank > 0) {
    SOAPSTONE_RETURN_IF_ERROR(send(selection.of(rank), outputs, collectives));
    return pieces;
  }
  for (const std::size_t k : selection.of(0))
    add(prepared, 0, programs[0].outputs[k], outputs[k], pieces);
  std::vector<std::vector<std::byte>> buffers;
  SOAPSTONE_RETURN_IF_ERROR(collectives.begin_group());
  for (std::size_t r = 1; r < programs.size(); ++r)
    for (const std::size_t k : selection.of(r)) {
      const core::DataType type =
          programs[r].values[programs[r].outputs[k].value.index()].data_type;
      const std::int64_t count = programs[r].outputs[k].piece.element_count();
      std::vector<std::byte>& buffer =
          buffers.emplace_back(static_cast<std::size_t>(count) * core::size_bytes(type));
      const runtime::DeviceAddress to(reinterpret_cast<std::uintptr_t>(buffer.data()));
      SOAPSTONE_RETURN_IF_ERROR(collectives.receive({to, count, type}, static_cast<int>(r)));
    }
  SOAPSTONE_RETURN_IF_ERROR(collectives.end_group());
  SOAPSTONE_RETURN_IF_ERROR(collectives.wait());
  std::size_t at = 0;
  for (std::size_t r = 1; r < programs.size(); ++r)
    for (const std::size_t k : selection.of(r)) {
      const HeldPiece& output = programs[r].outputs[k];
      const core::DataType type = programs[r].values[output.value.index()].data_type;
      add(prepared, r, output,
          std::make_shared<const core::Literal>(
              core::Literal::copy(type, output.piece.extents(), buffers[at++])),
          pieces);
    }
  return pieces;
}

}  // namespace soapstone::jobs
