// SPDX-License-Identifier: Apache-2.0
// The list of machines: those of this library, then those that a program adds. It only grows, and readers take no lock.
#include <atomic>

#include "emu/machine_model.hpp"
#include "emu/sm100/model.hpp"
#include "emu/sm90/model.hpp"

namespace ww::emu {
namespace {

constexpr const MachineModel* kBuiltIn[] = {&sm90::kModel, &sm100::kModel};

struct Added {
  const MachineModel* model;
  const Added* next;
};
std::atomic<const Added*> added{nullptr};  // the newest first; entries are never freed

template <class Visit> void for_each_machine(Visit visit) {
  for (const MachineModel* model : kBuiltIn) visit(*model);
  for (const Added* at = added.load(std::memory_order_acquire); at; at = at->next) visit(*at->model);
}

}  // namespace

std::vector<const MachineModel*> machines() {
  std::vector<const MachineModel*> all;
  for_each_machine([&](const MachineModel& model) { all.push_back(&model); });
  return all;
}

const MachineModel* find_machine(std::string_view device) {
  const MachineModel* found = nullptr;
  for_each_machine([&](const MachineModel& model) {
    if (device == model.traits.emulated_device) found = &model;
  });
  return found;
}

bool add_machine(const MachineModel& model) {
  auto entry = std::make_unique<Added>(Added{&model, added.load()});
  do {
    if (find_machine(model.traits.emulated_device)) return false;
  } while (!added.compare_exchange_weak(entry->next, entry.get()));
  static_cast<void>(entry.release());
  return true;
}

const void* find_instructions(std::string_view set, u32 version, u32 bytes) {
  const void* found = nullptr;
  for_each_machine([&](const MachineModel& model) {
    for (const InstructionSet* own : model.instructions)
      if (own->name == set && own->version == version && own->bytes == bytes) found = own->operations;
  });
  return found;
}

bool has_instructions(const MachineModel& model, std::string_view set) {
  for (const InstructionSet* own : model.instructions)
    if (own->name == set) return true;
  return false;
}

}  // namespace ww::emu
