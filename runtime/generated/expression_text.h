// Writes the statements that compute elements of a region's tensors, and notes on the way what
// planning has to know: how often each stage is computed, and where results of rows are read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/generated/index_space.h"
#include "runtime/generated/region.h"

namespace soapstone::runtime::generated {

/// Something to compute with: a variable or a literal of the text.
struct Value {
  std::string text;
  Scalar type = Scalar::kFloat;
};

/// A place in the text where an element is loaded from memory or stored there.
struct MemoryAccess {
  std::uint32_t tensor = 0;
  Affine position;
  /// The variable whose values threads side by side have, if a loop over columns is open.
  std::optional<std::uint32_t> column;
  bool is_store = false;
};

/// What the text asks of the tensors.
struct Readings {
  /// By tensor: how many elements of it are computed, at one after the other.
  std::map<std::uint32_t, double> computed;
  /// By tensor of `rows`: the positions at which it is read.
  std::map<std::uint32_t, std::vector<Affine>> rows;
  /// By tensor: the first position at which it is read or computed.
  std::map<std::uint32_t, Affine> first;
  std::vector<MemoryAccess> accesses;
  /// False: a result of a row was read where it is not known.
  bool is_complete = true;
  /// False: in loops over columns, neighbors are read that are no neighbors in memory, or something
  /// is computed for some columns only.
  bool is_even = true;
  /// By what it is: a value at each column of a row that hold_columns() keeps.
  struct Held {
    std::int64_t registers = 0;  ///< Of 32 bits, in each lane.
    int uses = 0;                ///< How often it is read instead of computed.
  };
  std::map<std::string, Held> held;
};

/// How loops over the columns of a row are run.
enum class ColumnLoops : std::uint8_t {
  kLanes,   ///< By several threads, each with columns of its own.
  kVectors  ///< By one thread, in loops that the compiler shall turn into vector code.
};

class ExpressionText {
 public:
  /// `rows`: tensors whose elements are never computed where they are read.
  ExpressionText(const Region& region, IndexSpace& space, std::set<std::uint32_t> rows = {},
                 ColumnLoops loops = ColumnLoops::kLanes);
  /// From now on, what costly functions give in loops over columns is kept in arrays for later
  /// loops that compute the same. For vectors only.
  void keep_columns() { keeps_columns_ = true; }
  /// Declarations of the arrays that are needed for it so far.
  const std::string& arrays() const { return arrays_; }
  /// From now on each lane keeps these values at its columns in registers, for later loops over as
  /// many columns; none: all that it reads or computes. Such loops are unrolled. For lanes only.
  void hold_columns(std::optional<std::set<std::string>> values) {
    holds_ = true;
    held_values_ = std::move(values);
  }

  /// The element of the tensor at a row-major position, computed here unless it is known.
  Value element(std::uint32_t tensor, const Affine& position);
  /// Defines that element; known as long as the block lasts that is open.
  void define(std::uint32_t tensor, const Affine& position, const Value& value);
  /// The body of the tensor's stage, whose outermost sums and maxima are shared by lanes.
  Value reduced_by_lanes(std::uint32_t tensor, const Affine& position, int lanes,
                         std::int64_t width);

  /// A loop over `count` columns that `lanes` threads share, `width` at a time.
  void over_columns(std::int64_t count, int lanes, std::int64_t width,
                    const std::function<void(const Affine& column)>& body);
  /// The same for one thread without a loop: the values of a variable from `start` on, which is the
  /// variable's own name where the chunk is one value wide.
  void one_chunk(const std::string& start, const Chunk& chunk,
                 const std::function<void(const Affine& column)>& body);
  /// From now on the tensor's element at that position is not loaded from memory: it is `text`.
  void hold(std::uint32_t tensor, const Affine& position, std::string text);
  void store(std::uint32_t tensor, const Affine& position);

