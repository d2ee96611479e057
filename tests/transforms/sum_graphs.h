// Sums of products whose terms have factors in common.
#pragma once

#include "tests/transforms/contraction_graphs.h"

namespace soapstone::transforms {

/// `products`: of the last plan, that of the whole sum.
inline constexpr ProductGraph kSumGraphs[] = {
    {"polynomial_of_a_matrix",
     "  l: f32[128, 128]\n  x: f32[128, 64]\n  a: f32[64, 2]\n  b: f32[64, 2]\n  c: f32[64, 2]\n",
     "  t1 = matmul(l, x)\n  t2 = matmul(l, t1)\n  y0 = matmul(x, a)\n  y1 = matmul(t1, b)\n"
     "  y2 = matmul(t2, c)\n  s = add(y0, y1)\n  y = add(s, y2)\n",
     5},
    {"chebyshev_with_a_unit_matrix", "  l: f32[8, 8]\n  x: f32[8, 5]\n",
     "  c = full(; shape=[], value=0.5)\n  w0 = full(; shape=[5, 3], value=0.25)\n"
     "  w1 = full(; shape=[5, 3], value=2.0)\n  w2 = full(; shape=[5, 3], value=0.75)\n"
     "  i = eye(; shape=[8, 8])\n  d = mul(l, c)\n  s = sub(d, i)\n  t1 = matmul(s, x)\n"
     "  u = matmul(s, t1)\n  t2 = sub(u, x)\n  y0 = matmul(x, w0)\n  y1 = matmul(t1, w1)\n"
     "  y2 = matmul(t2, w2)\n  v = add(y0, y1)\n  y = add(v, y2)\n",
     5},
    {"edges_of_a_graph", "  x: f32[64, 1, 32]\n  z: f32[64, 20, 32]\n",
     "  w = full(; shape=[64, 64], value=0.25)\n  e = expand(x; shape=[64, 20, 32])\n"
     "  d = sub(z, x)\n  c = concat(d, e; axis=2)\n"
     "  y = einsum(c, w; equation=\"abc,cd->abd\")\n",
     2},
    {"hops_of_a_graph", "  x: f32[64, 16]\n",
     "  a = full(; shape=[64, 64], value=0.5)\n  b = full(; shape=[64, 64], value=0.25)\n"
     "  w = full(; shape=[48, 8], value=0.75)\n  s = matmul(a, x)\n  t = matmul(b, x)\n"
     "  c = concat(x, s, t; axis=1)\n  y = matmul(c, w)\n",
     2},
    {"hops_of_images", "  x: f32[1, 32, 64, 4]\n",
     "  a = full(; shape=[64, 64], value=0.5)\n  b = full(; shape=[64, 64], value=0.25)\n"
     "  w = full(; shape=[32, 64, 1, 1], value=0.75)\n  u = full(; shape=[32], value=0.5)\n"
     "  s = einsum(x, a; equation=\"abcd,ce->abed\")\n"
     "  t = einsum(x, b; equation=\"abcd,ce->abed\")\n"
     "  c = concat(s, t; axis=1)\n  y = conv(c, w, u)\n",
     2},
    {"layers_of_one_tensor", "  x: f32[6, 5]\n",
     "  a = full(; shape=[5, 3], value=0.25)\n  b = full(; shape=[5, 3], value=2.0)\n"
     "  s = matmul(x, a)\n  t = matmul(x, b)\n  y = sub(s, t)\n",
     1},
    {"layers_that_are_taken_away", "  x: f32[6, 5]\n  z: f32[6, 3]\n",
     "  a = full(; shape=[5, 3], value=0.25)\n  b = full(; shape=[5, 3], value=2.0)\n"
     "  s = matmul(x, a)\n  t = matmul(x, b)\n  u = sub(z, s)\n  y = sub(u, t)\n",
     1},
    {"one_layer_of_two_tensors", "  x: f32[6, 5]\n  z: f32[6, 5]\n  w: f32[5, 3]\n",
     "  s = matmul(x, w)\n  t = matmul(z, w)\n  y = add(s, t)\n", 1},
    {"shared_product_with_a_number", "  a: f32[256, 256]\n  x: f32[256, 128]\n  w: f32[128, 2]\n",
     "  c = full(; shape=[], value=1.5)\n  u = mul(c, x)\n  v = matmul(a, x)\n  s = add(u, v)\n"
     "  y = matmul(s, w)\n",
     2},
    {"products_of_joined_features",
     "  q: f32[4, 1, 6]\n  p: f32[4, 1, 3]\n  c: f32[512, 16]\n  u: f32[4, 16, 6]\n"
     "  r: f32[1, 512, 3]\n",
     "  k = matmul(c, u)\n  e = expand(r; shape=[4, 512, 3])\n  ks = concat(k, e; axis=2)\n"
     "  qs = concat(q, p; axis=2)\n  y = einsum(qs, ks; equation=\"abc,adc->abd\")\n",
     3},
    {"keys_with_a_bias", "  q: f32[4, 2, 6]\n  n: f32[4, 64, 32]\n",
     "  w = full(; shape=[32, 2, 6], value=0.5)\n  u = full(; shape=[2, 6], value=0.25)\n"
     "  k = einsum(n, w; equation=\"abc,cde->abde\")\n  a = add(k, u)\n"
     "  s = einsum(q, a; equation=\"ade,abde->adb\")\n  y = softmax(s; axis=2)\n",
     2},
    {"values_with_a_bias", "  s: f32[4, 2, 64]\n  n: f32[4, 64, 32]\n",
     "  w = full(; shape=[32, 2, 6], value=0.5)\n  u = full(; shape=[2, 6], value=0.25)\n"
     "  p = softmax(s; axis=2)\n  v = einsum(n, w; equation=\"abc,cde->abde\")\n"
     "  a = add(v, u)\n  y = einsum(p, a; equation=\"adb,abde->ade\")\n",
     2},
    {"difference_of_negatives", "  x: f32[6, 5]\n  z: f32[6, 5]\n  w: f32[5, 3]\n",
     "  zero = full(; shape=[6, 3], value=0.0)\n  s = matmul(x, w)\n  t = matmul(z, w)\n"
     "  d = sub(zero, s)\n  y = sub(d, t)\n",
     1},
};

}  // namespace soapstone::transforms
