#include "rpc/gate.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace conclave::rpc {

namespace {

constexpr std::size_t most_of_a_name = 100;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return result;
}

std::string_view without_scheme(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

// What browsers add to what a page sends, and programs do not.
bool has_fetch_metadata(const Metadata& headers) {
  for (std::size_t i = 0; i < headers.size(); ++i)
    if (headers[i].first.starts_with("sec-fetch-")) return true;
  return false;
}
bool from_a_browser(const Metadata& headers) {
  return headers.get("origin") || headers.get("referer") || has_fetch_metadata(headers);
}

bool from_another_page(const Metadata& headers, std::string_view authority) {
  const auto origin = headers.get("origin");
  if (origin) return lower(without_scheme(*origin)) != lower(without_scheme(authority));
  const std::string site = lower(headers.get("sec-fetch-site").value_or("none"));
  return site != "none" && site != "same-origin";
}

// Whether the body may be taken for JSON. curl's -d says that it sends a form; a page that says so as well
// cannot hide that it is a page.
bool says_json(const Metadata& headers) {
  const std::string type = lower(headers.get("content-type").value_or(""));
  const std::string_view kind = std::string_view(type).substr(0, type.find_first_of("; \t"));
  return kind == "application/json" ||
         (kind == "application/x-www-form-urlencoded" && !from_a_browser(headers));
}

}  // namespace

std::string host_in(std::string_view authority) {
  authority = without_scheme(authority);
  if (authority.starts_with('[')) return lower(authority.substr(1, authority.find(']') - 1));
  std::string host = lower(authority.substr(0, authority.find(':')));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

bool is_address(const std::string& host) {
  boost::system::error_code is_name;
  boost::asio::ip::make_address(host, is_name);
  return !is_name;
}

std::optional<Refusal> refusal_of(const HttpRequest& request, Access access,
                                  const std::function<bool(std::string_view)>& is_ours) {
  if (access == Access::anybody) return std::nullopt;
  const Metadata& headers = request.headers;
  for (const std::string_view header : {"host", ":authority"}) {
    const std::string host = host_in(headers.get(header).value_or(""));
    if (host.empty() || is_address(host) || is_ours(host)) continue;
    const std::string name = host.substr(0, most_of_a_name);
    return Refusal{Objection::host, 403,
                   "this server does not know that it is called " + name +
                       ": ask it by its address, or start it with --client-host " + name};
  }
  const std::string_view authority = headers.get(":authority").value_or(headers.get("host").value_or(""));
  if (access == Access::operators && (headers.get("origin") || has_fetch_metadata(headers)))
    return Refusal{Objection::origin, 403, "members and maintenance are not for web browsers"};
  if (from_another_page(headers, authority))
    return Refusal{Objection::origin, 403, "a web page of another origin may not do this"};
  if (!request.body.empty() && !says_json(headers))
    return Refusal{Objection::type, 415, "the body must be JSON, and say so: Content-Type: application/json"};
  return std::nullopt;
}

}  // namespace conclave::rpc
