// Words that every kernel uses: integer types, the shape of a wrapper, the tensor map as a parameter.

using u32 = unsigned int;
using u64 = unsigned long long;
#define DEVICE static __device__ __forceinline__

struct __align__(64) TensorMap { u64 word[16]; };

struct Launched {  // what the host hands over beside the tensor maps
    u64* out;             // one record for each CTA that takes part
    const u32* sm_group;  // by SM id: group whose quota counts it; above the last group: takes no part
    u32* tickets;         // [0] clusters that take part, then one count of CTAs for each group
    u32 clusters;         // clusters that may take part
    u32 quota;            // CTAs that may take part in one group
};
