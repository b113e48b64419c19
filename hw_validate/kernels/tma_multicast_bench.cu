// One tile for two CTAs, by two TMA loads or by one multicast: the loop of 128 threads, one stage and a cluster
// sync for every tile, on an H100 or H200. Build it, run it, and read its counters:
//
//   nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -o tma_multicast_bench tma_multicast_bench.cu
//   ./tma_multicast_bench
//   ./tma_multicast_bench --ncu    (prints the command line that counts what the loops move)
//
// Every CTA receives a tile of 128 x 64 halves (16 KB) in each iteration. Three scenarios: `hot`, one tile for each
// cluster again and again; `matrix`, tiles of a matrix of 32 MB, which stays in the L2; `stream`, 4 GB of which each
// tile is read once. Times are medians of REPEATS launches; a further launch poisons the buffer before each load and
// compares every word that arrives with what its address says. All waits are bounded by the clock.
// Exit codes: 0 fine, 1 wrong data or a CUDA error, 2 no usable GPU, 4 a wait passed its limit.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 CLUSTER = 2, THREADS = 128, MOST_CTAS = 132;
constexpr u32 COLUMNS = 64, ROWS = 128, TILE_BYTES = COLUMNS * ROWS * 2, TILE_WORDS = TILE_BYTES / 4;
constexpr u32 MATRIX = 4096;  // columns of every matrix, and rows of the small one
constexpr u32 HOT_ITERATIONS = 5000, MATRIX_ITERATIONS = 2000, ROUND = 80;
constexpr u64 STREAM_BYTES = 4ull << 30;
constexpr u32 SHARED_BYTES = 120 * 1024;  // more than half of an SM's: one CTA on each
constexpr u64 WAIT_LIMIT = 200'000'000;   // cycles, 0.1 s
constexpr double LAUNCH_LIMIT = 60.0;     // seconds
constexpr int REPEATS = 9;
constexpr u32 POISON = 0xdeadbeef;

enum Scenario { HOT, MATRIX_32MB, STREAM, SCENARIOS };
const char* const NAMES[] = {"hot", "matrix", "stream"};
static const char* name_of(bool multicast) { return multicast ? "multicast" : "unicast"; }

struct Outcome { u64 cycles[MOST_CTAS]; u64 tiles, wrong, hung; };

#define DEVICE static __device__ __forceinline__

DEVICE u32 mix(u32 k) {  // memory holds mix(k) at word k
    k *= 0x9e3779b1u, k = (k ^ (k >> 15)) * 0x2c1b3c6du;
    return k ^ (k >> 13);
}

DEVICE u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

DEVICE u32 cluster_rank() { u32 rank; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }

DEVICE u32 cluster_number() { u32 number; asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(number)); return number; }

