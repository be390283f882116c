#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.h"
#include "tilewright/masks.h"
#include "tilewright/scores.h"
#include "trace_session.h"

namespace tilewright::python {

/// A catalogue mod and the views that it captures: callable with symbols, like a Python function.
template <class Mod>
struct CatalogueMod {
  Mod mod;
  std::vector<std::pair<std::string, nb::object>> captures;
};

/// Tells the running trace who owns what the mod captured.
inline void note_captures(const std::vector<std::pair<std::string, nb::object>>& captures) {
  for (const auto& [name, view] : captures)
    TraceSession::current().note(name, nb::cast<const View&>(view).owner);
}

/// Names and owners of what the mod captured.
template <class Mod>
nb::list named_captures(const CatalogueMod<Mod>& self) {
  nb::list listed;
  for (const auto& [name, view] : self.captures)
    listed.append(nb::make_tuple(name, nb::cast<const View&>(view).owner));
  return listed;
}

/// Turns Python arguments into those of a catalogue function and keeps what they capture.
struct Arguments {
  std::vector<std::pair<std::string, nb::object>> captures;

  template <class T>
  T take(nb::handle object, const std::string& name) {
    using Plain = std::decay_t<T>;
    if constexpr (std::is_same_v<Plain, Number>) {
      return number_from(object);
    } else if constexpr (std::is_same_v<Plain, Capture>) {
      const nb::tuple seen = nb::borrow<nb::tuple>(
          nb::module_::import_("tilewright._operands").attr("capture_view")(object, name));
      const auto called = nb::cast<std::string>(seen[1]);
      captures.emplace_back(called, seen[0]);
      return Capture(called, required_view(seen[0]));
    } else if constexpr (std::is_same_v<Plain, std::vector<MaskMod>>) {
      std::vector<MaskMod> parts;
      for (nb::handle part : object) parts.push_back(take<MaskMod>(part, name));
      return parts;
    } else {
      return take_mod<Plain>(object);
    }
  }

  /// Another catalogue mod, or any Python function of symbols.
  template <class Mod>
  Mod take_mod(nb::handle object) {
    const nb::object function = nb::borrow(object);
    return [function](auto... symbols) -> Value {
      return operand(function(wrap(symbols)...)).value();
    };
  }
};

/// Where catalogue functions are bound, and how their objects are called.
template <class Mod>
class Binder {
 public:
  explicit Binder(nb::module_& module) : module_(module) {}

  /// `names` are the parameters' names, separated by blanks; `formula` becomes the docstring.
  template <class... Parameters>
  void def(const char* name, Mod (*make)(Parameters...), const char* names, const char* formula) {
    std::vector<std::string> words;
    std::istringstream stream(names);
    for (std::string word; stream >> word;) words.push_back(word);
    module_.def(
        name,
        [make, words](nb::args args) {
          if (args.size() != sizeof...(Parameters)) {
            throw nb::type_error("a catalogue function got the wrong number of arguments");
          }
          return call(make, words, args, std::index_sequence_for<Parameters...>{});
        },
        formula);
    nb::list listed;
    for (const std::string& word : words) listed.append(word);
    nb::dict parameters = nb::borrow<nb::dict>(module_.attr("PARAMETERS"));
    parameters[name] = nb::make_tuple(nb::tuple(listed), formula);
  }

 private:
  template <class... Parameters, std::size_t... I>
  static CatalogueMod<Mod> call(Mod (*make)(Parameters...), const std::vector<std::string>& names,
                                const nb::args& args, std::index_sequence<I...>) {
    Arguments arguments;
    std::tuple<std::decay_t<Parameters>...> values{
        arguments.template take<Parameters>(args[I], names[I])...};
    return {.mod = std::apply(make, std::move(values)), .captures = std::move(arguments.captures)};
  }

  nb::module_& module_;
};

}  // namespace tilewright::python
