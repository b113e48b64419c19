// The check of received data: a weighted sum of words that the host can work out without the data.

DEVICE u32 weight(u32 index) {
    u32 h = index * 0x9e3779b1u + 0x7f4a7c15u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return (h ^ (h >> 13)) | 1u;
}

template <u32 BYTES, u32 THREADS>
DEVICE u32 weigh(u32 from, u32 thread) {
    u32 sum = 0;
#pragma unroll 4
    for (u32 at = thread; at < BYTES / 4; at += THREADS) {
        u32 word;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(from + 4 * at) : "memory");
        sum += word * weight(at);
    }
    return sum;
}

DEVICE void poison(u32 from, u32 bytes) {
    for (u32 at = 4 * threadIdx.x; at < bytes; at += 4 * blockDim.x)
        asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(from + at), "r"(0xdeadbeefu) : "memory");
}
