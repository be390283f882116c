#include "backends/cpu/jit/llvm/symbols.h"

#include <dlfcn.h>

#include <cmath>
#include <unordered_map>

#include "ir/scalar_ops.h"

namespace tilewright::cpu::jit {

namespace {

void* open_sleef() {
  void* library = ::dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? library : ::dlopen("libsleef.so", RTLD_NOW | RTLD_LOCAL);
}

/// Open for the life of the process: loaded code points into it.
void* sleef() {
  static void* const library = open_sleef();
  return library;
}

using Symbols = std::unordered_map<std::string, void*>;
using Unary = double (*)(double);
using UnaryF32 = float (*)(float);
using Binary = double (*)(double, double);
using BinaryF32 = float (*)(float, float);

template <class F64, class F32>
void add(Symbols& symbols, const std::string& name, F64 f64, F32 f32) {
  symbols.emplace(name, reinterpret_cast<void*>(f64));
  symbols.emplace(name + "f", reinterpret_cast<void*>(f32));
}

void add_unary(Symbols& symbols, const std::string& name, Unary f64, UnaryF32 f32) {
  add(symbols, name, f64, f32);
}

void add_binary(Symbols& symbols, const std::string& name, Binary f64, BinaryF32 f32) {
  add(symbols, name, f64, f32);
}

Symbols make_libm() {
  Symbols symbols;
  add_unary(symbols, "exp", std::exp, std::exp);
  add_unary(symbols, "exp2", std::exp2, std::exp2);
  add_unary(symbols, "expm1", std::expm1, std::expm1);
  add_unary(symbols, "log", std::log, std::log);
  add_unary(symbols, "log2", std::log2, std::log2);
  add_unary(symbols, "log1p", std::log1p, std::log1p);
  add_unary(symbols, "sin", std::sin, std::sin);
  add_unary(symbols, "cos", std::cos, std::cos);
  add_unary(symbols, "tan", std::tan, std::tan);
  add_unary(symbols, "sinh", std::sinh, std::sinh);
  add_unary(symbols, "cosh", std::cosh, std::cosh);
  // The meaning's, so that masks have its bits.
  add_unary(symbols, "tanh", std::tanh, ir::scalar::float_tanh<float>);
  add_unary(symbols, "atan", std::atan, std::atan);
  add_unary(symbols, "erf", std::erf, std::erf);
  add_unary(symbols, "erfc", std::erfc, std::erfc);
  add_unary(symbols, "floor", std::floor, std::floor);
  add_unary(symbols, "ceil", std::ceil, std::ceil);
  add_unary(symbols, "trunc", std::trunc, std::trunc);
  add_unary(symbols, "nearbyint", std::nearbyint, std::nearbyint);
  add_binary(symbols, "fmod", std::fmod, std::fmod);
  add_binary(symbols, "pow", std::pow, std::pow);
  return symbols;
}

const Symbols& libm() {
  static const Symbols symbols = make_libm();
  return symbols;
}

}  // namespace

bool has_sleef() { return sleef() != nullptr; }

std::optional<void*> find_symbol(const std::string& name) {
  const auto found = libm().find(name);
  if (found != libm().end()) return found->second;
  if (name.rfind("Sleef_", 0) != 0 || !has_sleef()) return std::nullopt;
  void* symbol = ::dlsym(sleef(), name.c_str());
  return symbol != nullptr ? std::optional(symbol) : std::nullopt;
}

}  // namespace tilewright::cpu::jit
