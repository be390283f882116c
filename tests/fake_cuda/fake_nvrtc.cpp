// Stands in for libnvrtc of CUDA FAKE_NVRTC_MAJOR: "compiles" text into its own first line and the
// options, and refuses text that holds #error.
#include <cstddef>
#include <cstring>
#include <string>

namespace {

struct Program {
  std::string text;
  std::string log;
  std::string bytes;
};

int give(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return 0;
}

int give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = FAKE_NVRTC_MAJOR;
  *minor = 3;
  return 0;
}
const char* nvrtcGetErrorString(int status) {
  return status == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 4;
  return 0;
}
int nvrtcGetSupportedArchs(int* archs) {
  const int known[] = {80, 89, 90, 100};
  std::memcpy(archs, known, sizeof known);
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{text, {}, {}};
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  if (program->text.find("#error") != std::string::npos) {
    program->log = "emitted.cu(3): error: #error directive: on purpose";
    return 6;
  }
  program->bytes = "fake cubin";
  for (int i = 0; i < count; ++i) program->bytes += std::string(" ") + options[i];
  program->log =
      "ptxas info    : Function properties for kernel\n"
      "ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers\n";
  return 0;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  return give(program->log, bytes);
}
int nvrtcGetProgramLog(Program* program, char* text) { return give(program->log, text); }
int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) { return give(program->bytes, bytes); }
int nvrtcGetCUBIN(Program* program, char* bytes) { return give(program->bytes, bytes); }
int nvrtcGetPTXSize(Program* program, std::size_t* bytes) { return give(program->bytes, bytes); }
int nvrtcGetPTX(Program* program, char* bytes) { return give(program->bytes, bytes); }

}  // extern "C"
