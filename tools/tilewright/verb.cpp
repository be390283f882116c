#include "verb.h"

namespace tilewright::cli {

namespace {

constexpr Verb kVerbs[] = {
    {"run", "Compute attention on tensors from files, or on random ones", declare_run},
    {"verify", "Compare kernels with the fp64 meaning of attention", declare_verify},
    {"explain", "Show what each stage made of a program, and why", declare_explain},
    {"bench", "Measure speed as a share of a ceiling taken in the same run", declare_bench},
    {"mask", "Draw a mask, and count its tiles and live pairs", declare_mask},
    {"cache", "Show or clear the folder of compiled kernels", declare_cache},
    {"doctor", "Show what this machine offers and what was chosen", declare_doctor},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace tilewright::cli
