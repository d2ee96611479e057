// See messages.h; what we ask is in requests_json.cpp. nlohmann's exceptions are kept out by asking
// for the type of every field first.
#include <cctype>
#include <cmath>
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
constexpr std::size_t kMostProviders = 100;
/// Nested deeper than any answer is. What is deeper is left out.
constexpr int kMostDepth = 8;

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

/// Finite and not negative.
std::optional<double> magnitude_of(const json* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  if (!std::isfinite(number) || number < 0) return std::nullopt;
  return number;
}

std::optional<std::vector<std::string>> texts_field(const json& object, const char* name) {
  const json* const value = field(object, name);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const json& text : *value) {
    if (!text.is_string()) return std::nullopt;
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

/// Deep nests cost many times their size in memory, so they are dropped while they are read.
json parse(std::string_view text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth < kMostDepth; };
  return json::parse(text, shallow, /*allow_exceptions=*/false);
}

/// The object under "ok".
core::Result<json> body_of(std::string_view line, std::int64_t id) {
  const json message = parse(line);
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

core::Result<std::vector<double>> times_field(const json& entry, const char* name) {
  const json* const values = field(entry, name);
  if (values == nullptr || !values->is_array())
    return no_answer(fmt::format("a model's samples lack {}", name));
  std::vector<double> times;
  for (const json& value : *values) {
    const auto time = magnitude_of(&value);
    if (!time)
      return no_answer(fmt::format("a time in {} is none: {}", name, decent(value.dump())));
    times.push_back(*time);
  }
  return times;
}

core::Result<RuntimeKernel> kernel_of(const json& entry) {
  if (!entry.is_object()) return no_answer("a kernel is no object");
  const auto name = text_field(entry, "name"), op = text_field(entry, "op");
  auto inputs = texts_field(entry, "inputs"), outputs = texts_field(entry, "outputs"),
       origins = texts_field(entry, "origins");
  if (!name || !op || !inputs || !outputs || !origins)
    return no_answer("a kernel lacks name, op, inputs, outputs or origins");
  const auto us = magnitude_of(field(entry, "us"));
  if (!us) return no_answer(fmt::format("kernel '{}' takes no time that is one", decent(*name)));
  return RuntimeKernel{*name, *op, *std::move(inputs), *std::move(outputs), *std::move(origins),
                       *us};
}

}  // namespace

core::Result<RuntimeIdentity> hello_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  const auto protocol = integer_field(body, "protocol");
  if (protocol != kProtocol) {
    return no_answer(fmt::format("it speaks protocol {}, not {}",
                                 protocol ? std::to_string(*protocol) : "?", kProtocol));
  }
  const auto runtime = text_field(body, "runtime"), version = text_field(body, "version");
  if (!runtime || !version) return no_answer("it does not say which runtime it is");
  const auto providers = texts_field(body, "providers");
  if (!providers || providers->size() > kMostProviders)
    return no_answer("it has no list of providers");
  RuntimeIdentity identity{decent(*runtime), decent(*version), {}};
  for (const std::string& provider : *providers) identity.providers.push_back(decent(provider));
  return identity;
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

core::Status plain_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_RETURN_IF_ERROR(body_of(line, id));
  return core::Done{};
}

core::Result<std::vector<Samples>> time_answer(std::string_view line, std::int64_t id,
                                               std::size_t models, std::size_t rounds) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  const json* const entries = field(body, "samples");
  if (entries == nullptr || !entries->is_array() || entries->size() != models)
    return no_answer(fmt::format("it has no list with the samples of {} models", models));
  std::vector<Samples> all;
  for (const json& entry : *entries) {
    if (!entry.is_object()) return no_answer("a model's samples are no object");
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<double> wall, times_field(entry, "wall_us"));
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<double> cpu, times_field(entry, "cpu_us"));
    for (const double us : wall)
      if (us == 0) return no_answer("a run takes no time at all");
    if (wall.size() < kFewestRounds || wall.size() > rounds)
      return no_answer(fmt::format("it has {} samples of a model, not {} to {}", wall.size(),
                                   kFewestRounds, rounds));
    if (cpu.size() != wall.size() || (!all.empty() && wall.size() != all[0].wall_us.size()))
      return no_answer("it has more samples of one kind than of another");
    all.push_back({std::move(wall), std::move(cpu)});
  }
  return all;
}

core::Result<std::string> profile_answer(std::string_view line, std::int64_t id) {
  SOAPSTONE_ASSIGN_OR_RETURN(const json body, body_of(line, id));
  const auto file = text_field(body, "file");
  if (!file || !is_plain_file_name(*file)) return no_answer("the profile's file is no plain name");
  return *file;
}

core::Result<RuntimeProfile> parse_profile(std::string_view text) {
  const json body = parse(text);
  if (body.is_discarded() || !body.is_object()) return no_answer("the profile is no JSON object");
  const auto total_us = magnitude_of(field(body, "total_us"));
  if (!total_us || *total_us == 0) return no_answer("the profile has no total_us that is a time");
  const json* const kernels = field(body, "kernels");
  if (kernels == nullptr || !kernels->is_array())
    return no_answer("the profile has no list of kernels");
  RuntimeProfile profile{{}, *total_us};
  for (const json& entry : *kernels) {
    SOAPSTONE_ASSIGN_OR_RETURN(RuntimeKernel kernel, kernel_of(entry));
    profile.kernels.push_back(std::move(kernel));
  }
  return profile;
}

}  // namespace soapstone::workers
