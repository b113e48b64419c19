// Time on an SM: the cycle counter, the chip-wide timer, a role's report, keeping a thread busy.

DEVICE u64 chip_time() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory"); return t; }

DEVICE u64 cycle() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }

DEVICE u32 cycle32() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }

DEVICE Report begin() { const u64 chip = chip_time(); return {chip, cycle(), 0, 0, 0, 0}; }

DEVICE void hung(Report& r, u32 site, u32 stage, u32 parity, u32 at) {
    r.status = 1ull << 63 | (u64)site << 32 | stage << 8 | parity, r.at = at;
}

DEVICE void finish(Report r, u64* out, bool many) {  // `many`: the whole warp has worked
    const u64 end = cycle(), chip_end = chip_time();
    for (int step = 16; many && step; step >>= 1)
        r.check += __shfl_xor_sync(~0u, r.check, step), r.sum += __shfl_xor_sync(~0u, r.sum, step);
    if (many && threadIdx.x % 32) return;
    out[0] = r.start, out[1] = end, out[2] = r.chip, out[3] = chip_end, out[4] = r.status, out[5] = r.at;
    out[6] = r.check, out[7] = r.sum;
}

DEVICE void spin(u32 cycles) {
    for (const u32 start = cycle32(); cycle32() - start < cycles;) {}
}
