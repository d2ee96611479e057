// Values of pieces of tensors: taken out of the whole tensor, and put back into it.
#pragma once

#include <cstddef>
#include <span>

#include "core/graph/literal.h"
#include "parallel/pieces/index_set.h"

namespace soapstone::parallel {

/// The elements of `piece`, in their order; the whole itself if the piece is all of it.
/// Precondition: elements have a size.
core::LiteralPtr value_of_piece(const core::LiteralPtr& whole, const TensorPiece& piece);

/// Writes the elements of a piece where they are in the whole tensor, of `dims`.
void put_piece(std::span<const std::byte> value, std::size_t element_bytes,
               const TensorPiece& piece, const core::Dims& dims, std::span<std::byte> whole);

/// The index in the whole tensor of the element at a row-major position in the piece.
core::Dims index_in_whole(const TensorPiece& piece, std::int64_t position);

}  // namespace soapstone::parallel
