// Kernels that no program can express: filling memory, poisoning shared memory, who shares a cluster with whom.

extern "C" __global__ void fill(u32* at, u64 words) {  // a word says where it lies
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < words; k += (u64)gridDim.x * blockDim.x)
        at[k] = mix((u32)k);
}

extern "C" __global__ void weigh_memory(const u32* at, u64 words, u64* out) {  // adds the check of memory to *out
    u64 sum = 0;
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < words; k += (u64)gridDim.x * blockDim.x)
        sum += at[k] * (mix((u32)k + 0x7f4a7c15u) | 1u);
    atomicAdd((unsigned long long*)out, (unsigned long long)sum);
}

extern "C" __global__ void poison_shared(u32 bytes) {
    extern __shared__ __align__(1024) unsigned char memory[];
    poison(shared_address(memory), bytes);
    __syncthreads();
    spin(20000);  // all SMs at once: no block takes a second turn on a free one
}

extern "C" __global__ void members(u32* sms, u32 size, u32 cycles) {  // the SM of each rank of each cluster
    if (threadIdx.x == 0) sms[cluster_number() * size + cluster_rank()] = sm_number();
    spin(cycles);
    cluster_arrive();
    cluster_wait();
}

// Round trip of a dependent remote load from each rank to each other, one rank at a time.
extern "C" __global__ void pair_latency(u32* sms, u32* cycles, u32 size, u32 loads) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 smem = shared_address(memory), rank = cluster_rank(), cluster = cluster_number();
    if (threadIdx.x == 0) {
        sms[cluster * size + rank] = sm_number();
        asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(smem), "r"(0) : "memory");
    }
    for (u32 turn = 0; turn < size; ++turn) {
        cluster_arrive();
        cluster_wait();
        if (turn != rank || threadIdx.x != 0) continue;
        for (u32 other = 0; other < size; ++other) {
            const u32 there = in_rank(smem, other);
            u32 next = 0;
            u64 start = 0;
            for (u32 k = 0; k < loads + 4; ++k) {  // the first four warm the path
                if (k == 4) start = cycle();
                asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(next) : "r"(there + next) : "memory");
            }
            const u64 end = cycle() + next;
            cycles[(cluster * size + rank) * size + other] = (u32)(end - start);
        }
    }
    cluster_arrive();
    cluster_wait();
}

// Reads memory and keeps nothing of it: what pushes other data out of the L2 and leaves no dirty line.
extern "C" __global__ void read_all(const uint4* at, u64 count, u32* out) {
    u32 sum = 0;
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < count; k += (u64)gridDim.x * blockDim.x) {
        const uint4 v = at[k];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x12345679u) *out = sum;  // never so, but the compiler must not know
}
