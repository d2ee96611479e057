// See maxima.h: pieces are split and flattened until each is a set of plain values, then closed.
#include "verifier/laws/maxima.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/equations.h"
#include "verifier/forms/small_forms.h"
#include "verifier/laws/function_laws.h"

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxPieces = 300;

}  // namespace

/// The pieces of one maximum on their way to plain values. A step replaces a piece by equal ones or
/// splits the whole into cases; which piece is next makes no difference to the largest of them.
class Maxima::Flattening {
 public:
  Flattening(Maxima& laws, Pieces pieces, const FactSet& context)
      : laws_(laws), context_(context), is_whole_(pieces.size() == 1), work_(std::move(pieces)) {}

  NormalForm run();

 private:
  Result take(OpenPiece piece);
  Result split(const Fact& guard, const OpenPiece& piece);
  NormalForm by_case(const Fact& fact, const OpenPiece& current);
  bool flatten(const OpenPiece& piece);
  bool write_out(const OpenPiece& piece);
  bool open_function(const OpenPiece& piece);

  Maxima& laws_;
  const FactSet& context_;
  bool is_whole_;  ///< There is one piece, so it is over something.
  Pieces done_;
  Pieces work_;
};

NormalForm Maxima::Flattening::run() {
  while (!work_.empty()) {
    laws_.proof_.spend();
    if (work_.size() + done_.size() > kMaxPieces) {
      throw OutOfBudget{"a maximum over too many values"};
    }
    OpenPiece piece = std::move(work_.back());
    work_.pop_back();
    if (auto cases = take(std::move(piece))) return *std::move(cases);
  }
  return laws_.close(std::move(done_), context_);
}

/// The maximum where the fact holds, and where it does not.
NormalForm Maxima::Flattening::by_case(const Fact& fact, const OpenPiece& current) {
  NormalForm result;
  for (const Fact& each : cases_of(fact)) {
    FactSet inside = context_;
    insert(inside, each);
    if (!laws_.proof_.possible(inside)) continue;
    Pieces all = work_;
    all.insert(all.end(), done_.begin(), done_.end());
    all.push_back(current);
    for (Summand& summand : laws_.maximum(std::move(all), inside)) {
      insert(summand.guards, each);
      result.push_back(std::move(summand));
    }
  }
  return result;
}

/// A guard of the body: the piece is one piece where it holds, and another where it does not.
Maxima::Result Maxima::Flattening::split(const Fact& guard, const OpenPiece& piece) {
  if (!guard.mentions_any(piece.binders)) return by_case(guard, piece);
  for (Fact& each : cases_of(guard)) {
    OpenPiece part = piece;
    insert(part.guards, std::move(each));
    work_.push_back(std::move(part));
  }
  is_whole_ = false;
  return std::nullopt;
}

/// max(max(a, b), c) = max(a, b, c)
bool Maxima::Flattening::flatten(const OpenPiece& piece) {
  const Factor* factor = only_factor(piece.body, AtomKind::kMax);
  if (factor == nullptr || piece.body[0].coefficient != Fraction(1)) return false;
  for (OpenPiece& inner : open_pieces(laws_.proof_.arena, *factor->atom)) {
    inner.binders.insert(inner.binders.end(), piece.binders.begin(), piece.binders.end());
    inner.guards = unite(inner.guards, piece.guards);
    work_.push_back(std::move(inner));
  }
  is_whole_ = is_whole_ && work_.size() == 1;
  return true;
}

/// max over 0 ≤ v < 2 of a(v) = max(a(0), a(1))
bool Maxima::Flattening::write_out(const OpenPiece& piece) {
  for (Symbol binder : piece.binders) {
    const auto range = constant_range(piece.guards, binder);
    if (!range) continue;
    laws_.expansion_.met = true;
    if (!laws_.expansion_.wanted) return false;
    for (OpenPiece& part :
         written_out(laws_.proof_.arena, piece, binder, range->first, range->second)) {
      work_.push_back(std::move(part));
    }
    is_whole_ = false;
    return true;
  }
  return false;
}

/// c·relu(a) + b is the larger of c·a + b and b for c > 0; |a| is the larger of a and −a.
bool Maxima::Flattening::open_function(const OpenPiece& piece) {
  for (std::size_t k = 0; k < piece.body.size(); ++k) {
    const NormalForm alone{piece.body[k]};
    const Factor* factor = only_factor(alone, AtomKind::kApply);
    if (factor == nullptr) continue;
    const bool relu = factor->atom->function == ops::Function::kRelu;
    const bool magnitude = factor->atom->function == ops::Function::kAbs;
    laws_.expansion_.met = laws_.expansion_.met || magnitude;
    if (!relu && !(magnitude && laws_.expansion_.wanted)) continue;
    OpenPiece rest = piece;
    rest.body.erase(rest.body.begin() + static_cast<std::ptrdiff_t>(k));
    const NormalForm inside =
        scaled(laws_.proof_.arena.open(factor->atom->arguments[0]), piece.body[k].coefficient);
    OpenPiece first = rest;
    first.body = sum_of(std::move(first.body), inside);
    if (magnitude) rest.body = sum_of(std::move(rest.body), negated(inside));
    for (OpenPiece* part : {&first, &rest}) {
      // A maximum is over something: if this piece is all of it, then its 0 is there as well.
      const bool present = is_whole_ && part->body.empty();
      work_.push_back(present ? OpenPiece{} : std::move(*part));
    }
    is_whole_ = false;
    return true;
  }
  return false;
}

