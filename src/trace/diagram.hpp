// Space-time diagrams of a run: for the terminal, one column per process and time running down; as SVG,
// one lifeline per process and time running to the right. Both read steps and nothing else.
#pragma once
#include <string>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

struct TextStyle {
  bool colour = false;  // ANSI escapes
  std::size_t width = 120;
  bool ascii = false;  // for terminals and files that know nothing else
  std::size_t most_rows = 200;
};

struct SvgStyle {
  std::size_t most_steps = 2000;
};

// What happened in a step, in one line: "p3 gets Request{counter 1} from p1 → Reply to p1". A lost message
// goes by its number here; the drawings know the whole run and say whose it was.
std::string words(const Step& step);

// One row per step, the oldest first, every line with its newline. One sentence instead if the lanes of so
// many processes do not fit the width.
std::string draw_text(const Header& header, const std::vector<Step>& steps, const TextStyle& style);

// A whole SVG document that needs no other file, for light and dark backgrounds.
std::string draw_svg(const Header& header, const std::vector<Step>& steps, const SvgStyle& style);

}  // namespace conclave::trace
