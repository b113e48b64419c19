// Latencies that one thread of each SM sees: single lines by load and by bulk copy; the clocks; sweeping the L2 clean.

enum Kind { LOAD, BULK };  // a load past the L1, a bulk copy of the whole line
constexpr u32 LINE_BYTES = 128, LINE_WORDS = LINE_BYTES / 4, NONE = ~0u;

DEVICE void bulk_line(u32 dst, const u32* src, u32 bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(dst), "l"(src), "r"(LINE_BYTES), "r"(bar) : "memory");
}

DEVICE u32 own_word(u32 at) {
    u32 word;
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    return word;
}

DEVICE void keep_word(u32 at, u32 word) {  // a thread goes on when `word` is there, not before
    asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
}

DEVICE u32 since(u64 start) {  // both halves are used, so that the clock comes by the fast way, not by a uniform register
    const u64 taken = cycle() - start;
    return taken < NONE ? (u32)taken : NONE - 1;
}

template <int KIND>
DEVICE u32 time_line(const u32* at, u32 smem, u32& parity, u32& word) {  // cycles until the line's word is there
    const u32 bar = smem, place = smem + LINE_BYTES;
    const u64 start = cycle();
    if (KIND == BULK) {
        arrive_expect_cta(bar, LINE_BYTES);
        bulk_line(place, at, bar);
        if (!wait_try(bar, parity)) return NONE;
        parity ^= 1;
    } else {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");  // past the L1
        keep_word(place, word);
    }
    const u32 taken = since(start);
    word = own_word(place);
    return taken;
}

DEVICE u32 median(u32 times, u32 count) {  // of words of shared memory
    for (u32 k = 0; k < count; ++k) {
        const u32 mine = own_word(times + 4 * k);
        u32 below = 0;
        for (u32 j = 0; j < count; ++j) {
            const u32 other = own_word(times + 4 * j);
            below += other < mine || (other == mine && j < k);
        }
        if (below == count / 2) return mine;
    }
    return NONE;
}

// Each SM walks `count` lines: its own part of the list (`apart`), or all SMs the same one from different starts.
struct Walk { const u32* base; const u32* lines; u32 count, loads, apart, only; };

template <int KIND>
DEVICE u32 walk(const Walk& w, u32 smem, u32* cycles) {  // words that were wrong; NONE: a wait gave up
    const u32 sm = sm_number(), times = smem + 2 * LINE_BYTES, *list = w.lines + (w.apart ? sm * w.count : 0);
    u32 k = w.apart ? 0 : (u32)((u64)sm * w.count / gridDim.x), parity = 0, wrong = 0;
    for (u32 done = 0; done < w.count; ++done, k = k + 1 < w.count ? k + 1 : 0) {
        const u32 line = list[k];
        u32 word = 0;
        for (u32 turn = 0; turn < w.loads; ++turn) {
            const u32 taken = time_line<KIND>(w.base + (u64)line * LINE_WORDS, smem, parity, word);
            if (taken == NONE) return NONE;
            keep_word(times + 4 * turn, taken);
            wrong += word != mix(line * LINE_WORDS);
        }
        cycles[sm * w.count + k] = median(times, w.loads);
    }
    return wrong;
}

extern "C" __global__ void line_latency(Walk w, u32 kind, u32* cycles, u32* wrong) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 smem = shared_address(memory), sm = sm_number();
    if (threadIdx.x != 0 || (w.only != NONE && w.only != sm)) return;
    poison(smem, 2 * LINE_BYTES);
    fence_proxy_async();
    barrier_init(smem, 1);
    fence_mbarrier_init();
    wrong[sm] = kind == LOAD ? walk<LOAD>(w, smem, cycles) : walk<BULK>(w, smem, cycles);
}

// Cycles of a chain of loads from own shared memory, each address out of the load before it.
extern "C" __global__ void own_latency(u32* cycles, u32 loads) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 smem = shared_address(memory);
    if (threadIdx.x != 0) return;
    keep_word(smem, smem);
    u32 next = smem;
    u64 start = 0;
    _Pragma("unroll 1") for (u32 k = 0; k < loads + 4; ++k) {  // the first four warm the path
        if (k == 4) start = cycle();
        next = own_word(next);
    }
    keep_word(smem + LINE_BYTES, next);
    cycles[sm_number()] = since(start);
}

// Cycles and nanoseconds that every SM counts while it is busy.
extern "C" __global__ void clock_rate(u64* cycles, u64* nanoseconds, u32 length) {
    if (threadIdx.x != 0) return;
    const u64 chip = chip_time(), start = cycle();
    spin(length);
    const u64 end = cycle(), chip_end = chip_time();
    cycles[sm_number()] = end - start, nanoseconds[sm_number()] = chip_end - chip;
}

// Reads memory, so that the L2 holds nothing else, and nothing that has to be written back.
extern "C" __global__ void sweep(const u32* at, u64 words, u32* sum) {
    u32 mine = 0;
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < words; k += (u64)gridDim.x * blockDim.x) mine += at[k];
    if (mine == 1) *sum = mine;  // else the reads could be left out
}
