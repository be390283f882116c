#include "backends/cuda/nvrtc/nvrtc_search.h"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <functional>

namespace tilewright::cuda {

namespace fs = std::filesystem;

namespace {

constexpr int kOldestMajor = 11;

bool is_nvrtc(const std::string& file_name) {
  return file_name.starts_with("libnvrtc") && file_name.find(".so") != std::string::npos &&
         file_name.find("builtins") == std::string::npos &&
         file_name.find(".alt.") == std::string::npos;
}

/// NVRTC libraries of a folder, newest name first.
std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    // The bare development link names nothing that a versioned name does not.
    if (is_nvrtc(name) && name.find(".so.") != std::string::npos)
      found.push_back(file->path().string());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

std::vector<std::string> folders_of(const fs::path& parent, std::string_view prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator folder(parent, error), end; !error && folder != end;
       folder.increment(error))
    if (folder->path().filename().string().starts_with(prefix))
      found.push_back(folder->path().string());
  std::sort(found.rbegin(), found.rend());
  return found;
}

void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

void add_environment(std::vector<std::string>& site_packages, const fs::path& environment) {
  for (const std::string& python : folders_of(environment / "lib", "python3"))
    add_once(site_packages, python + "/site-packages");
}

std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0')
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

void add_loaded(NvrtcPlaces& places) {
  for (const std::string& file : loaded_files()) {
    if (is_nvrtc(fs::path(file).filename().string())) add_once(places.loaded, file);
    for (const char* folder : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = file.find(folder);
      if (at != std::string::npos)
        add_once(places.site_packages, file.substr(0, at) + std::string(folder, 14));
    }
  }
}

/// One search: keeps the first that fits and a line for each that does not.
class Search {
 public:
  explicit Search(int driver_major) : driver_major_(driver_major) {}

  bool found() const { return choice_.nvrtc != nullptr; }
  NvrtcChoice take() { return std::move(choice_); }
  void note(const std::string& line) { choice_.tried.push_back(line); }

  void consider(const std::string& path, const std::string& origin, bool loaded) {
    if (found()) return;
    std::string why;
    std::shared_ptr<const Nvrtc> nvrtc = loaded ? Nvrtc::adopt(path, why) : Nvrtc::open(path, why);
    if (nvrtc == nullptr) return note(origin + ": " + why);
    if (nvrtc->major() > driver_major_)
      return note(origin + ": " + path + " is of CUDA " + nvrtc->version_text() +
                  ", newer than the driver's CUDA " + std::to_string(driver_major_));
    choice_.reason = origin + ": " + nvrtc->path() + " (NVRTC " + nvrtc->version_text() + ")";
    choice_.nvrtc = std::move(nvrtc);
  }

  void consider_folder(const fs::path& folder, const std::string& origin) {
    for (const std::string& library : libraries_in(folder)) consider(library, origin, false);
  }

 private:
  int driver_major_;
  NvrtcChoice choice_;
};

void search_chosen(Search& search, const std::string& chosen) {
  const std::string origin = "chosen by EngineOptions::nvrtc or TILEWRIGHT_NVRTC";
  std::error_code error;
  if (!fs::is_directory(chosen, error)) return search.consider(chosen, origin, false);
  if (libraries_in(chosen).empty()) search.note(origin + ": " + chosen + " holds no libnvrtc.so.*");
  search.consider_folder(chosen, origin);
}

void search_wheels(Search& search, const NvrtcPlaces& places, int driver_major) {
  for (const std::string& site : places.site_packages) {
    for (int major = driver_major; major >= 13; --major)
      search.consider_folder(fs::path(site) / "nvidia" / ("cu" + std::to_string(major)) / "lib",
                             "PyPI wheel in " + site);
    search.consider_folder(fs::path(site) / "nvidia" / "cuda_nvrtc" / "lib",
                           "PyPI wheel in " + site);
  }
}

void search_loader_path(Search& search, int driver_major) {
  for (int major = driver_major; major >= kOldestMajor && !search.found(); --major) {
    const std::string suffix = major == 11 ? "11.2" : std::to_string(major);
    search.consider("libnvrtc.so." + suffix, "the loader's search path", false);
  }
}

}  // namespace

NvrtcPlaces nvrtc_places(const backends::BackendOptions& options) {
  NvrtcPlaces places;
  places.chosen = options.nvrtc;
  places.toolkits = options.cuda_toolkits;
  add_loaded(places);
  if (!options.virtual_env.empty()) add_environment(places.site_packages, options.virtual_env);
  const std::string own = DynamicLibrary::path_of(reinterpret_cast<const void*>(&nvrtc_places));
  std::error_code error;
  fs::path folder = fs::absolute(own, error).parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    add_environment(places.site_packages, folder / ".venv");
  add_once(places.toolkits, "/usr/local/cuda");
  for (const std::string& toolkit : folders_of("/usr/local", "cuda-"))
    add_once(places.toolkits, toolkit);
  return places;
}

NvrtcChoice find_nvrtc(const NvrtcPlaces& places, int driver_major) {
  Search search(driver_major);
  if (!places.chosen.empty()) {
    search_chosen(search, places.chosen);
    return search.take();
  }
  for (const std::string& path : places.loaded)
    search.consider(path, "already loaded in this process", true);
  search_wheels(search, places, driver_major);
  for (const std::string& toolkit : places.toolkits)
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"})
      search.consider_folder(fs::path(toolkit) / folder, "CUDA toolkit " + toolkit);
  if (!search.found()) search_loader_path(search, driver_major);
  NvrtcChoice choice = search.take();
  if (!choice.nvrtc)
    choice.reason = "no NVRTC of CUDA " + std::to_string(driver_major) +
                    " or older: pip install nvidia-cuda-nvrtc, or set TILEWRIGHT_NVRTC";
  return choice;
}

}  // namespace tilewright::cuda
