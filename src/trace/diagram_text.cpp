// The diagram for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "trace/diagram.hpp"
#include "trace/drawing.hpp"

namespace conclave::trace {
namespace {

std::string cut_to(std::string text, std::size_t width, std::string_view ellipsis) {
  if (columns(text) <= width) return text;
  const std::size_t keep = width - std::min(width, columns(ellipsis));
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && seen++ == keep) break;
  }
  return text.substr(0, end).append(ellipsis);
}

struct Glyphs {
  std::string_view lane, inside, waiting, paused, down;
  std::string_view step, crash, recover, lost;
  std::string_view message, application, cut;
  std::string_view to_right, to_left;
  std::string_view crossing, crossing_inside;
  std::string_view leaves_right, leaves_right_inside, leaves_left, leaves_left_inside;
  std::string_view ellipsis;
};

// clang-format off
constexpr Glyphs line_art = {
    .lane = "│", .inside = "┃", .waiting = "┊", .paused = "·", .down = " ",
    .step = "●", .crash = "✕", .recover = "○", .lost = "✕",
    .message = "─", .application = "╌", .cut = "═",
    .to_right = "▶", .to_left = "◀",
    .crossing = "┼", .crossing_inside = "╂",
    .leaves_right = "├", .leaves_right_inside = "┠", .leaves_left = "┤", .leaves_left_inside = "┨",
    .ellipsis = "…"};

constexpr Glyphs plain_characters = {
    .lane = "|", .inside = "#", .waiting = ":", .paused = ".", .down = " ",
    .step = "*", .crash = "X", .recover = "o", .lost = "x",
    .message = "-", .application = "~", .cut = "=",
    .to_right = ">", .to_left = "<",
    .crossing = "+", .crossing_inside = "#",
    .leaves_right = "+", .leaves_right_inside = "#", .leaves_left = "+", .leaves_left_inside = "#",
    .ellipsis = "..."};
// clang-format on

// Our own words hold these characters; what protocols write is theirs to keep plain.
std::string in_ascii(std::string text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> spellings = {
      {{"→", "->"}, {"…", "..."}, {"–", "-"}}};
  for (const auto& [character, spelling] : spellings) {
    for (std::size_t at = text.find(character); at != std::string::npos; at = text.find(character, at))
      text.replace(at, character.size(), spelling);
  }
  return text;
}

enum class Ink : std::uint8_t { normal, dim, green, yellow, red };

std::string_view escape_of(Ink ink) {
  switch (ink) {
    case Ink::dim: return "\x1b[2m";
    case Ink::green: return "\x1b[32m";
    case Ink::yellow: return "\x1b[33m";
    case Ink::red: return "\x1b[31m";
    case Ink::normal: break;
  }
  return "";
}

struct Cell {
  std::string_view glyph = " ";
  Ink ink = Ink::normal;
};

class TextDrawing {
 public:
  TextDrawing(const Header& header, const std::vector<Step>& steps, const TextStyle& style)
      : style_(style),
        glyphs_(style.ascii ? plain_characters : line_art),
        rows_(first_rows(steps, style.most_rows)),
        cast_(cast_of(header, rows_.steps)) {
    for (const NodeId node : cast_.nodes) lane_of_.emplace(node, lane_of_.size());
    if (!rows_.steps.empty())
      time_width_ = std::max(time_width_, fmt::formatted_size("{}", rows_.steps.back()->at.count));
    const std::size_t room = style.width - std::min(style.width, margin() + wanted_words);
    if (lanes() > 0) spacing_ = std::clamp(room / lanes(), least_spacing, most_spacing);
  }

  std::string draw() {
    if (margin() + lanes() * spacing_ + least_words > style_.width)
      return fmt::format("{} processes do not fit {} columns: draw an SVG, or run fewer nodes.\n", lanes(),
                         style_.width);
    std::string out = labels();
    for (const Step* step : rows_.steps) out += row(*step);
    if (rows_.left_out > 0)
      out += fmt::format("{} {} more step{}\n", glyphs_.ellipsis, rows_.left_out,
                         rows_.left_out == 1 ? "" : "s");
    return out;
  }

 private:
  static constexpr std::size_t most_spacing = 6;
  static constexpr std::size_t least_spacing = 2;  // a step and the head of the arrow that comes to it
  static constexpr std::size_t longest_label = 16;
  static constexpr std::size_t wanted_words = 48;  // lanes move closer together to leave so much room …
  static constexpr std::size_t least_words = 24;   // … and this much they must leave

  std::size_t lanes() const { return lane_of_.size(); }
  std::size_t margin() const { return time_width_ + 2; }
  std::size_t column(NodeId node) const { return lane_of_.at(node) * spacing_; }

  // Foreign names may be of any length and hold anything.
  std::string label(NodeId node) const {
    std::string name = cut_to(cast_.name(node), longest_label, glyphs_.ellipsis);
    std::ranges::replace_if(name, is_control, ' ');
    return name;
  }

  // Names that are wider than a lane take turns on several lines.
  std::string labels() const {
    std::size_t widest = 0;
    for (const auto& [node, lane] : lane_of_) widest = std::max(widest, columns(label(node)));
    const std::size_t lines = std::max<std::size_t>(1, (widest + spacing_) / spacing_);
    std::string out;
    for (std::size_t line = 0; line < lines; ++line) {
      std::string text = line == 0 ? fmt::format("{:>{}}", "time", time_width_) : "";
      for (const auto& [node, lane] : lane_of_) {
        if (lane % lines != line) continue;
        text.append(margin() + column(node) - columns(text), ' ');
        text += label(node);
      }
      if (!text.empty()) out += text + '\n';
    }
    return out;
  }