  void line(const std::string& text);
  /// What `body` writes, as a block of its own that runs `times` times.
  std::string block(double times, const std::function<void()>& body);
  std::string fresh(std::string_view prefix);
  /// All that was written outside of blocks.
  std::string take();
  const Readings& readings() const { return readings_; }

 private:
  using Substitution = std::map<std::uint32_t, Affine>;
  struct Scope {
    std::map<std::string, Value> known;
    std::string lines;
    double times = 1;
  };
  struct OpenChunk {
    Chunk chunk;
    std::string name, start;     ///< Of one column, and of the first.
    std::size_t scope = 0;       ///< The scope of one column.
    int lanes = 0;               ///< That share the loop; 0: there is no loop.
    bool holds = false;          ///< Something of it is kept in registers.
    std::string before, behind;  ///< Loads and stores of all columns at once.
  };

  Value compute(const TreeNode& node, const Substitution& at);
  Value compute_read(const TreeNode& node, const Substitution& at);
  std::optional<Value> compute_power(const TreeNode& node, const Substitution& at);
  Value compute_apply(const TreeNode& node, const Substitution& at);
  Value compute_function(const TreeNode& node, const Substitution& at);
  Value compute_guard(const TreeNode& node, const Substitution& at);
  Value compute_reduction(const TreeNode& node, const Substitution& at);
  Value compute_lookup(const TreeNode& node, const Substitution& at);
  Value joined(const TreeNode& node, const Substitution& at, const char* symbol);
  void note_access(std::uint32_t tensor, const Affine& position, bool is_store);
  Value load(std::uint32_t tensor, const Affine& position);
  Value declare(Scalar type, const std::string& text);

  void add_terms(const TreeNode& node, std::size_t child, const Substitution& at,
                 const std::string& total, Scalar type);
  void loop(const ops::evaluation::Domain& domain, std::size_t first, Substitution at,
            const std::function<void(const Substitution&)>& body);
  std::string column_key(const TreeNode& node, const Substitution& at);
  Value kept_column(const std::string& key, Scalar type, const std::function<Value()>& compute);
  Value held_column(const std::string& key, Scalar type, const std::function<Value()>& compute);
  Value element_of_memory_or_stage(std::uint32_t tensor, const Affine& position,
                                   const Affine& given);
  static std::int64_t steps_of(const OpenChunk& open, std::int64_t count);
  std::string held_head(const OpenChunk& open) const;
  bool is_in_columns() const { return chunk_ && scopes_.size() == chunk_->scope; }
  Substitution within(const ops::evaluation::Domain& domain, Substitution at);
  std::string condition(const ops::evaluation::Domain& domain, const Substitution& at);
  Affine substituted(const Affine& a, const Substitution& at);
  Substitution indices_of(const StageTree& tree, const Affine& position);
  void columns(OpenChunk chunk, const std::string& head, double times,
               const std::function<void(const Affine& column)>& body);
  std::string text_at_column(const Affine& position, const std::string& name);
  std::string key_of(std::uint32_t tensor, const Affine& position) const;

  const Region& region_;
  IndexSpace& space_;
  std::set<std::uint32_t> rows_;
  std::map<std::string, std::string> held_;  ///< Texts of elements by key_of().
  std::vector<Scope> scopes_;
  std::optional<OpenChunk> chunk_;
  int lanes_ = 0;  ///< Above 0: sums in scope `lane_scope_` are shared by so many.
  std::int64_t lane_width_ = 1;
  std::size_t lane_scope_ = 0;
  ColumnLoops loops_;
  std::string reduced_;  ///< What the next loop over columns adds up, as a clause of it.
  bool keeps_columns_ = false, holds_ = false;
  std::optional<std::set<std::string>> held_values_;
  std::map<std::string, std::string> array_of_;  ///< By what it holds.
  std::string arrays_;
  std::size_t names_ = 0;
  Readings readings_;
};

/// `value` in another type.
std::string converted(const Value& value, Scalar type);

}  // namespace soapstone::runtime::generated
