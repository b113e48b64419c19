// Parts of the host program of a source that stands alone; `//@` starts a part, @NAME@ is filled in.
//@ helpers
static void check_call(int error, const char* call) { if (error) printf("%s: error %d\n", call, error), exit(1); }
#define CU(call) check_call((int)(call), #call)
static __global__ void fill(u32* at, u64 words) {
    for (u64 k = blockIdx.x * 256 + threadIdx.x; k < words; k += gridDim.x * 256) at[k] = mix((u32)k); }
static char* allocate(u64 bytes, u64 base) { char* raw;  // `base` bytes behind a 2 MiB boundary; word k is mix(k)
    CU(cudaMalloc(&raw, bytes + base + (2 << 20))), raw = (char*)(((u64)raw + (2 << 20) - 1) >> 21 << 21) + base;
    return fill<<<1024, 256>>>((u32*)raw, bytes / 4), raw; }
//@ main
int main() {
    PFN_cuTensorMapEncodeTiled_v12000 encode;
    CU(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&encode, 12000, cudaEnableDefault));
    Params p = {}; int clusters;
//@ map
    const cuuint64_t dims@N@[] = {@DIMS@}, strides@N@[] = {@STRIDES@};  // @NAME@
    const u32 box@N@[] = {@BOX@}, steps@N@[] = {@STEPS@};
    CU(encode((CUtensorMap*)&p.map[@N@], CU_TENSOR_MAP_DATA_TYPE_@KIND@, @RANK@, @ADDRESS@, dims@N@,
        strides@N@, box@N@, steps@N@, CU_TENSOR_MAP_INTERLEAVE_@INTERLEAVE@, CU_TENSOR_MAP_SWIZZLE_@SWIZZLE@,
        CU_TENSOR_MAP_L2_PROMOTION_@PROMOTION@, CU_TENSOR_MAP_FLOAT_OOB_FILL_@OOB@));
//@ launch
    cudaLaunchAttribute cluster = {cudaLaunchAttributeClusterDimension, {}, {.clusterDim = {CLUSTER_X, CLUSTER_Y, CLUSTER_Z}}};
    cudaLaunchConfig_t config = {dim3(CLUSTER_X, CLUSTER_Y, CLUSTER_Z), dim3(THREADS), SHARED_BYTES, 0, &cluster, 1};
    for (auto kernel : {flow<false>, flow<true>})
        CU(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES)),
        CU(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
//@ cold
    void* scratch; CU(cudaMalloc(&scratch, 256 << 20));  // written before each launch, to empty the L2 of data
//@ repeats
    std::vector<u64> record(clusters * CLUSTER * RECORD); config.gridDim.x *= clusters; CU(cudaMalloc(&p.to.out, record.size() * 8));
    for (int k = -WARM; k <= REPEATS; ++k) {  // the last launch checks the data
        CU(cudaMemset(p.to.out, 0, record.size() * 8));@FLUSH@
        CU(cudaLaunchKernelEx(&config, k < REPEATS ? flow<false> : flow<true>, p));
        CU(cudaMemcpy(record.data(), p.to.out, record.size() * 8, cudaMemcpyDeviceToHost));
        std::vector<u64> check(clusters); u64 slowest = 0, hangs = 0, begin = ~0ull, end = 0;
        for (int cta = 0; cta < clusters * CLUSTER; ++cta) {
            u64 first = ~0ull, last = 0, *r = &record[cta * RECORD + HEADER];
            for (int warp = 0; warp < WARPS; ++warp, r += WARP)
                if (r[1]) first = std::min(first, r[0]), last = std::max(last, r[1]), begin = std::min(begin, r[2]),
                    end = std::max(end, r[3]), hangs += r[4] != 0, check[cta / CLUSTER] += r[6];
            if (last) slowest = std::max(slowest, last - first);
        }
        if (hangs) return printf("%llu waits passed their limit\n", hangs), 4;
        if (k >= 0 && k < REPEATS) printf("%llu cycles in the slowest CTA, %llu ns over all\n", slowest, end - begin);
        if (k < REPEATS) continue;
        int wrong = 0, known = std::min(clusters, CHECKED);
        for (int c = 0; c < known; ++c) wrong += (u32)(check[c] ^ check[c] >> 32) != EXPECTED[c];
        return printf("%d clusters, data of %d checked, %d wrong\n", clusters, known, wrong), wrong != 0;
    }
}
