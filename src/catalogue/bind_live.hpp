// Fills the function of an entry that plays one process of it among real ones.
#pragma once
#include "catalogue/entry.hpp"
#include "live/player.hpp"

namespace conclave::catalogue {

template <live::Playable P, typename P::Setup (*setup)(const Setting&)>
void bind_live(Entry& entry) {
  entry.play = [](const live::Casting& casting, const Setting& setting, trace::Observer& observer) {
    const trace::Header header = {.protocol = setting.protocol,
                                  .variant = setting.variant,
                                  .world = "live",
                                  .nodes = setting.members,
                                  .seed = setting.seed};
    return live::Player<P>(casting, setup(setting), header, observer).play();
  };
}

}  // namespace conclave::catalogue
