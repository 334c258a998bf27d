// SPDX-License-Identifier: Apache-2.0
// Pages by number, made as they are asked for. The last one is remembered, because neighbours are asked for in a row.
#pragma once

#include <memory>
#include <unordered_map>

#include "warpwright/core/meta.hpp"

namespace ww::emu {

template <class Page> class PageMap {
 public:
  Page& at(u64 number) {
    if (number != last_number_ || !last_) {
      std::unique_ptr<Page>& page = pages_[number];
      if (!page) page = std::make_unique<Page>();
      last_ = page.get();
      last_number_ = number;
    }
    return *last_;
  }
  const std::unordered_map<u64, std::unique_ptr<Page>>& pages() const { return pages_; }
  void clear() {
    pages_.clear();
    last_ = nullptr;
  }

 private:
  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  u64 last_number_ = 0;
};

}  // namespace ww::emu
