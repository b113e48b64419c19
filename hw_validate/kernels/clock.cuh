// Time on an SM: the cycle counter, the chip-wide timer, a role's report, keeping a thread busy.

DEVICE u64 chip_time() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory"); return t; }

DEVICE u64 cycle() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }

DEVICE u32 cycle32() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }

DEVICE Report begin() { const u64 chip = chip_time(); return {chip, cycle(), 0, 0, 0, 0}; }

DEVICE void hung(Report& r, u32 site, u32 stage, u32 parity, u32 at) {
    r.status = 1ull << 63 | (u64)site << 32 | stage << 8 | parity, r.at = at;
}

DEVICE void finish(const Report& r, u64* out) {
    const u64 end = cycle(), chip_end = chip_time();
    out[0] = r.start, out[1] = end, out[2] = r.chip, out[3] = chip_end, out[4] = r.status, out[5] = r.at, out[6] = r.check;
}

DEVICE u32 warp_sum(u32 value) {
    for (int step = 16; step; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

DEVICE void finish_warps(Report r, u64* out) {
    const u64 end = cycle(), chip_end = chip_time();
    r.check = warp_sum(r.check), r.sum = warp_sum(r.sum);
    if (threadIdx.x % 32) return;
    out[0] = r.start, out[1] = end, out[2] = r.chip, out[3] = chip_end, out[4] = r.status, out[5] = r.at, out[6] = r.check;
    out[7] = r.sum;
}

DEVICE void spin(u32 cycles) {
    for (const u32 start = cycle32(); cycle32() - start < cycles;) {}
}