  std::string row(const Step& step) {
    const NodeSet intruded_upon = conditions_.intruded_upon_by(step);
    conditions_.see(step);
    const std::size_t used = margin() + lanes() * spacing_;
    std::string text = in_words(step, cast_, intruded_upon);
    if (style_.ascii) text = in_ascii(std::move(text));
    // A trace may come from anywhere; what it says must not steer the terminal.
    std::ranges::replace_if(text, is_control, ' ');
    text = cut_to(std::move(text), style_.width - std::min(style_.width, used), glyphs_.ellipsis);
    const Cell remark = {text, intruded_upon.empty() ? ink_of(step) : Ink::red};
    return fmt::format("{:>{}}  {}{}\n", step.at.count, time_width_, inked(lanes_at(step)), inked({remark}));
  }

  std::string inked(const std::vector<Cell>& cells) const {
    std::string out;
    Ink current = Ink::normal;
    const auto change_to = [&](Ink ink) {
      if (!style_.colour || ink == current) return;
      if (current != Ink::normal) out += "\x1b[0m";
      out += escape_of(ink);
      current = ink;
    };
    for (const Cell& cell : cells) {
      change_to(cell.ink);
      out += cell.glyph;
    }
    change_to(Ink::normal);
    return out;
  }

  std::vector<Cell> lanes_at(const Step& step) const {
    std::vector<Cell> cells(lanes() * spacing_);
    for (const auto& [node, lane] : lane_of_) cells[lane * spacing_] = lane_cell(conditions_.of(node));
    if (step.kind == Kind::partition || step.kind == Kind::heal) draw_rule(cells);
    if (step.kind == Kind::lose) draw_loss(cells, step);
    if (step.node && step.from && step.from != step.node) draw_arrival(cells, step);
    if (step.node) cells[column(*step.node)] = {mark(step), ink_of(step)};
    return cells;
  }

  Cell lane_cell(const Condition& condition) const {
    if (condition.down) return {glyphs_.down};
    if (condition.paused) return {glyphs_.paused, Ink::dim};
    if (condition.inside) return {glyphs_.inside, Ink::green};
    if (condition.waiting) return {glyphs_.waiting, Ink::yellow};
    return {glyphs_.lane};
  }

  std::string_view mark(const Step& step) const {
    if (step.kind == Kind::crash) return glyphs_.crash;
    if (step.kind == Kind::recover) return glyphs_.recover;
    return glyphs_.step;
  }

  static Ink ink_of(const Step& step) {
    if (step.kind == Kind::crash || step.kind == Kind::lose || step.kind == Kind::partition) return Ink::red;
    return grants(step) ? Ink::green : Ink::normal;
  }

  void draw_rule(std::vector<Cell>& cells) const {
    for (std::size_t at = 0; at + spacing_ < cells.size(); ++at) {
      if (at % spacing_ != 0) cells[at] = {glyphs_.cut, Ink::dim};
    }
  }

  void draw_arrival(std::vector<Cell>& cells, const Step& step) const {
    const bool rightward = *step.from < *step.node;
    draw_line(cells, *step.from, *step.node, step.kind == Kind::hear ? glyphs_.application : glyphs_.message,
              {rightward ? glyphs_.to_right : glyphs_.to_left, Ink::dim});
  }

  void draw_loss(std::vector<Cell>& cells, const Step& step) const {
    const Flight* flight = cast_.flight(step);
    if (!flight || flight->from == flight->sent->to) return;
    draw_line(cells, flight->from, flight->sent->to,
              flight->by_application ? glyphs_.application : glyphs_.message, {glyphs_.lost, Ink::red});
  }

  // From one lane to the cell before another, which shows the `head`.
  void draw_line(std::vector<Cell>& cells, NodeId from, NodeId to, std::string_view glyph, Cell head) const {
    const bool rightward = from < to;
    const std::size_t begin = column(from);
    const std::size_t end = rightward ? column(to) - 1 : column(to) + 1;
    for (std::size_t at = std::min(begin, end); at <= std::max(begin, end); ++at) {
      const bool over_lane = at % spacing_ == 0 && at != begin;
      cells[at] = {over_lane ? crossing(cells[at].glyph, glyph) : glyph, Ink::dim};
    }
    cells[begin].glyph = departure(conditions_.of(from), rightward, glyph);
    cells[end] = head;
  }

  std::string_view crossing(std::string_view lane, std::string_view line) const {
    if (lane == glyphs_.down) return line;
    return lane == glyphs_.inside ? glyphs_.crossing_inside : glyphs_.crossing;
  }

  std::string_view departure(const Condition& sender, bool rightward, std::string_view line) const {
    if (sender.down) return line;
    if (rightward) return sender.inside ? glyphs_.leaves_right_inside : glyphs_.leaves_right;
    return sender.inside ? glyphs_.leaves_left_inside : glyphs_.leaves_left;
  }

  TextStyle style_;
  const Glyphs& glyphs_;
  Rows rows_;
  Cast cast_;
  std::map<NodeId, std::size_t> lane_of_;
  std::size_t time_width_ = 4;
  std::size_t spacing_ = most_spacing;
  Conditions conditions_;
};

}  // namespace

std::string draw_text(const Header& header, const std::vector<Step>& steps, const TextStyle& style) {
  return TextDrawing(header, steps, style).draw();
}

}  // namespace conclave::trace
