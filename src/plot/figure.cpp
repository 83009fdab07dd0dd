#include "plot/figure.hpp"

#include <algorithm>
#include <optional>

#include "plot/axis.hpp"
#include "plot/digits.hpp"

namespace conclave::plot {
namespace {

// Colours that remain apart for people who do not see red or green (Okabe and Ito, 2008), for paper and for
// dark screens. Every series has a mark and a dash of its own too: colour is never the only difference.
struct Colour {
  const char* on_light;
  const char* on_dark;
};
constexpr Colour colours[] = {{"#0072b2", "#56b4e9"}, {"#d55e00", "#ff8c42"}, {"#009e73", "#2fd6a3"},
                              {"#a8478a", "#e69bcb"}, {"#b57a00", "#f0c040"}, {"#2f9fd8", "#a6dcff"},
                              {"#555555", "#cccccc"}, {"#7a4b2a", "#d9a883"}};
constexpr std::size_t colour_count = std::size(colours);

constexpr double line_height = 18;
constexpr double letter_width = 6.7;  // on average, at 12 pixels
constexpr std::size_t most_in_legend = 18;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // XML has no way to write other control characters.
        if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') {
          out += "\uFFFD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string px(double length) { return digits_of(length, 1, true); }

std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string colour_rule(std::size_t i, const char* colour) {
  const std::string name = ".c" + std::to_string(i);
  return name + "{stroke:" + colour + "}" + name + "f{fill:" + colour + "}\n";
}

std::string styles() {
  std::string out =
      "<style>\n"
      "text{font:12px system-ui,sans-serif;fill:#333}\n"
      ".heading{font-size:16px;font-weight:600}.title{font-size:19px;font-weight:600}\n"
      ".across{text-anchor:middle}.up{text-anchor:end}.empty{text-anchor:middle;fill:#777}\n"
      ".paper{fill:#fff}.grid{stroke:#e3e3e3}.faint{stroke:#f1f1f1}.axis{stroke:#777}\n"
      ".curve{fill:none;stroke-width:1.8;stroke-linejoin:round}.band{stroke:none;fill-opacity:.16}\n";
  for (std::size_t i = 0; i < colour_count; ++i) out += colour_rule(i, colours[i].on_light);
  out +=
      "@media (prefers-color-scheme:dark){\n"
      "text{fill:#ddd}.empty{fill:#999}\n"
      ".paper{fill:#16181c}.grid{stroke:#34383f}.faint{stroke:#24272d}.axis{stroke:#999}\n"
      ".band{fill-opacity:.22}\n";
  for (std::size_t i = 0; i < colour_count; ++i) out += colour_rule(i, colours[i].on_dark);
  return out + "}\n</style>\n";
}

// All that comes before what is drawn.
std::string opening(unsigned width, unsigned height, const std::string& title,
                    const std::string& description) {
  const std::string w = std::to_string(width);
  const std::string h = std::to_string(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"plot-title plot-desc\" "
         "viewBox=\"0 0 " +
         w + " " + h + "\" width=\"" + w + "\" height=\"" + h + "\">\n" + "<title id=\"plot-title\">" +
         escaped(title.empty() ? "Figure" : title) + "</title>\n" + "<desc id=\"plot-desc\">" +
         escaped(description) + "</desc>\n" + styles() +
         "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure)
      : figure_(figure),
        across_(figure.x, all_x(figure), static_cast<int>(std::max(2u, figure.width / 110))),
        up_(figure.y, all_y(figure), static_cast<int>(std::max(2u, figure.height / 60))) {
    std::size_t longest = 0;
    for (const auto& mark : up_.marks()) longest = std::max(longest, letters(mark.label));
    left_ = 44 + letter_width * static_cast<double>(longest);
    std::size_t longest_name = 0;
    for (const Series& series : figure.series) longest_name = std::max(longest_name, letters(series.name));
    for (const Band& band : figure.bands) longest_name = std::max(longest_name, letters(band.name));
    const double legend =
        longest_name == 0 ? 20 : std::min(52 + letter_width * static_cast<double>(longest_name), 260.0);
    right_ = std::max(left_ + 40, figure.width - legend);
    top_ = figure.title.empty() ? 20 : 48;
    bottom_ = std::max(top_ + 40, figure.height - 56.0);
  }

  std::string drawn() {
    if (!figure_.title.empty()) text("heading", left_, 28, figure_.title);
    grid();
    for (const Band& band : figure_.bands) area(band);
    for (std::size_t i = 0; i < figure_.series.size(); ++i) curve(i);
    if (nothing_drawn_)
      out_ += "<text class=\"empty\" x=\"" + px((left_ + right_) / 2) + "\" y=\"" + px((top_ + bottom_) / 2) +
              "\">nothing to show</text>\n";
    legend();
    return std::move(out_);
  }

  std::string described() const {
    if (!figure_.description.empty()) return figure_.description;
    std::string text = figure_.y.label + " over " + figure_.x.label;
    for (std::size_t i = 0; i < figure_.series.size(); ++i)
      text += (i == 0 ? ": " : ", ") + figure_.series[i].name;
    return text + ".";
  }

 private:
  static std::vector<double> all_x(const Figure& figure) {
    std::vector<double> numbers;
    for (const Series& series : figure.series)
      for (const Point& point : series.points) numbers.push_back(point.x);
    for (const Band& band : figure.bands)
      for (const Span& span : band.spans) numbers.push_back(span.x);
    return numbers;
  }
  static std::vector<double> all_y(const Figure& figure) {
    std::vector<double> numbers;
    for (const Series& series : figure.series)
      for (const Point& point : series.points) numbers.push_back(point.y);
    for (const Band& band : figure.bands) {
      for (const Span& span : band.spans) {
        numbers.push_back(span.low);
        numbers.push_back(span.high);
      }
    }
    return numbers;
  }

  double x_of(double x) const { return left_ + across_.place(x) * (right_ - left_); }
  double y_of(double y) const { return bottom_ - up_.place(y) * (bottom_ - top_); }

  void line(const char* kind, double x1, double y1, double x2, double y2) {
    out_ += "<line class=\"" + std::string(kind) + "\" x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" +
            px(x2) + "\" y2=\"" + px(y2) + "\"/>\n";
  }
  void text(const char* kind, double x, double y, const std::string& what, const std::string& more = {}) {
    out_ += "<text class=\"" + std::string(kind) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\"" + more + ">" +
            escaped(what) + "</text>\n";
  }

  void grid() {
    for (const auto& mark : across_.marks()) {
      const double x = x_of(mark.at);
      line(mark.label.empty() ? "faint" : "grid", x, top_, x, bottom_);
      if (!mark.label.empty()) text("across", x, bottom_ + 18, mark.label);
    }
    for (const auto& mark : up_.marks()) {
      const double y = y_of(mark.at);
      line(mark.label.empty() ? "faint" : "grid", left_, y, right_, y);
      if (!mark.label.empty()) text("up", left_ - 8, y + 4, mark.label);
    }
    line("axis", left_, bottom_, right_, bottom_);
    line("axis", left_, top_, left_, bottom_);
    if (!figure_.x.label.empty()) text("across", (left_ + right_) / 2, bottom_ + 42, figure_.x.label);
    if (!figure_.y.label.empty()) {
      const double middle = (top_ + bottom_) / 2;
      text("across", 16, middle, figure_.y.label, " transform=\"rotate(-90 16 " + px(middle) + ")\"");
    }
  }

  void area(const Band& band) {
    const std::string kind = "c" + std::to_string(band.colour % colour_count) + "f";
    std::string path;
    std::string back;  // the lower edge, from right to left
    const auto close = [&] {
      if (!path.empty()) path_ += path + back + "Z";
      path.clear();
      back.clear();
    };
    path_.clear();
    for (const Span& span : band.spans) {
      if (!across_.shows(span.x) || !up_.shows(span.high)) {
        close();
        continue;
      }
      // What reaches below the end of a logarithmic axis is cut off there.
      const double low = up_.shows(span.low) ? span.low : up_.low();
      const std::string x = px(x_of(span.x));
      path += (path.empty() ? "M" : "L") + x + " " + px(y_of(span.high));
      back = "L" + x + " " + px(y_of(low)) + back;
    }
    close();
    if (path_.empty()) return;
    nothing_drawn_ = false;
    out_ += "<path class=\"band " + kind + "\" d=\"" + path_ + "\"><title>" + escaped(band.name) +
            "</title></path>\n";
  }

  void curve(std::size_t i) {
    const Series& series = figure_.series[i];
    const std::string kind = "c" + std::to_string(i % colour_count);
    const bool with_line = series.style != Style::dots;
    const bool with_dots = series.style == Style::dots || series.style == Style::line_with_dots;
    std::string dots;
    path_.clear();
    bool pen_down = false;
    std::string last;
    for (const Point& point : series.points) {
      if (!across_.shows(point.x) || !up_.shows(point.y)) {
        pen_down = false;
        continue;
      }
      const double x = x_of(point.x);
      const double y = y_of(point.y);
      std::string at = px(x) + " " + px(y);
      if (pen_down && at == last) continue;  // nobody could see it
      path_ += (pen_down ? "L" : "M") + at;
      // A lone point has no line: it needs its dot.
      if (with_dots || series.points.size() == 1) dots += dot(i, x, y);
      pen_down = true;
      last = std::move(at);
    }
    if (path_.empty()) return;
    nothing_drawn_ = false;
    out_ += "<g><title>" + escaped(series.name) + "</title>";
    if (with_line) out_ += "<path class=\"curve " + kind + "\"" + dash(i) + " d=\"" + path_ + "\"/>";
    if (!dots.empty()) out_ += "<path class=\"" + kind + "f\" d=\"" + dots + "\"/>";
    out_ += "</g>\n";
  }

  // Claims are dashed; of series that share a colour, the later ones too, each in its own way.
  std::string dash(std::size_t i) const {
    if (figure_.series[i].style == Style::dashes) return " stroke-dasharray=\"6 4\"";
    static const char* const ways[] = {"", " stroke-dasharray=\"9 3\"", " stroke-dasharray=\"2 3\"",
                                       " stroke-dasharray=\"9 3 2 3\""};
    return ways[i / colour_count % std::size(ways)];
  }

  // A circle, square, diamond or triangle.
  static std::string dot(std::size_t i, double x, double y) {
    const auto from = [&](double dx, double dy) { return px(x + dx) + " " + px(y + dy); };
    switch (i % 4) {
      case 0: return "M" + from(-3, 0) + "a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z";
      case 1: return "M" + from(-2.7, -2.7) + "h5.4v5.4h-5.4Z";
      case 2: return "M" + from(0, -3.8) + "l3.8 3.8l-3.8 3.8l-3.8 -3.8Z";
      default: return "M" + from(0, -3.6) + "l3.6 6.4h-7.2Z";
    }
  }

  void legend() {
    const double x = right_ + 14;
    double y = top_ + 8;
    std::size_t shown = 0;
    std::size_t left_out = 0;
    const auto entry = [&](const std::string& name, const std::string& sample) {
      if (name.empty()) return;
      if (shown == most_in_legend) {
        ++left_out;
        return;
      }
      ++shown;
      out_ += sample;
      text("name", x + 30, y + 4, name);
      y += line_height;
    };
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      const Series& series = figure_.series[i];
      const std::string kind = "c" + std::to_string(i % colour_count);
      std::string sample;
      if (series.style != Style::dots)
        sample += "<path class=\"curve " + kind + "\"" + dash(i) + " d=\"M" + px(x) + " " + px(y) + "h24\"/>";
      if (series.style == Style::dots || series.style == Style::line_with_dots)
        sample += "<path class=\"" + kind + "f\" d=\"" + dot(i, x + 12, y) + "\"/>";
      entry(series.name, sample);
    }
    for (const Band& band : figure_.bands)
      entry(band.name, "<rect class=\"band c" + std::to_string(band.colour % colour_count) + "f\" x=\"" +
                           px(x) + "\" y=\"" + px(y - 6) + "\" width=\"24\" height=\"12\"/>");
    if (left_out > 0) text("name", x, y + 4, "and " + std::to_string(left_out) + " more");
  }

  const Figure& figure_;
  Ruler across_;
  Ruler up_;
  double left_ = 0;
  double right_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  bool nothing_drawn_ = true;
  std::string path_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Figure& figure) {
  Drawing drawing(figure);
  return opening(figure.width, figure.height, figure.title, drawing.described()) + drawing.drawn() +
         "</svg>\n";
}

std::string to_svg(const std::string& title, const std::vector<Figure>& panels) {
  constexpr unsigned heading = 40;
  unsigned width = 0;
  unsigned height = heading;
  std::string description;
  std::string drawn;
  for (const Figure& panel : panels) {
    Drawing drawing(panel);
    description += (description.empty() ? "" : " ") + drawing.described();
    drawn += "<g transform=\"translate(0 " + std::to_string(height) + ")\">\n" + drawing.drawn() + "</g>\n";
    width = std::max(width, panel.width);
    height += panel.height;
  }
  return opening(width, height, title, description) + "<text class=\"title\" x=\"20\" y=\"32\">" +
         escaped(title) + "</text>\n" + drawn + "</svg>\n";
}

}  // namespace conclave::plot
