// What every kernel uses: integer types, the shape of a wrapper, tensor maps as parameters, a role's report.

typedef unsigned int u32; typedef unsigned long long u64;
#define DEVICE static __device__ __forceinline__
struct __align__(64) TensorMap { u64 word[16]; };

// What the host hands over beside the tensor maps. A group of SMs (by SM id) has a quota of CTAs; SMs above
// the last group take no part. The first ticket counts the clusters that take part, then one each group's CTAs.
struct Launched { u64* out; const u32* sm_group; u32* tickets; u32 clusters, quota; };

// What one warp of a role reports: times, the wait that passed its limit, a check of data, a sum of reads.
struct Report { u64 chip, start, status, at, check, sum; };
