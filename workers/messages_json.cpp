// See messages.h. nlohmann's exceptions are kept out by asking for the type of every field first.
#include <cctype>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workers/messages.h"

namespace soapstone::workers {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMessage = 2000;
constexpr std::size_t kMostOutputs = 10'000;
constexpr std::size_t kMostRank = 64;

core::Error no_answer(std::string_view what) {
  return core::unavailable(fmt::format("its answer is none: {}", what));
}

/// Printable, and short enough for a report.
std::string decent(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMostMessage))
    result += c == '\n' || static_cast<unsigned char>(c) >= ' ' ? c : '?';
  if (text.size() > kMostMessage) result += "…";
  return result;
}

core::Result<std::string> line_of(const json& message) {
  try {
    return message.dump();
  } catch (const json::exception&) {
    return core::unsupported("a name in the model or its path is not UTF-8");
  }
}

const json* field(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::string> text_field(const json& object, const char* name) {
  const json* const value = field(object, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<std::int64_t> integer_field(const json& object, const char* name) {
  const json* const value = field(object, name);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return value->get<std::int64_t>();
}

/// The object under "ok".
core::Result<json> body_of(std::string_view line, std::int64_t id) {
  const json message = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded() || !message.is_object())
    return no_answer("no JSON object: " + decent(line.substr(0, 200)));
  if (integer_field(message, "id") != id) return no_answer("it has another id");
  if (const json* const error = field(message, "error")) {
    if (!error->is_object()) return no_answer("its error is no object");
    const auto kind = text_field(*error, "kind"), text = text_field(*error, "message");
    if (!kind || !text) return no_answer("its error has no kind or no message");
    if (*kind == "memory") return core::unavailable("ran out of memory: " + decent(*text));
    if (*kind == "missing") return core::unavailable(decent(*text));
    return core::unsupported(decent(*text));
  }
  const json* const body = field(message, "ok");
  if (body == nullptr || !body->is_object()) return no_answer("it has neither ok nor error");
  return *body;
}

/// A name and nothing that leads elsewhere.
bool is_plain_file_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '.') return false;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') return false;
  return true;
}

core::Result<TensorFile> tensor_of(const json& entry) {
  if (!entry.is_object()) return no_answer("an output is no object");
  const auto name = text_field(entry, "name"), type = text_field(entry, "type"),
             file = text_field(entry, "file");
  const json* const dims = field(entry, "dims");
  if (!name || !type || !file || dims == nullptr || !dims->is_array())
    return no_answer("an output lacks name, type, dims or file");
  TensorFile tensor;
  tensor.name = *name;
  const auto known = core::parse_data_type(*type);
  if (!known || core::size_bytes(*known) == 0)
    return no_answer(fmt::format("there is no element type '{}'", decent(*type)));
  tensor.type = *known;
  if (dims->size() > kMostRank) return no_answer("an output has too many dimensions");
  for (const json& size : *dims) {
    if (!size.is_number_integer() || size < 0 || size > INT64_MAX)
      return no_answer("a dimension is no size");
    tensor.dims.push_back(size.get<std::int64_t>());
  }
  const auto count = core::checked_element_count(tensor.dims);
  if (!count || *count > INT64_MAX / 8) return no_answer("an output has too many elements");
  if (!is_plain_file_name(*file)) return no_answer("an output's file is no plain name");
  tensor.file = *file;
  return tensor;
}

}  // namespace

std::string hello_request(std::int64_t id) {
  return json{{"id", id}, {"verb", "hello"}, {"protocol", 1}}.dump();
}

core::Result<std::string> load_request(std::int64_t id, const std::filesystem::path& path,
                                       const LoadOptions& options) {
  return line_of({{"id", id},
                  {"verb", "load"},
                  {"path", path.string()},
                  {"optimizations", options.optimizations},
                  {"threads", options.threads},
                  {"provider", options.provider}});
}

core::Result<std::string> run_request(std::int64_t id, std::int64_t model,
                                      const std::filesystem::path& folder,
                                      std::span<const TensorFile> inputs) {
  json tensors = json::array();
  for (const TensorFile& input : inputs) {
    tensors.push_back({{"name", input.name},
                       {"type", core::to_string(input.type)},
                       {"dims", input.dims},
                       {"file", input.file}});
  }
  return line_of({{"id", id},
                  {"verb", "run"},
                  {"model", model},
                  {"folder", folder.string()},
                  {"inputs", std::move(tensors)}});
}

std::string close_request(std::int64_t id, std::int64_t model) {
  return json{{"id", id}, {"verb", "close"}, {"model", model}}.dump();
}

core::Result<RuntimeIdentity> hello_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  if (integer_field(body, "protocol") != 1) return no_answer("it speaks another protocol");
  const auto runtime = text_field(body, "runtime"), version = text_field(body, "version");
  if (!runtime || !version) return no_answer("it does not say which runtime it is");
  return RuntimeIdentity{decent(*runtime), decent(*version)};
}

core::Result<std::int64_t> load_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  const auto model = integer_field(body, "model");
  if (!model) return no_answer("the model has no number");
  return *model;
}

core::Result<std::vector<TensorFile>> run_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  const json* const outputs = field(body, "outputs");
  if (outputs == nullptr || !outputs->is_array() || outputs->size() > kMostOutputs)
    return no_answer("it has no list of outputs");
  std::vector<TensorFile> tensors;
  for (const json& entry : *outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(TensorFile tensor, tensor_of(entry));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace soapstone::workers