DEVICE u32 in_rank(u32 address, u32 rank) {
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

DEVICE void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

DEVICE void barrier_init(u32 bar, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void arrive_expect(u32 bar, u32 bytes) {  // `bar` may lie in a peer's shared memory
    asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

DEVICE bool try_wait(u32 bar, u32 parity) {
    u32 done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}

DEVICE bool wait(u32 bar, u32 parity) {  // false: the limit has passed
    if (try_wait(bar, parity)) return true;
    for (const u64 start = clock64(); !try_wait(bar, parity);)
        if (clock64() - start > WAIT_LIMIT) return false;
    return true;
}

DEVICE void load(u32 tile, const CUtensorMap* map, u32 bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(tile), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}

DEVICE void load_for_all(u32 tile, const CUtensorMap* map, u32 bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(tile), "l"(map), "r"(bar), "h"((unsigned short)((1 << CLUSTER) - 1)), "r"(x), "r"(y) : "memory");
}

// Column and row of a cluster's tile, and the step to its next one; no division.
struct Walk {
    u32 scenario, clusters, first, tile, x, y, step;

    DEVICE Walk start(u32 scenario, u32 cluster, u32 clusters) {
        Walk w = {scenario, clusters, cluster * COLUMNS % MATRIX, cluster, 0, cluster * ROWS % MATRIX, 0};
        w.x = w.first;
        if (scenario == STREAM) w.place();
        return w;
    }

    __device__ __forceinline__ void place() {
        x = tile % (MATRIX / COLUMNS) * COLUMNS, y = tile / (MATRIX / COLUMNS) * ROWS;
    }

    __device__ __forceinline__ void next() {
        if (scenario == STREAM) tile += clusters, place();
        if (scenario != MATRIX_32MB) return;
        x = (x + COLUMNS) % MATRIX;
        if (++step == ROUND) step = 0, x = first, y = (y + ROWS) % MATRIX;
    }
};

DEVICE u32 compare_and_poison(u32* tile, u32 x, u32 y) {  // words that are not what their address says
    u32 wrong = 0;
    for (u32 k = threadIdx.x; k < TILE_WORDS; k += THREADS) {
        const u32 row = k / (COLUMNS / 2), column = k % (COLUMNS / 2);
        wrong += tile[k] != mix((y + row) * (MATRIX / 2) + x / 2 + column);
        tile[k] = POISON;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // before the next load writes here
    return wrong;
}

template <bool MULTICAST, bool CHECK>
__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
tile_loop(const __grid_constant__ CUtensorMap map, u32 scenario, u32 iterations, Outcome* outcome) {
    extern __shared__ __align__(1024) u32 tile[];
    __shared__ __align__(8) u64 barrier;
    const u32 bar = shared_address(&barrier), buffer = shared_address(tile), rank = cluster_rank();
    if (threadIdx.x == 0) barrier_init(bar, 1);
    if (CHECK) compare_and_poison(tile, 0, 0);
    cluster_sync();

    Walk at = Walk::start(scenario, cluster_number(), gridDim.x / CLUSTER);
    u32 parity = 0, wrong = 0, done = 0;
    const u64 begin = clock64();
    for (; done < iterations; ++done, parity ^= 1, at.next()) {
        if (threadIdx.x == 0 && !MULTICAST) {
            arrive_expect(bar, TILE_BYTES);
            load(buffer, &map, bar, at.x, at.y);
        }
        if (threadIdx.x == 0 && MULTICAST && rank == 0) {
            arrive_expect(bar, TILE_BYTES);
            for (u32 peer = 1; peer < CLUSTER; ++peer) arrive_expect(in_rank(bar, peer), TILE_BYTES);
            load_for_all(buffer, &map, bar, at.x, at.y);
        }
        if (!wait(bar, parity)) break;
        if (CHECK) wrong += compare_and_poison(tile, at.x, at.y);
        cluster_sync();
    }
    const u64 end = clock64();
    if (threadIdx.x == 0) outcome->cycles[blockIdx.x] = end - begin;
    if (threadIdx.x == 0 && CHECK) atomicAdd(&outcome->tiles, (u64)done);
    if (wrong) atomicAdd(&outcome->wrong, (u64)wrong);
    if (done < iterations) atomicAdd(&outcome->hung, 1ull);
    cluster_sync();  // nobody leaves while a peer may still write to it
}

__global__ void fill(u32* at, u64 words) {
    const u64 start = blockIdx.x * (u64)blockDim.x + threadIdx.x, step = (u64)gridDim.x * blockDim.x;
    for (u64 k = start; k < words; k += step) at[k] = mix((u32)k);
}

static void check_call(cudaError_t error, const char* call) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}
#define CU(call) check_call((call), #call)

static void refuse(const char* why, const char* detail = "") {
    fprintf(stderr, "no measurement: %s%s\n", why, detail);
    exit(2);
}

struct Bench {
    u32 ctas;
    u32* memory;
    CUtensorMap map;
    Outcome* outcome;
    cudaEvent_t begin, end;
};

struct Measured { double microseconds, spread, cycles; u64 tiles, wrong; };

static u32 iterations_of(Scenario scenario, u32 ctas) {  // the stream's end is rounded up to a whole round of tiles
    const u64 round = (u64)TILE_BYTES * (ctas / CLUSTER);
    const u32 rounds = (u32)((STREAM_BYTES + round - 1) / round);
    return scenario == HOT ? HOT_ITERATIONS : scenario == MATRIX_32MB ? MATRIX_ITERATIONS : rounds;
}

static u64 rows_of(Scenario scenario, u32 ctas) {
    const u64 tiles = (u64)iterations_of(scenario, ctas) * (ctas / CLUSTER), in_a_row = MATRIX / COLUMNS;
    return scenario == STREAM ? (tiles + in_a_row - 1) / in_a_row * ROWS : MATRIX;
}

static void make_map(Bench& bench, Scenario scenario) {
    static PFN_cuTensorMapEncodeTiled_v12000 encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (!encode)
        CU(cudaGetDriverEntryPointByVersion(
            "cuTensorMapEncodeTiled", (void**)&encode, 12000, cudaEnableDefault, &found));
    if (!encode) refuse("the driver does not know tensor maps; CUDA 12.4 or newer is needed");
    const cuuint64_t dims[] = {MATRIX, rows_of(scenario, bench.ctas)}, strides[] = {MATRIX * 2};
    const cuuint32_t box[] = {COLUMNS, ROWS}, steps[] = {1, 1};
    const CUresult code = encode(
        &bench.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, bench.memory, dims, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (code) fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", (int)code), exit(1);
}

static float launch(Bench& bench, bool multicast, bool check, Scenario scenario) {  // milliseconds by events
    auto* const kernel = multicast ? check ? tile_loop<true, true> : tile_loop<true, false>
                                   : check ? tile_loop<false, true> : tile_loop<false, false>;
    CU(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    CU(cudaMemset(bench.outcome, 0, sizeof(Outcome)));
    CU(cudaEventRecord(bench.begin));
    const u32 iterations = iterations_of(scenario, bench.ctas);
    kernel<<<bench.ctas, THREADS, SHARED_BYTES>>>(bench.map, scenario, iterations, bench.outcome);
    CU(cudaGetLastError());
    CU(cudaEventRecord(bench.end));
    const auto start = std::chrono::steady_clock::now();
    cudaError_t state;
    while ((state = cudaEventQuery(bench.end)) == cudaErrorNotReady)
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > LAUNCH_LIMIT)
            fprintf(stderr, "%s: no end after %.0f s\n", NAMES[scenario], LAUNCH_LIMIT), _Exit(4);
    CU(state);
    float milliseconds;
    CU(cudaEventElapsedTime(&milliseconds, bench.begin, bench.end));
    return milliseconds;
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static Outcome read_outcome(const Bench& bench, Scenario scenario, bool multicast) {
    Outcome found;
    CU(cudaMemcpy(&found, bench.outcome, sizeof found, cudaMemcpyDeviceToHost));
    if (found.hung) {
        const char* const kernel = name_of(multicast);
        fprintf(stderr, "%s, %s: %llu threads gave up a wait\n", NAMES[scenario], kernel, found.hung);
        exit(4);
    }
    return found;
}

static Measured measure(Bench& bench, bool multicast, Scenario scenario) {
    const u32 iterations = iterations_of(scenario, bench.ctas);
    std::vector<double> times, cycles;
    for (int k = -1; k < REPEATS; ++k) {  // the first launch warms up
        const float milliseconds = launch(bench, multicast, false, scenario);
        const Outcome found = read_outcome(bench, scenario, multicast);
        if (k < 0) continue;
        times.push_back(milliseconds * 1e3);
        cycles.push_back((double)*std::max_element(found.cycles, found.cycles + bench.ctas) / iterations);
    }
    launch(bench, multicast, true, scenario);
    const Outcome checked = read_outcome(bench, scenario, multicast);
    const auto range = std::minmax_element(times.begin(), times.end());
    return {median(times), (*range.second - *range.first) / median(times), median(cycles), checked.tiles, checked.wrong};
}

static void profile(Bench& bench) {  // one launch of each for ncu, after a warm one
    for (int scenario = HOT; scenario < SCENARIOS; ++scenario) {
        make_map(bench, (Scenario)scenario);
        for (bool multicast : {false, true}) {
            launch(bench, multicast, false, (Scenario)scenario);
            CU(cudaProfilerStart());
            launch(bench, multicast, false, (Scenario)scenario);
            CU(cudaProfilerStop());
            printf("%s %s\n", NAMES[scenario], name_of(multicast));
        }
    }
}

static void print_ncu_line() {
    printf("ncu --profile-from-start off --clock-control none --cache-control none --print-units base --metrics "
           "dram__bytes_read.sum,lts__t_bytes.sum,lts__t_sectors_srcunit_tex_op_read.sum,"
           "lrc__xbar2lrc_requests_op_read.sum,lrc__lrc2xbar_sectors_op_read.sum,lrc__xbar2gpc_sectors_op_read.sum,"
           "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self.sum,"
           "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum ./tma_multicast_bench --profile\n");
}

static Bench open_bench() {
    int count = 0, driver = 0;
    const cudaError_t state = cudaGetDeviceCount(&count);
    if (state != cudaSuccess) refuse("no usable GPU: ", cudaGetErrorString(state));
    if (!count) refuse("no GPU found");
    cudaDeviceProp device;
    CU(cudaGetDeviceProperties(&device, 0));
    if (device.major != 9 || device.minor != 0)
        refuse("compute capability 9.0 (H100, H200) is needed, this is another GPU: ", device.name);
    CU(cudaDriverGetVersion(&driver));
    Bench bench = {std::min<u32>(device.multiProcessorCount, MOST_CTAS) / CLUSTER * CLUSTER};
    const u64 bytes = rows_of(STREAM, bench.ctas) * MATRIX * 2;
    if (cudaMalloc(&bench.memory, bytes) != cudaSuccess) refuse("4 GB of free device memory are needed");
    CU(cudaMalloc(&bench.outcome, sizeof(Outcome)));
    CU(cudaEventCreate(&bench.begin));
    CU(cudaEventCreate(&bench.end));
    fill<<<device.multiProcessorCount * 8, 256>>>(bench.memory, bytes / 4);
    CU(cudaDeviceSynchronize());
    printf("%s, %d SMs, driver CUDA %d.%d\n", device.name, device.multiProcessorCount, driver / 1000,
           driver % 1000 / 10);
    printf("%u CTAs in clusters of %u, %u threads, one stage, tiles of %u B; medians of %d launches\n", bench.ctas, CLUSTER,
           THREADS, TILE_BYTES, REPEATS);
    return bench;
}

int main(int argc, char** argv) {
    const char* const option = argc > 1 ? argv[1] : "";
    if (!strcmp(option, "--ncu")) return print_ncu_line(), 0;
    if (argc > 2 || (*option && strcmp(option, "--profile"))) refuse("unknown option; give none, --profile or --ncu: ", option);
    Bench bench = open_bench();
    if (*option) return profile(bench), 0;
    u64 wrong = 0;
    printf("%-9s%-10s%11s%11s%8s%18s%18s%15s%13s\n", "scenario", "kernel", "iterations", "time [us]", "spread",
           "cycles/iteration", "delivered [TB/s]", "tiles checked", "words wrong");
    for (int scenario = HOT; scenario < SCENARIOS; ++scenario) {
        make_map(bench, (Scenario)scenario);
        const u32 iterations = iterations_of((Scenario)scenario, bench.ctas);
        double times[2], cycles[2];
        for (bool multicast : {false, true}) {
            const Measured found = measure(bench, multicast, (Scenario)scenario);
            times[multicast] = found.microseconds, cycles[multicast] = found.cycles, wrong += found.wrong;
            const double terabytes = (double)TILE_BYTES * bench.ctas * iterations / found.microseconds / 1e6;
            printf("%-9s%-10s%11u%11.1f%7.1f%%%18.1f%18.3f%15llu%13llu\n", NAMES[scenario], name_of(multicast),
                   iterations, found.microseconds, 100 * found.spread, found.cycles, terabytes, found.tiles, found.wrong);
        }
        printf("%-9sunicast / multicast: %.3f by time, %.3f by cycles\n", NAMES[scenario], times[0] / times[1], cycles[0] / cycles[1]);
    }
    printf("counters: ");
    print_ncu_line();
    return wrong != 0;
}
