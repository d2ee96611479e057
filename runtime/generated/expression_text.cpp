// See expression_text.h.
#include "runtime/generated/expression_text.h"

#include <fmt/format.h>

#include "runtime/generated/element_types.h"

namespace soapstone::runtime::generated {

std::string converted(const Value& value, Scalar type) {
  if (value.type == type) return value.text;
  return fmt::format("{}({})", scalar_name(type), value.text);
}

ExpressionText::ExpressionText(const Region& region, IndexSpace& space,
                               std::set<std::uint32_t> rows, ColumnLoops loops)
    : region_(region), space_(space), rows_(std::move(rows)), scopes_(1), loops_(loops) {}

// --- elements -----------------------------------------------------------------------------------

Value ExpressionText::element(std::uint32_t tensor, const Affine& given) {
  const Affine position = space_.plain(given);
  const std::string key = key_of(tensor, position);
  if (rows_.contains(tensor)) readings_.rows[tensor].push_back(position);
  for (const Scope& scope : scopes_)
    if (const auto found = scope.known.find(key); found != scope.known.end()) return found->second;
  readings_.first.try_emplace(tensor, position);
  const auto get = [&] { return element_of_memory_or_stage(tensor, position, given); };
  const bool may_hold = holds_ && is_in_columns() && !rows_.contains(tensor);
  const Value value =
      may_hold ? held_column(fmt::format("a{}[{}]", tensor, text_at_column(position, "column")),
                             region_.tensors[tensor].scalar, get)
               : get();
  scopes_.back().known.emplace(key, value);
  return value;
}

Value ExpressionText::element_of_memory_or_stage(std::uint32_t tensor, const Affine& position,
                                                 const Affine& given) {
  const RegionTensor& facts = region_.tensors[tensor];
  if (!facts.stage) return load(tensor, position);
  if (rows_.contains(tensor)) {
    readings_.is_complete = false;
    return {"unknown", facts.scalar};
  }
  readings_.computed[tensor] += scopes_.back().times;
  const StageTree& tree = region_.stages[*facts.stage].tree;
  // What conditions say of the position helps to take it apart.
  const Value value = compute(tree.body, indices_of(tree, space_.joined(given)));
  if (value.type == facts.scalar) return value;
  return declare(facts.scalar, converted(value, facts.scalar));
}

std::int64_t ExpressionText::steps_of(const OpenChunk& open, std::int64_t count) {
  const std::int64_t step = open.lanes * open.chunk.width;
  return (count + step - 1) / step;
}

/// As kept_column() does for one thread: each lane goes over the same columns in each such loop.
Value ExpressionText::held_column(const std::string& key, Scalar type,
                                  const std::function<Value()>& compute) {
  const std::int64_t count = space_.variable(chunk_->chunk.variable).high;
  const std::int64_t width = chunk_->chunk.width;
  const bool depends_on_column = key.find("column") != std::string::npos;
  const std::string whole = fmt::format("{} of {}", key, count);
  if (chunk_->lanes == 0 || !depends_on_column || (held_values_ && !held_values_->contains(whole)))
    return compute();
  chunk_->holds = true;
  const std::string at =
      width == 1 ? chunk_->name + "n" : fmt::format("{}n * {} + k", chunk_->name, width);
  if (const auto found = array_of_.find(whole); found != array_of_.end()) {
    ++readings_.held[whole].uses;
    return declare(type, fmt::format("{}[{}]", found->second, at));
  }
  const Value value = compute();
  const std::string array = fresh("h");
  const std::int64_t elements = steps_of(*chunk_, count) * width;
  arrays_ += fmt::format("{} {}[{}];\n", scalar_name(type), array, elements);
  array_of_.emplace(whole, array);
  readings_.held[whole].registers = elements * (type == Scalar::kFloat ? 1 : 2);
  line(fmt::format("{}[{}] = {};", array, at, value.text));
  return value;
}

/// What `compute` gives, from the array of an earlier loop over as many columns if one kept it, and
/// kept from now on if not. Such a loop goes over all columns: its array is full when it has ended.
Value ExpressionText::kept_column(const std::string& key, Scalar type,
                                  const std::function<Value()>& compute) {
  constexpr std::int64_t kMostColumns = 8192;
  const std::int64_t count = space_.variable(chunk_->chunk.variable).high;
  if (key.empty() || count > kMostColumns) return compute();
  const std::string whole = fmt::format("{} of {}", key, count);
  if (const auto found = array_of_.find(whole); found != array_of_.end())
    return declare(type, fmt::format("{}[{}]", found->second, chunk_->name));
  const Value value = compute();
  const std::string array = fresh("b");
  arrays_ += fmt::format("{} {}[{}];\n", scalar_name(type), array, count);
  array_of_.emplace(whole, array);
  line(fmt::format("{}[{}] = {};", array, chunk_->name, value.text));
  return value;
}

/// The same for equal values at the same column of different loops; empty where that is not known.
std::string ExpressionText::column_key(const TreeNode& node, const Substitution& at) {
  const auto position = [&] { return text_at_column(substituted(node.position, at), "column"); };
  switch (node.kind) {
  case ops::evaluation::NodeKind::kNumber:
    return number_text(node.number, Scalar::kDouble);
  case ops::evaluation::NodeKind::kRead:
    return fmt::format("a{}[{}]", node.tensor, position());
  case ops::evaluation::NodeKind::kIndexValue:
    return position();
  case ops::evaluation::NodeKind::kAdd:
  case ops::evaluation::NodeKind::kMul:
  case ops::evaluation::NodeKind::kInverse:
  case ops::evaluation::NodeKind::kApply: {
    std::string key =
        fmt::format("{} {}(", static_cast<int>(node.kind), static_cast<int>(node.function));
    for (const TreeNode& child : node.children) {
      const std::string inner = column_key(child, at);
      if (inner.empty()) return {};
      key += inner + ", ";
    }
    return key + ")";
  }
  default:
    return {};
  }
}

void ExpressionText::define(std::uint32_t tensor, const Affine& position, const Value& value) {
  const Scalar type = region_.tensors[tensor].scalar;
  const Value own = value.type == type ? value : declare(type, converted(value, type));
  scopes_.back().known.insert_or_assign(key_of(tensor, space_.joined(position)), own);
}

Value ExpressionText::reduced_by_lanes(std::uint32_t tensor, const Affine& position, int lanes,
                                       std::int64_t width) {
  const StageTree& tree = region_.stages[*region_.tensors[tensor].stage].tree;
  readings_.computed[tensor] += scopes_.back().times;
  lanes_ = lanes;
  lane_width_ = width;
  lane_scope_ = scopes_.size();
  Value value = compute(tree.body, indices_of(tree, position));
  lanes_ = 0;
  return value;
}

std::string ExpressionText::key_of(std::uint32_t tensor, const Affine& position) const {
  return fmt::format("{}@{}", tensor, space_.text(position));
}

ExpressionText::Substitution ExpressionText::indices_of(const StageTree& tree,
                                                        const Affine& position) {
  Substitution at;
  const std::vector<Affine> indices = space_.indices_at(position, Region::sizes_of(tree));
  for (std::size_t k = 0; k < indices.size(); ++k) at[tree.index[k].variable] = indices[k];
  return at;
}

Affine ExpressionText::substituted(const Affine& a, const Substitution& at) {
  Affine result{a.constant, {}};
  for (const auto& [variable, c] : a.coefficients) result.add(at.at(variable), c);
  return space_.joined(result);
}

/// The position where the column is called `name`.
std::string ExpressionText::text_at_column(const Affine& position, const std::string& name) {
  space_.rename(chunk_->chunk.variable, name);
  std::string text = space_.text(position);
  space_.rename(chunk_->chunk.variable, chunk_->name);
  return text;
}

/// Notes the access, and how such positions follow each other from column to column.
void ExpressionText::note_access(std::uint32_t tensor, const Affine& position, bool is_store) {
  MemoryAccess access{tensor, position, std::nullopt, is_store};
  if (chunk_) {
    const std::uint32_t column = chunk_->chunk.variable;
    access.column = column;
    const auto step = space_.step(position, {column, space_.variable(column).high});
    if (step != 1 && (is_store || step != 0)) readings_.is_even = false;
  }
  readings_.accesses.push_back(std::move(access));
}

void ExpressionText::hold(std::uint32_t tensor, const Affine& position, std::string text) {
  held_.insert_or_assign(key_of(tensor, position), std::move(text));
}

/// Elements that all columns of a chunk read, or one after the other, are loaded before them.
Value ExpressionText::load(std::uint32_t tensor, const Affine& position) {
  const Scalar type = region_.tensors[tensor].scalar;
  if (const auto held = held_.find(key_of(tensor, position)); held != held_.end())
    return declare(type, fmt::format("widen({})", held->second));
  note_access(tensor, position, false);
  if (is_in_columns() && chunk_->chunk.width > 1) {
    const auto step = space_.step(position, chunk_->chunk);
    const std::string name = fresh("p");
    if (step == 0) {
      chunk_->before += fmt::format("const {} {} = widen(a{}[{}]);\n", scalar_name(type), name,
                                    tensor, text_at_column(position, chunk_->start));
      return {name, type};
    }
    if (step == 1 && space_.is_aligned(position, chunk_->chunk)) {
      chunk_->before +=
          fmt::format("const auto {} = load<{}>(a{} + {});\n", name, chunk_->chunk.width, tensor,
                      text_at_column(position, chunk_->start));
      return declare(type, fmt::format("widen({}.at[k])", name));
    }
  }
  return declare(type, fmt::format("widen(a{}[{}])", tensor, space_.text(position)));
}

void ExpressionText::store(std::uint32_t tensor, const Affine& position) {
  const Value value = element(tensor, position);
  const std::string_view type = element_name(region_.tensors[tensor].data_type);
  const std::string narrow = fmt::format("Narrow<{}>::of({})", type, value.text);
  const Affine at = space_.joined(position);
  note_access(tensor, at, true);
  const bool is_wide = chunk_ && chunk_->chunk.width > 1;
  if (!is_wide || space_.step(at, chunk_->chunk) != 1 || !space_.is_aligned(at, chunk_->chunk)) {
    line(fmt::format("a{}[{}] = {};", tensor, space_.text(at), narrow));
    return;
  }
  const std::string name = fresh("w");
  chunk_->before += fmt::format("Pack<{}, {}> {};\n", type, chunk_->chunk.width, name);
  line(fmt::format("{}.at[k] = {};", name, narrow));
  chunk_->behind +=
      fmt::format("store(a{} + {}, {});\n", tensor, text_at_column(at, chunk_->start), name);
}

// --- lines and blocks ---------------------------------------------------------------------------

void ExpressionText::line(const std::string& text) { scopes_.back().lines += text + "\n"; }

std::string ExpressionText::fresh(std::string_view prefix) {
  return fmt::format("{}{}", prefix, names_++);
}

Value ExpressionText::declare(Scalar type, const std::string& text) {
  const std::string name = fresh("t");
  line(fmt::format("const {} {} = {};", scalar_name(type), name, text));
  return {name, type};
}

std::string ExpressionText::block(double times, const std::function<void()>& body) {
  scopes_.push_back({{}, {}, scopes_.back().times * times});
  body();
  std::string lines = std::move(scopes_.back().lines);
  scopes_.pop_back();
  return lines;
}

std::string ExpressionText::take() { return std::exchange(scopes_.front().lines, {}); }

void ExpressionText::columns(OpenChunk open, const std::string& head, double times,
                             const std::function<void(const Affine& column)>& body) {
  const std::int64_t width = open.chunk.width;
  const std::string name = open.name, start = open.start;
  open.scope = scopes_.size() + 1;
  const Affine column = IndexSpace::value_of(open.chunk.variable);
  chunk_ = std::move(open);
  const std::string lines = block(times, [&] { body(column); });
  const OpenChunk done = *std::exchange(chunk_, std::nullopt);
  line(done.holds ? held_head(done) : head);
  if (width == 1) {
    scopes_.back().lines += done.before + lines + done.behind;
  } else {
    scopes_.back().lines += done.before;
    line("#pragma unroll");
    line(
        fmt::format("for (int k = 0; k < {}; ++k) {{\nconst int {} = {} + k;", width, name, start));
    scopes_.back().lines += lines + "}\n" + done.behind;
  }
  line(done.holds ? "}\n}" : "}");
}

/// A loop with as many steps for each lane, all of which are written out, so that arrays are
/// registers.
std::string ExpressionText::held_head(const OpenChunk& open) const {
  const std::int64_t count = space_.variable(open.chunk.variable).high;
  const std::string step =
      open.lanes == 1 ? open.name + "n" : fmt::format("({}n * {} + lane)", open.name, open.lanes);
  return fmt::format("#pragma unroll\nfor (int {0}n = 0; {0}n < {1}; ++{0}n) {{\n"
                     "const int {2} = {3}{4};\nif ({2} < {5}) {{",
                     open.name, steps_of(open, count), open.start, step,
                     open.chunk.width == 1 ? "" : fmt::format(" * {}", open.chunk.width), count);
}

void ExpressionText::over_columns(std::int64_t count, int lanes, std::int64_t width,
                                  const std::function<void(const Affine& column)>& body) {
  OpenChunk open;
  open.name = fresh("c");
  open.start = width == 1 ? open.name : open.name + "s";
  open.chunk = {space_.add(open.name, 0, count), width};
  open.lanes = lanes;
  const std::string first = width == 1 ? "lane" : fmt::format("lane * {}", width);
  std::string head = fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3}) {{", open.start,
                                 lanes == 1 ? "0" : first, count, lanes * width);
  if (loops_ == ColumnLoops::kVectors)
    head = fmt::format("#pragma omp simd {}\n{}", std::exchange(reduced_, {}), head);
  columns(std::move(open), head, static_cast<double>(count), body);
}

void ExpressionText::one_chunk(const std::string& start, const Chunk& chunk,
                               const std::function<void(const Affine& column)>& body) {
  OpenChunk open;
  open.start = start;
  open.name = space_.variable(chunk.variable).name;
  open.chunk = chunk;
  const std::int64_t count = space_.variable(chunk.variable).high;
  columns(std::move(open), fmt::format("if ({} < {}) {{", start, count), static_cast<double>(count),
          body);
}

}  // namespace soapstone::runtime::generated
