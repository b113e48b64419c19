// Time on an SM: the cycle counter, the chip-wide timer, and keeping a thread busy.

DEVICE u64 chip_time() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

DEVICE u64 cycle() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

DEVICE void spin(u32 cycles) {
    u32 start, now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
    do asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    while (now - start < cycles);
}

DEVICE u64 hung(u32 site, u32 stage, u32 parity) {  // the status of a wait that passed its limit
    return 1ull << 63 | (u64)site << 32 | stage << 8 | parity;
}
