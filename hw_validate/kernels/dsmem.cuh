// Shared memory of other CTAs: addresses, bulk copies, loads, stores and asynchronous stores; own reads beside them.

DEVICE u32 in_rank(u32 address, u32 rank) {
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

DEVICE void bulk_copy(u32 dst, u32 src, u32 bytes, u32 bar) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(dst), "r"(src), "r"(bytes), "r"(bar) : "memory");
}

template <int WIDTH> struct Words { u32 w[WIDTH / 4]; };

DEVICE void load_words(Words<4>& v, u32 a) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v.w[0]) : "r"(a) : "memory");
}
DEVICE void load_words(Words<8>& v, u32 a) {
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : "r"(a) : "memory");
}
DEVICE void load_words(Words<16>& v, u32 a) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3]) : "r"(a) : "memory");
}

DEVICE void own_words(Words<4>& v, u32 a) {
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(v.w[0]) : "r"(a) : "memory");
}
DEVICE void own_words(Words<8>& v, u32 a) {
    asm volatile("ld.shared::cta.v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : "r"(a) : "memory");
}
DEVICE void own_words(Words<16>& v, u32 a) {
    asm volatile("ld.shared::cta.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3]) : "r"(a) : "memory");
}

DEVICE void store_words(u32 a, const Words<4>& v) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(a), "r"(v.w[0]) : "memory");
}
DEVICE void store_words(u32 a, const Words<8>& v) {
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(a), "r"(v.w[0]), "r"(v.w[1]) : "memory");
}
DEVICE void store_words(u32 a, const Words<16>& v) {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"r"(a), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]) : "memory");
}

DEVICE void async_words(u32 a, u32 bar, const Words<4>& v) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 ::"r"(a), "r"(v.w[0]), "r"(bar) : "memory");
}
DEVICE void async_words(u32 a, u32 bar, const Words<8>& v) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];"
                 ::"r"(a), "r"(v.w[0]), "r"(v.w[1]), "r"(bar) : "memory");
}
DEVICE void async_words(u32 a, u32 bar, const Words<16>& v) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(a), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]), "r"(bar) : "memory");
}

template <int WIDTH>
DEVICE Words<WIDTH> made_words(u32 offset) {  // what the stores write: a word says where it belongs
    Words<WIDTH> v;
    for (int k = 0; k < WIDTH / 4; ++k) v.w[k] = 0x5eed0000u + (offset >> 2) + k;
    return v;
}

template <int WIDTH, int UNROLL, u32 BYTES, u32 THREADS>
DEVICE u32 remote_load(u32 from, u32 thread) {
    u32 sum = 0;
    _Pragma("unroll 1") for (u32 at = thread * WIDTH; at < BYTES; at += THREADS * WIDTH * UNROLL) {
        Words<WIDTH> v[UNROLL] = {};
        _Pragma("unroll") for (int u = 0; u < UNROLL; ++u)
            if (at + u * THREADS * WIDTH < BYTES) load_words(v[u], from + at + u * THREADS * WIDTH);
        _Pragma("unroll") for (int u = 0; u < UNROLL; ++u)
            for (int k = 0; k < WIDTH / 4; ++k) sum += v[u].w[k];
    }
    return sum;
}

template <int WIDTH, u32 BYTES, u32 THREADS>
DEVICE u32 local_read(u32 from, u32 thread) {
    u32 sum = 0;
    _Pragma("unroll 4") for (u32 at = thread * WIDTH; at < BYTES; at += THREADS * WIDTH) {
        Words<WIDTH> v;
        own_words(v, from + at);
        for (int k = 0; k < WIDTH / 4; ++k) sum += v.w[k];
    }
    return sum;
}

template <int WIDTH, int UNROLL, u32 BYTES, u32 THREADS>
DEVICE void remote_store(u32 to, u32 thread) {
#pragma unroll UNROLL
    for (u32 at = thread * WIDTH; at < BYTES; at += THREADS * WIDTH) store_words(to + at, made_words<WIDTH>(at));
}

template <int WIDTH, u32 BYTES, u32 THREADS>
DEVICE void store_async(u32 to, u32 bar, u32 thread) {
    _Pragma("unroll 4") for (u32 at = thread * WIDTH; at < BYTES; at += THREADS * WIDTH) async_words(to + at, bar, made_words<WIDTH>(at));
}
