// time-device [cuda:0 [MIB]]: how near to the bandwidth of a copy the device's kernels come that do
// little but move data, on tensors of so many MiB.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/device/device.h"

namespace {

using namespace soapstone;

constexpr int kRepetitions = 20;

struct Case {
  const char* name;
  const char* text;  ///< R rows of 1024 numbers.
};
constexpr Case kCases[] = {
    {"add", "  x: f32[R, 1024]\n  y: f32[R, 1024]\n  r = add(x, y)\n"},
    {"bias, sigmoid, mul", "  x: f32[R, 1024]\n  b: f32[1024]\n  s = add(x, b)\n"
                           "  g = sigmoid(s)\n  r = mul(s, g)\n"},
    {"sum of rows", "  x: f32[R, 1024]\n  r = reduce_sum(x; axes=[1])\n"},
    {"softmax", "  x: f32[R, 1024]\n  r = softmax(x; axis=1)\n"},
    {"transpose", "  x: f32[R, 1024]\n  r = transpose(x; perm=[1, 0])\n"},
    {"concat", "  x: f32[R, 1024]\n  y: f32[R, 1024]\n  r = concat(x, y; axis=1)\n"},
};

/// Bytes that the inputs and outputs of the graph take.
double bytes_of(const core::Graph& graph) {
  double bytes = 0;
  const auto add = [&](core::TensorId id) {
    const core::TensorType& type = graph.tensor(id).type;
    double elements = 1;
    const core::Dims dims = core::concrete(type.shape).value();
    for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
    bytes += elements * static_cast<double>(core::size_bytes(type.data_type));
  };
  for (const core::TensorId id : graph.inputs()) add(id);
  for (const core::TensorId id : graph.outputs()) add(id);
  return bytes;
}

/// GB/s of a copy within the device's memory, read and written; 0: it failed.
double copy_rate(runtime::Backend& backend, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  runtime::DeviceMemory& memory = backend.memory();
  const auto from = memory.allocate(bytes), to = memory.allocate(bytes);
  double best = 0;
  for (int k = 0; from && to && k < kRepetitions; ++k) {
    const auto begin = Clock::now();
    if (!memory.copy(*from, *to, bytes)) break;
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, 2 * static_cast<double>(bytes) / took.count() / 1e9);
  }
  if (from) memory.release(*from);
  if (to) memory.release(*to);
  return best;
}

core::Result<double> rate_of(runtime::Backend& backend, const Case& one, std::int64_t rows) {
  std::string text = "graph timed\n" + std::string(one.text) + "  return r\n";
  for (std::size_t at = 0; (at = text.find("[R", at)) != std::string::npos;)
    text.replace(at + 1, 1, std::to_string(rows));
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph graph, device::parse(text));
  SOAPSTONE_ASSIGN_OR_RETURN(auto program, runtime::Executable::make(graph, backend));
  SOAPSTONE_RETURN_IF_ERROR(program.run(runtime::random_inputs(graph, 1)));
  SOAPSTONE_RETURN_IF_ERROR(program.time_us(2));
  SOAPSTONE_ASSIGN_OR_RETURN(const double us, program.time_us(kRepetitions));
  return bytes_of(graph) / us * kRepetitions / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t mib = 256;
  if (argc > 3 || (argc == 3 && (std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), mib).ec !=
                                     std::errc() ||
                                 mib < 1))) {
    std::fprintf(stderr, "usage: time-device [cuda:0|reference [MIB]]\n");
    return device::kUsage;
  }
  const auto backend = device::open(argc > 1 ? argv[1] : "cuda:0");
  if (!backend) return device::kNoDevice;
  const double copy = copy_rate(*backend, static_cast<std::size_t>(mib) << 20);
  std::printf("%s\n%-20s %8.0f GB/s\n", backend->device().key().c_str(), "copy", copy);
  int wrong = 0;
  for (const Case& one : kCases) {
    const auto rate = rate_of(*backend, one, mib * 256);
    if (!rate) {
      ++wrong;
      std::printf("%-20s %s\n", one.name, rate.error().to_string().c_str());
      continue;
    }
    std::printf("%-20s %8.0f GB/s %6.0f %% of the copy\n", one.name, *rate, 100 * *rate / copy);
  }
  return wrong > 0 ? device::kWrong : 0;
}
