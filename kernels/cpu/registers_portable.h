#pragma once

// 16-byte vectors of the compiler's own, the width that every 64-bit CPU has.

#include "storage.h"

namespace tilewright::cpu {
namespace {

template <class Scalar>
struct PortableRegisters {
  using Accumulator = Scalar;
  using Register [[gnu::vector_size(16)]] = Scalar;
  using Factor = Scalar;
  using Packed = Scalar;
  static constexpr bool kStoresRows = false;
  static constexpr int kLanes = 16 / sizeof(Scalar);
  static constexpr int kDepthStep = 1;
  static constexpr int kDepthMultiple = 1;
  static constexpr int kRows = 4;  // 4 x 2 sums + 2 of B + A and its product: 12 of 16 registers

  static Register zero() { return Register{}; }
  template <class Source>
  static Register load(const Source* p) {
    Register value;
    if constexpr (sizeof(Source) == sizeof(Scalar)) {
      __builtin_memcpy(&value, p, sizeof(value));
    } else {
      for (int lane = 0; lane < kLanes; ++lane) value[lane] = convert<Scalar>(p[lane]);
    }
    return value;
  }
  static void store(Scalar* p, Register value) { __builtin_memcpy(p, &value, sizeof(value)); }
  static Register broadcast(Scalar value) { return value - Register{}; }
  static Register multiply(Register a, Register b) { return a * b; }
  static Register multiply_add(Register a, Register b, Register c) { return a * b + c; }
  static Scalar sum(Register value) {
    Scalar total = value[0];
    for (int lane = 1; lane < kLanes; ++lane) total += value[lane];
    return total;
  }

  static Register load_panel(const unsigned char* p) {
    return load(reinterpret_cast<const Scalar*>(p));
  }
  static Register spread(const Scalar* p) { return broadcast(*p); }
};

}  // namespace
}  // namespace tilewright::cpu
