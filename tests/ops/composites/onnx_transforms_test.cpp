// Fourier transforms are read as products with matrices: what they come to is compared with sums
// over complex numbers.
#include <complex>
#include <numbers>

#include "tests/ops/composites/read_nodes.h"

namespace soapstone::ops::test {
namespace {

using core::ErrorCode;
using Complex = std::complex<double>;

Fed known(std::int64_t value) { return known_indices({}, {value}); }

/// Of a signal with zeros behind it, or of its beginning. Inverse: divided by the length.
std::vector<Complex> transformed(std::vector<Complex> signal, std::size_t length, bool inverse) {
  signal.resize(length);
  std::vector<Complex> result;
  for (std::size_t k = 0; k < length; ++k) {
    Complex sum = 0;
    for (std::size_t n = 0; n < length; ++n)
      sum +=
          signal[n] * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi *
                                          static_cast<double>(k * n) / static_cast<double>(length));
    result.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return result;
}

Values parts_of(const std::vector<Complex>& numbers) {
  Values parts;
  for (const Complex& z : numbers) {
    parts.push_back(z.real());
    parts.push_back(z.imag());
  }
  return parts;
}

std::vector<Complex> real(const Values& values) { return {values.begin(), values.end()}; }

/// Coefficients are 32-bit numbers.
constexpr double kTolerance = 1e-6;
const Values kSignal{3, -1, 4, 1, -5, 9, 2};

TEST(Dft, OfRealNumbers) {
  const Node dft{"DFT", 20};
  const Fed axis = known(1);
  for (const std::int64_t length : {4, 7, 10}) {
    const auto wanted =
        parts_of(transformed(real(kSignal), static_cast<std::size_t>(length), false));
    expect_near(result_of(dft, {reals({1, 7, 1}), known(length), axis}, {kSignal}), wanted,
                kTolerance);
    const Values half(wanted.begin(), wanted.begin() + 2 * (length / 2 + 1));
    expect_near(result_of({"DFT", 20, {{"onesided", std::int64_t{1}}}},
                          {reals({1, 7, 1}), known(length), axis}, {kSignal}),
                half, kTolerance);
  }
}

TEST(Dft, OfComplexNumbersAndBack) {
  const Values parts{1, 2, -3, 0.5, 4, -1};
  const std::vector<Complex> signal{{1, 2}, {-3, 0.5}, {4, -1}};
  for (const bool inverse : {false, true})
    expect_near(
        result_of({"DFT", 17, {{"inverse", std::int64_t{inverse}}}}, {reals({1, 3, 2})}, {parts}),
        parts_of(transformed(signal, 3, inverse)), kTolerance);
}

TEST(Dft, AlongAnotherDimension) {
  // Two signals of two samples that lie across.
  const Values x{1, 2, 3, 5};
  expect_near(result_of({"DFT", 17, {{"axis", std::int64_t{0}}}}, {reals({2, 2, 1})}, {x}),
              {4, 0, 7, 0, -2, 0, -3, 0}, kTolerance);
  expect_near(result_of({"DFT", 20}, {reals({2, 2, 1}), known(2), known(-3)}, {x}),
              {4, 0, 7, 0, -2, 0, -3, 0}, kTolerance);
}

TEST(Dft, RefusesWhatDoesNotFit) {
  expect_error(ErrorCode::kUnsupported, {"DFT", 20, {{"onesided", std::int64_t{1}}}},
               {reals({1, 4, 2})});
  expect_error(ErrorCode::kInvalidInput, {"DFT", 20}, {reals({1, 4, 3})});
  expect_error(ErrorCode::kInvalidInput, {"DFT", 17, {{"axis", std::int64_t{2}}}},
               {reals({1, 4, 1})});
  expect_error(ErrorCode::kUnsupported, {"DFT", 20}, {reals({1, 5000, 1})});
  expect_error(ErrorCode::kUnsupported, {"DFT", 20}, {reals({1, 4, 1}), indices_of({})});
}

TEST(Stft, TransformsFramesUnderAWindow) {
  const Values window{0.5, 2, -1, 0.25};
  Values wanted;
  for (const std::size_t begin : {0, 3}) {
    Values frame;
    for (std::size_t n = 0; n < 4; ++n) frame.push_back(kSignal[begin + n] * window[n]);
    const auto parts = parts_of(transformed(real(frame), 4, false));
    wanted.insert(wanted.end(), parts.begin(), parts.begin() + 6);
  }
  expect_near(result_of({"STFT", 17}, {reals({1, 7, 1}), known(3), reals({4}), known(4)},
                        {kSignal, window}),
              wanted, kTolerance);
}

TEST(Stft, OfComplexNumbersHasAllFrequencies) {
  Values parts;
  std::vector<Complex> signal;
  for (std::size_t n = 0; n < 6; ++n) {
    signal.emplace_back(kSignal[n], static_cast<double>(n));
    parts.push_back(signal.back().real());
    parts.push_back(signal.back().imag());
  }
  Values wanted;
  for (const std::ptrdiff_t begin : {0, 2, 4}) {
    const auto frame =
        parts_of(transformed({signal.begin() + begin, signal.begin() + begin + 2}, 2, false));
    wanted.insert(wanted.end(), frame.begin(), frame.end());
  }
  const OnnxAttribute all = std::int64_t{0};
  expect_near(result_of({"STFT", 17, {{"onesided", all}}},
                        {reals({1, 6, 2}), known(2), reals({2}), known(2)}, {parts, {1, 1}}),
              wanted, kTolerance);
}

TEST(Stft, RefusesWhatDoesNotFit) {
  const Node stft{"STFT", 17};
  expect_error(ErrorCode::kUnsupported, stft, {reals({1, 7, 1}), known(3), reals({4}), known(5)});
  expect_error(ErrorCode::kInvalidInput, stft, {reals({1, 7, 1}), known(0), reals({4}), known(4)});
  expect_error(ErrorCode::kInvalidInput, stft, {reals({1, 3, 1}), known(1), reals({4}), known(4)});
  expect_error(ErrorCode::kUnsupported, stft,
               {reals({1, 7, 1}), indices_of({}), reals({4}), known(4)});
}

TEST(Window, OfHannAndHamming) {
  expect_near(result_of({"HannWindow", 17}, {known(4)}, {}), {0, 0.5, 1, 0.5}, kTolerance);
  expect_near(result_of({"HannWindow", 17, {{"periodic", std::int64_t{0}}}}, {known(3)}, {}),
              {0, 1, 0}, kTolerance);
  expect_near(result_of({"HammingWindow", 17}, {known(2)}, {}), {4.0 / 46, 1}, kTolerance);
  expect_error(ErrorCode::kUnsupported, {"HannWindow", 17}, {indices_of({})});
}

}  // namespace
}  // namespace soapstone::ops::test
