#include "images.h"

#include <stdio.h>

#include "device.h"

namespace driver {
namespace {

constexpr u32 WRAPPER = 0x466243B1, FAT_BINARY = 0xBA55ED50, ELF = 0x464C457F;
constexpr u16 PTX = 1;
constexpr u64 LZ4_FLAG = 0x2000, ZSTD_FLAG = 0x8000;
constexpr u64 LINKED_FLAG = 1ull << 62;  // our own: every PTX of the fat binary belongs to the program

struct Wrapper {
  u32 magic, version;
  const u8 *data;
  const void *const *more;  // of version 2: fat binaries that are to be linked, ended by a null pointer
};

struct Header {
  u32 magic;
  u16 version, header_bytes;
  u64 bytes;
};

struct Entry {
  u16 kind, version;
  u32 header_bytes;
  u64 payload_bytes;
  u32 packed_bytes, reserved;
  u16 minor, major;
  u32 capability, name_at, name_bytes;
  u64 flags, reserved2, raw_bytes;
};
static_assert(sizeof(Entry) == 64);

Part part_of(const Entry *entry) {
  const u8 *payload = (const u8 *)entry + entry->header_bytes;
  if (entry->flags & LZ4_FLAG) return {Packing::LZ4, entry->raw_bytes, entry->packed_bytes, payload};
  if (entry->flags & ZSTD_FLAG) return {Packing::ZSTD, entry->raw_bytes, entry->packed_bytes, payload};
  return {Packing::PLAIN, entry->payload_bytes, entry->payload_bytes, payload};
}

// The PTX for the highest capability that this device has.
bool add_best(const u8 *image, Vector<Part> *parts) {
  const Header *header = (const Header *)image;
  const u8 *at = image + header->header_bytes, *end = at + header->bytes;
  const Entry *best = nullptr;
  bool has_some = false;
  while (at + sizeof(Entry) <= end) {
    const Entry *entry = (const Entry *)at;
    at += entry->header_bytes + entry->payload_bytes;
    if (entry->kind != PTX || entry->capability > capability()) continue;
    has_some = true;
    if (entry->flags & LINKED_FLAG) parts->add(part_of(entry));
    else if (!best || entry->capability >= best->capability) best = entry;
  }
  if (best) parts->add(part_of(best));
  return has_some;
}

Result refuse(const char *what) {
  tell(
      "%s holds machine code of a GPU and no PTX for sm_%u or less, and only PTX runs here; fix: build PTX into it: "
      "nvcc "
      "-gencode arch=compute_%u,code=compute_%u (or NVCC_APPEND_FLAGS with that), CUPY_COMPILE_WITH_PTX=1 for CuPy, "
      "compile(\"ptx\") for cuda.core, TRITON_PTXAS_PATH and TRITON_PTXAS_BLACKWELL_PATH for Triton; "
      "GPU_REPRO_GPU_MODEL=b200 (b300, rtx5090) runs a program for Blackwell",
      what, capability(), capability(), capability());
  return NO_BINARY;
}

}  // namespace

Result parts_of(const void *image, Vector<Part> *parts) {
  u32 magic;
  memcpy(&magic, image, sizeof magic);
  if (magic == WRAPPER) {
    const Wrapper *wrapper = (const Wrapper *)image;
    bool has_some = wrapper->data && add_best(wrapper->data, parts);
    if (wrapper->version == 2)
      for (const void *const *each = wrapper->more; each && *each; ++each)
        has_some = add_best((const u8 *)*each, parts) || has_some;
    return has_some ? SUCCESS : refuse("a fat binary");
  }
  if (magic == FAT_BINARY) return add_best((const u8 *)image, parts) ? SUCCESS : refuse("a fat binary");
  if (magic == ELF) return refuse("a cubin");
  const char *text = (const char *)image;
  if (!strstr(text, ".version")) return INVALID_IMAGE;
  u64 count = strlen(text);
  parts->add({Packing::PLAIN, count, count, (const u8 *)image});
  return SUCCESS;
}

u8 *linked_image(Vector<Bytes> &texts, u64 *nbytes) {
  u64 total = sizeof(Header);
  for (Bytes &each : texts) total += sizeof(Entry) + each.count;
  u8 *image = (u8 *)calloc(1, total + 1), *at = image + sizeof(Header);
  *(Header *)image = {FAT_BINARY, 1, sizeof(Header), total - sizeof(Header)};
  for (Bytes &each : texts) {
    Entry entry = {};
    entry.kind = PTX, entry.version = 0x101, entry.header_bytes = sizeof entry, entry.payload_bytes = each.count;
    entry.capability = capability(), entry.flags = LINKED_FLAG, entry.raw_bytes = each.count;
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, each.data, each.count);
    at += sizeof entry + each.count;
  }
  *nbytes = total;
  return image;
}

}  // namespace driver