/// One step. A form: the whole maximum, case by case.
Maxima::Result Maxima::Flattening::take(OpenPiece piece) {
  const ProofContext& proof = laws_.proof_;
  if (!solve_equations(proof.arena, piece)) return std::nullopt;
  const FactSet inside = unite(context_, piece.guards);
  if (!proof.possible(inside)) return std::nullopt;
  piece.body = laws_.cases_.under(piece.body, inside);
  if (const Fact* guard = laws_.cases_.outer_guard(piece.body, inside)) {
    return split(Fact(*guard), piece);
  }
  if (flatten(piece) || write_out(piece) || open_function(piece)) return std::nullopt;
  if (project_unused(proof, piece, context_)) {
    std::erase_if(piece.guards, [&](const Fact& fact) { return proof.implied(context_, fact); });
    if (!piece.guards.empty()) return by_case(Fact(piece.guards.front()), piece);
  }
  done_.push_back(std::move(piece));
  return std::nullopt;
}

NormalForm Maxima::maximum(std::vector<OpenPiece> pieces, const FactSet& context) {
  proof_.spend();
  if (auto result = pull_out_slopes(pieces, context)) return *std::move(result);
  return Flattening(*this, std::move(pieces), context).run();
}

/// The piece is certainly over something: over its 0s.
bool Maxima::is_present(const OpenPiece& piece, const FactSet& context) const {
  Substitution zero;
  for (Symbol binder : piece.binders) zero.emplace_back(binder, Linear(0));
  return std::all_of(piece.guards.begin(), piece.guards.end(), [&](const Fact& fact) {
    return proof_.implied(context, fact.substitute(zero));
  });
}

/// max(…, 0) = max(…) where something in it is never negative and never absent, and max(x, 0) =
/// relu(x), which is the result.
Maxima::Result Maxima::without_zero(Pieces& pieces, const FactSet& context) {
  const auto is_zero = [](const OpenPiece& piece) { return piece.body.empty() && is_plain(piece); };
  if (std::none_of(pieces.begin(), pieces.end(), is_zero)) return std::nullopt;
  const auto covers = [&](const OpenPiece& piece) {
    return !is_zero(piece) && signs_.non_negative(piece.body, unite(context, piece.guards)) &&
           is_present(piece, context);
  };
  if (std::any_of(pieces.begin(), pieces.end(), covers)) {
    std::erase_if(pieces, is_zero);
  } else if (pieces.size() == 2) {
    const OpenPiece& other = is_zero(pieces[0]) ? pieces[1] : pieces[0];
    if (is_plain(other) && !other.body.empty()) {
      return functions_.relu_of_whole(other.body, context);
    }
  }
  return std::nullopt;
}

/// max(a, b, b) = max(a, b)
Maxima::Pieces Maxima::without_duplicates(Pieces pieces, const FactSet& context) const {
  const std::unique_ptr<Equality> equality = make_equality_();
  Pieces different;
  for (OpenPiece& piece : pieces) {
    const auto is_same = [&](const OpenPiece& other) {
      return other.binders.empty() && other.guards == piece.guards &&
             equality->equal(other.body, piece.body, unite(context, piece.guards));
    };
    const bool known =
        piece.binders.empty() && std::any_of(different.begin(), different.end(), is_same);
    if (!known) different.push_back(std::move(piece));
  }
  return different;
}

/// The first law that fits is used, and what it leaves is closed again: a maximum of fewer or
/// simpler values. Each law holds by itself, so another order gives an equal form. Factors are
/// pulled out before exponentials, as exp(a + b) = exp(a)·exp(b) is one of those; the 0 of relu and
/// duplicates come last, as only what nothing is shared with can be told to be them.
NormalForm Maxima::close(Pieces pieces, const FactSet& context) {
  if (pieces.empty()) throw OutOfBudget{"a maximum over nothing"};
  if (auto result = pull_out_addends(pieces, context)) return *std::move(result);
  if (auto result = pull_out_scale(pieces, context)) return *std::move(result);
  if (auto result = pull_out_factors(pieces, context)) return *std::move(result);
  if (auto result = pull_out_exponential(pieces, context)) return *std::move(result);
  if (auto result = pull_out_power(pieces, context)) return *std::move(result);
  if (auto result = pull_out_bound(pieces, context)) return *std::move(result);
  if (auto result = without_zero(pieces, context)) return *std::move(result);
  pieces = without_duplicates(std::move(pieces), context);
  if (pieces.size() == 1 && is_plain(pieces[0])) return pieces[0].body;
  std::vector<Piece> closed;
  for (OpenPiece& piece : pieces) {
    std::erase_if(piece.guards, [&](const Fact& fact) { return contains(context, fact); });
    closed.push_back({piece.binders, piece.guards, proof_.arena.form(std::move(piece.body))});
  }
  return summand_of(proof_.arena.maximum(proof_.arena.canonical_pieces(std::move(closed))));
}

}  // namespace soapstone::verifier
