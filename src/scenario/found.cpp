#include "scenario/found.hpp"

#include "catalogue/directed.hpp"
#include "core/ensure.hpp"

namespace conclave::scenario {

Found explored(std::string title, check::Options options, const catalogue::Setting& setting,
               const std::string& property) {
  const catalogue::Entry& entry = row(setting.protocol);
  ensure(entry.check != nullptr, "a scenario explores what the checker knows");
  options.nodes = setting.members.size();
  options.properties = {property};
  Found found = {.report = entry.check(options, setting)};
  const check::Finding* finding = found.report.violation(property);
  if (!finding) return found;
  Recorder recorder;
  const catalogue::Directed played =
      catalogue::direct(entry, {.nodes = options.nodes}, setting, finding->way, &recorder);
  ensure(played.problem.empty(), played.problem.c_str());
  found.run = Run{.title = std::move(title),
                  .trace = recorder.run(setting),
                  .verdicts = played.judged.verdicts,
                  .facts = played.judged.facts};
  return found;
}

}  // namespace conclave::scenario
