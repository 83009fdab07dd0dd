#include "trace/words.hpp"

#include <fmt/format.h>

#include "trace/drawing.hpp"

namespace conclave::trace {

std::vector<Sentence> in_words(const Header& header, const std::vector<Step>& steps) {
  const Rows rows = first_rows(steps, steps.size());
  const Cast cast = cast_of(header, rows.steps);
  Conditions conditions;
  std::vector<Sentence> sentences;
  for (const Step* step : rows.steps) {
    sentences.push_back({step->number, in_words(*step, cast, conditions.intruded_upon_by(*step))});
    conditions.see(*step);
  }
  return sentences;
}

std::string as_lines(const std::vector<Sentence>& sentences) {
  const std::size_t width = sentences.empty() ? 0 : fmt::formatted_size("{}", sentences.back().step);
  std::string out;
  for (const Sentence& sentence : sentences) {
    std::string text = sentence.text;
    std::ranges::replace_if(text, is_control, ' ');  // a trace must not steer the terminal
    out += fmt::format("{:>{}}  {}\n", sentence.step, width, text);
  }
  return out;
}

}  // namespace conclave::trace
