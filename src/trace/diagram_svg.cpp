// The diagram as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trace/diagram.hpp"
#include "trace/drawing.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::trace {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&apos;"; break;
      case '\n': out += c; break;
      // XML 1.0 has no way to write the other control characters.
      default: out += is_control(c) ? '?' : c;
    }
  }
  return out;
}

// Colours are written out twice: not every viewer knows CSS variables.
constexpr std::string_view stylesheet = R"(
.diagram { font: 11px system-ui, 'DejaVu Sans', sans-serif; }
.diagram .paper { fill: #ffffff; }
.diagram text { fill: #24292f; }
.diagram .headline { font-size: 14px; font-weight: 600; }
.diagram .who { font-size: 13px; font-weight: 600; text-anchor: end; }
.diagram .time { font-size: 9px; fill: #6e7781; text-anchor: middle; }
.diagram .type { font-size: 9px; fill: #57606a; text-anchor: middle; }
.diagram .fence { font-size: 9px; font-weight: 600; fill: #116329; text-anchor: middle; }
.diagram .cutlabel { font-size: 9px; fill: #9a6700; }
.diagram .type, .diagram .fence, .diagram .cutlabel {
  paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round;
}
.diagram .life { stroke: #8c959f; stroke-width: 1.5; }
.diagram .standing { stroke-dasharray: 1.5 5; stroke-linecap: round; stroke-width: 2.5; }
.diagram .axis { stroke: #d0d7de; stroke-width: 1; }
.diagram .waiting { fill: url(#hatch); stroke: #d4a72c; stroke-width: 0.8; }
.diagram .hatching { stroke: #d4a72c; stroke-width: 1.6; }
.diagram .inside { fill: #4ac26b; stroke: #1a7f37; stroke-width: 0.8; }
.diagram .clash { fill: #ff8182; stroke: #cf222e; }
.diagram .band { fill: #d4a72c; fill-opacity: 0.14; }
.diagram .message { stroke: #0969da; stroke-width: 1.2; marker-end: url(#head); }
.diagram .application { stroke: #8250df; stroke-dasharray: 5 3; marker-end: url(#apphead); }
.diagram .lost { stroke: #cf222e; marker-end: none; }
.diagram .pending { stroke-opacity: 0.5; marker-end: none; }
.diagram .headfill { fill: #0969da; }
.diagram .appfill { fill: #8250df; }
.diagram .step { fill: #24292f; }
.diagram .grant { fill: #116329; }
.diagram .cross { stroke: #cf222e; stroke-width: 2; fill: none; }
.diagram .back { fill: #ffffff; stroke: #1a7f37; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
.diagram .paper { fill: #0d1117; }
.diagram text { fill: #e6edf3; }
.diagram .time, .diagram .type { fill: #8b949e; }
.diagram .fence { fill: #56d364; }
.diagram .cutlabel { fill: #e3b341; }
.diagram .type, .diagram .fence, .diagram .cutlabel { stroke: #0d1117; }
.diagram .life { stroke: #6e7681; }
.diagram .axis { stroke: #30363d; }
.diagram .waiting, .diagram .hatching { stroke: #bb8009; }
.diagram .inside { fill: #238636; stroke: #3fb950; }
.diagram .clash { fill: #da3633; stroke: #ff7b72; }
.diagram .band { fill: #bb8009; fill-opacity: 0.2; }
.diagram .message { stroke: #58a6ff; }
.diagram .application { stroke: #bc8cff; }
.diagram .lost, .diagram .cross { stroke: #f85149; }
.diagram .headfill { fill: #58a6ff; }
.diagram .appfill { fill: #bc8cff; }
.diagram .step { fill: #e6edf3; }
.diagram .grant { fill: #56d364; }
.diagram .back { fill: #0d1117; stroke: #3fb950; }
}
)";

constexpr std::string_view definitions = R"svg(<defs>
<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<line class="hatching" x1="0" y1="0" x2="0" y2="5"/>
</pattern>
<marker id="head" markerWidth="8" markerHeight="7" refX="7" refY="3.5" orient="auto"
  markerUnits="userSpaceOnUse">
<path class="headfill" d="M0 0L8 3.5L0 7z"/>
</marker>
<marker id="apphead" markerWidth="8" markerHeight="7" refX="7" refY="3.5" orient="auto"
  markerUnits="userSpaceOnUse">
<path class="appfill" d="M0 0L8 3.5L0 7z"/>
</marker>
</defs>
)svg";

struct Point {
  double x = 0;
  double y = 0;
};

Point between(Point a, Point b, double share) {
  return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share};
}

// The point that lies `distance` before b on the way from a.
Point short_of(Point a, Point b, double distance) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  return length <= distance ? a : between(a, b, 1 - distance / length);
}

// How long a node was in one condition.
struct Span {
  NodeId node = {};
  Condition condition = {};
  double from_x = 0;
  double to_x = 0;
  std::string fence = {};
  bool clash = false;
};

class SvgDrawing {
 public:
  SvgDrawing(const Header& header, const std::vector<Step>& steps, const SvgStyle& style)
      : header_(header), rows_(first_rows(steps, style.most_steps)), cast_(cast_of(header, rows_.steps)) {
    for (const NodeId node : cast_.nodes) lane_of_.emplace(node, lane_of_.size());
    lane_height_ = lane_of_.size() <= 12 ? 64 : 36;
    label_messages_ = cast_.flights.size() <= most_labels;
    for (const NodeId node : cast_.nodes)
      left_ = std::max(left_, 20 + 8 * static_cast<double>(columns(label(node))));
  }

  std::string draw() {
    begin();
    draw_legend();
    draw_bands();
    const std::vector<Span> spans = spans_of_nodes();
    for (const Span& span : spans) draw_bar(span);
    for (const Span& span : spans) draw_lifeline(span);  // above: who stands still inside must show it
    draw_messages();
    draw_steps();
    draw_names();
    draw_axis();
    return std::move(out_) + "</svg>\n";
  }

 private:
  static constexpr std::size_t longest_label = 24;
  static constexpr double top = 112;  // of the first lifeline
  static constexpr double step_width = 38;
  static constexpr double dot = 4;            // radius of a step
  static constexpr double least_width = 880;  // so that the legend fits
  static constexpr std::size_t most_labels = 150;

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  std::string label(NodeId node) const {
    const std::string name = cast_.name(node);
    return columns(name) <= longest_label
               ? name
               : fmt::format("{}…", name.substr(0, first_bytes(name, longest_label - 1)));
  }
  double x(std::size_t row) const { return left_ + step_width * (static_cast<double>(row) + 0.6); }
  double y(NodeId node) const { return top + lane_height_ * static_cast<double>(lane_of_.at(node)); }
  double right() const { return x(rows_.steps.size()); }
  double bottom() const {
    return top + lane_height_ * std::max(0.0, static_cast<double>(lane_of_.size()) - 1);
  }

  void begin() {
    const double width = std::max(least_width, right() + 20);
    const double height = bottom() + 56;
    put("<svg xmlns='http://www.w3.org/2000/svg' class='diagram' width='{0:.0f}' height='{1:.0f}' "
        "viewBox='0 0 {0:.0f} {1:.0f}'>\n",
        width, height);
    put("<style>{}</style>\n{}", stylesheet, definitions);
    put("<rect class='paper' width='100%' height='100%'/>\n");
  }

  std::string headline() const {
    std::string out;
    for (const std::string& part : {header_.protocol, header_.variant, header_.world}) {
      if (!part.empty()) out += part + " · ";
    }
    if (header_.names.empty()) {
      out += fmt::format("seed {}", header_.seed);
    } else {
      out.resize(out.size() - std::min(out.size(), std::string_view(" · ").size()));  // a log has no seed
    }
    if (rows_.left_out > 0)
      out +=
          fmt::format(" · the first {} of {} steps", rows_.steps.size(), rows_.steps.size() + rows_.left_out);
    return out;
  }

  void draw_legend() {
    put("<text class='headline' x='16' y='26'>{}</text>\n", escaped(headline()));
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> samples = {{
        {"waiting", R"(<rect class="waiting" x="0" y="-5" width="26" height="10"/>)"},
        {"inside", R"(<rect class="inside" x="0" y="-7" width="26" height="14" rx="3"/>)"},
        {"message", R"(<line class="message" x1="0" y1="0" x2="26" y2="0"/>)"},
        {"application’s", R"(<line class="message application" x1="0" y1="0" x2="26" y2="0"/>)"},
        {"lost", R"(<line class="message lost" x1="0" y1="0" x2="21" y2="0"/>)"
                 R"(<path class="cross" d="M18 -4l8 8m0 -8l-8 8"/>)"},
        {"crash", R"(<path class="cross" d="M13 -5l10 10m0 -10l-10 10"/>)"},
        {"back", R"(<circle class="back" cx="18" cy="0" r="5"/>)"},
        {"standing still", R"(<line class="life standing" x1="2" y1="0" x2="26" y2="0"/>)"},
        {"links cut", R"(<rect class="band" x="0" y="-8" width="26" height="16"/>)"},
    }};
    double at = 16;
    for (const auto& [meaning, sample] : samples) {
      put("<g transform='translate({:.0f} 48)'>{}<text x='32' y='4'>{}</text></g>\n", at, sample, meaning);
      at += 50 + 6 * static_cast<double>(columns(meaning));
    }
  }

  // Links heal all at once, whatever broke them; so every open band ends there.
  void draw_bands() {
    std::vector<std::size_t> open;
    const auto close_at = [&](double end) {
      for (std::size_t i = 0; i < open.size(); ++i) draw_band(open[i], end, i);
      open.clear();
    };
    for (std::size_t row = 0; row < rows_.steps.size(); ++row) {
      if (rows_.steps[row]->kind == Kind::partition) open.push_back(row);
      if (rows_.steps[row]->kind == Kind::heal) close_at(x(row));
    }
    close_at(right());
  }

  void draw_band(std::size_t row, double end, std::size_t depth) {
    const std::string text = escaped(in_words(*rows_.steps[row], cast_));
    const double begin = x(row);
    put("<g><title>t {} · {}</title>", rows_.steps[row]->at.count, text);
    put("<rect class='band' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}'/>", begin, top - 40,
        end - begin, bottom() - top + 64);
    put("<text class='cutlabel' x='{:.1f}' y='{:.1f}'>{}</text></g>\n", begin + 3,
        top - 30 + 11 * static_cast<double>(depth % 2), text);
  }

  std::vector<Span> spans_of_nodes() const {
    std::vector<Span> spans;
    std::map<NodeId, Span> open;
    for (const NodeId node : cast_.nodes) open[node] = {.node = node, .from_x = left_};
    Conditions conditions;
    for (std::size_t row = 0; row < rows_.steps.size(); ++row) {
      const Step& step = *rows_.steps[row];
      const bool intrudes = !conditions.intruded_upon_by(step).empty();
      conditions.see(step);
      if (!step.node || conditions.of(*step.node) == open[*step.node].condition) continue;
      Span& span = open[*step.node];
      const Condition condition = conditions.of(*step.node);
      const bool still_clashes = span.clash && condition.inside;  // it may stand still in there
      span.to_x = x(row);
      spans.push_back(span);
      span = {.node = *step.node,
              .condition = condition,
              .from_x = x(row),
              .fence = fence_of(step),
              .clash = intrudes || still_clashes};
    }
    for (auto& [node, span] : open) {
      span.to_x = right();
      spans.push_back(span);
    }
    return spans;
  }

  static std::string fence_of(const Step& step) {
    for (const Item& event : step.events) {
      if (event.type != "Granted") continue;
      if (const auto fence = number_field(event.content, "fence")) return fmt::format("fence {}", *fence);
    }
    return {};
  }

  void draw_lifeline(const Span& span) {
    if (span.condition.down) return;
    put("<line class='life{}' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>\n",
        span.condition.paused ? " standing" : "", span.from_x, y(span.node), span.to_x, y(span.node));
  }

  void draw_bar(const Span& span) {
    if (!span.condition.inside && !span.condition.waiting) return;
    const double height = span.condition.inside ? 14 : 10;
    const std::string_view kind = span.clash ? "inside clash" : span.condition.inside ? "inside" : "waiting";
    put("<rect class='{}' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.0f}' rx='3'/>\n", kind, span.from_x,
        y(span.node) - height / 2, span.to_x - span.from_x, height);
    if (span.fence.empty()) return;
    put("<text class='fence' x='{:.1f}' y='{:.1f}'>{}</text>\n", (span.from_x + span.to_x) / 2,
        y(span.node) - 11, span.fence);
  }

  void draw_messages() {
    std::unordered_map<std::uint64_t, bool> ended;
    for (std::size_t row = 0; row < rows_.steps.size(); ++row) {
      const Step& step = *rows_.steps[row];
      const Flight* flight = cast_.flight(step);
      if (!flight) continue;
      if (step.kind == Kind::deliver || step.kind == Kind::hear || step.kind == Kind::event)
        draw_delivery(*flight, row);
      if (step.kind == Kind::lose) draw_loss(*flight, row);
      if (step.kind != Kind::duplicate) ended[*step.message] = true;
    }
    for (const Step* step : rows_.steps) {
      for (const Sent& sent : step->sends) {
        const auto flight = cast_.flights.find(sent.id);
        if (flight != cast_.flights.end() && !ended.contains(sent.id)) draw_stub(flight->second);
      }
    }
  }

  // Logs of other programs tell that there was a message, not which.
  static std::string what_of(const Flight& flight) {
    return flight.sent->what.type.empty() ? "message" : describe(flight.sent->what);
  }

  Point origin(const Flight& flight) const { return {x(flight.row), y(flight.from)}; }

  void draw_delivery(const Flight& flight, std::size_t row) {
    const Step& step = *rows_.steps[row];
    const Point begin = origin(flight);
    const Point end = {x(row), y(*step.node)};
    put("<g><title>{} from {} to {} · t {} to {}</title>", escaped(what_of(flight)),
        escaped(cast_.name(flight.from)), escaped(cast_.name(flight.sent->to)),
        rows_.steps[flight.row]->at.count, step.at.count);
    draw_line(begin, short_of(begin, end, dot), flight.by_application ? "message application" : "message");
    if (label_messages_ && !flight.by_application) draw_type(begin, end, flight.sent->what.type);
    put("</g>\n");
  }

  // Lost on the way it ends before the receiver, lost at a receiver who is down it ends there.
  void draw_loss(const Flight& flight, std::size_t row) {
    const Step& step = *rows_.steps[row];
    const Point begin = origin(flight);
    const Point target = {x(row), y(flight.sent->to)};
    const Point end = step.input.type == "receiver is down" ? target : between(begin, target, 0.6);
    put("<g><title>t {} · {}</title>", step.at.count, escaped(in_words(step, cast_)));
    draw_line(begin, end, flight.by_application ? "message application lost" : "message lost");
    if (label_messages_ && !flight.by_application) draw_type(begin, end, flight.sent->what.type);
    draw_cross(end, 4);
    put("</g>\n");
  }

  // Still under way where the drawing ends.
  void draw_stub(const Flight& flight) {
    const Point begin = origin(flight);
    const double towards = y(flight.sent->to) > begin.y ? 1 : -1;
    const Point end = {begin.x + step_width * 0.7, begin.y + towards * lane_height_ * 0.3};
    put("<g><title>{} from {} to {} · still under way</title>", escaped(what_of(flight)),
        escaped(cast_.name(flight.from)), escaped(cast_.name(flight.sent->to)));
    draw_line(begin, end, flight.by_application ? "message application pending" : "message pending");
    put("</g>\n");
  }

  void draw_line(Point begin, Point end, std::string_view kind) {
    put("<line class='{}' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>", kind, begin.x, begin.y, end.x,
        end.y);
  }

  void draw_cross(Point at, double reach) {
    put("<path class='cross' d='M{:.1f} {:.1f}l{:.1f} {:.1f}m0 {:.1f}l{:.1f} {:.1f}'/>", at.x - reach,
        at.y - reach, 2 * reach, 2 * reach, -2 * reach, -2 * reach, 2 * reach);
  }

  // Where the line is nearest to its middle and yet between two lifelines: on one, text is hard to read.
  double share_at_gap(Point begin, Point end) const {
    const double lanes = std::round(std::abs(end.y - begin.y) / lane_height_);
    return lanes < 2 ? 0.5 : (std::ceil(lanes / 2) - 0.5) / lanes;
  }

  // Along its line, which never runs leftward, so the text is never upside down.
  void draw_type(Point begin, Point end, std::string_view type) {
    const Point middle = between(begin, end, share_at_gap(begin, end));
    const double degrees = std::atan2(end.y - begin.y, end.x - begin.x) * 180 / std::numbers::pi;
    put("<text class='type' transform='translate({:.1f} {:.1f}) rotate({:.1f})' y='-3'>{}</text>", middle.x,
        middle.y, degrees, escaped(type));
  }

  void draw_steps() {
    Conditions conditions;
    for (std::size_t row = 0; row < rows_.steps.size(); ++row) {
      const Step& step = *rows_.steps[row];
      const NodeSet intruded_upon = conditions.intruded_upon_by(step);
      conditions.see(step);
      if (!step.node) continue;
      put("<g><title>{}</title>", escaped(tooltip(step, intruded_upon)));
      draw_mark(step, {x(row), y(*step.node)});
      put("</g>\n");
    }
  }

  std::string tooltip(const Step& step, const NodeSet& intruded_upon) const {
    std::string out =
        fmt::format("t {} · step {}\n{}", step.at.count, step.number, in_words(step, cast_, intruded_upon));
    if (!step.vector.counts.empty()) out += "\nvector clock";
    for (const auto& [node, count] : step.vector.counts)
      out += fmt::format(" {}:{}", cast_.name(node), count);
    return out;
  }

  void draw_mark(const Step& step, Point at) {
    if (step.kind == Kind::crash) return draw_cross(at, 6);
    const std::string_view kind = step.kind == Kind::recover ? "back" : grants(step) ? "grant" : "step";
    const double radius = step.kind == Kind::recover ? dot + 1 : dot;
    put("<circle class='{}' cx='{:.1f}' cy='{:.1f}' r='{:.0f}'/>", kind, at.x, at.y, radius);
  }

  void draw_names() {
    for (const NodeId node : cast_.nodes)
      put("<text class='who' x='{:.1f}' y='{:.1f}'>{}</text>\n", left_ - 8, y(node) + 4,
          escaped(label(node)));
  }

  // Steps are evenly spaced, so time is not: each column says its time, if it is new and has room.
  void draw_axis() {
    const double level = bottom() + 32;
    put("<line class='axis' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>\n", left_, level, right(),
        level);
    double free_from = 0;
    for (std::size_t row = 0; row < rows_.steps.size(); ++row) {
      const std::string time = fmt::format("{}", rows_.steps[row]->at.count);
      const double half = 3.5 * static_cast<double>(time.size());
      const bool same_as_before = row > 0 && rows_.steps[row]->at == rows_.steps[row - 1]->at;
      if (same_as_before || x(row) - half < free_from) continue;
      put("<text class='time' x='{:.1f}' y='{:.1f}'>{}</text>\n", x(row), level + 13, time);
      free_from = x(row) + half;
    }
  }

  const Header& header_;
  Rows rows_;
  Cast cast_;
  std::map<NodeId, std::size_t> lane_of_;
  double lane_height_ = 64;
  double left_ = 56;  // where the lifelines begin
  bool label_messages_ = true;
  std::string out_;
};

}  // namespace

std::string draw_svg(const Header& header, const std::vector<Step>& steps, const SvgStyle& style) {
  return SvgDrawing(header, steps, style).draw();
}

}  // namespace conclave::trace
