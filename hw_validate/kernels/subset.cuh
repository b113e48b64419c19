// Clusters on SMs that take no part leave at once; the others take consecutive numbers.

DEVICE u32 join(const Launched& to, u32 scratch, u32 rank, u32 size) {  // ~0: this cluster takes no part
    if (threadIdx.x == 0) {
        const u32 group = to.sm_group[sm_number()];
        asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(scratch), "r"(group) : "memory");
    }
    cluster_arrive();
    cluster_wait();
    if (rank == 0 && threadIdx.x == 0) {
        u32 group = to.sm_group[sm_number()], other, number = ~0u;
        bool all = group < 255;
        for (u32 r = 1; r < size; ++r) {
            asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(other) : "r"(in_rank(scratch, r)) : "memory");
            all = all && other == group;
        }
        if (all && atomicAdd(to.tickets + 1 + group, size) + size <= to.quota) number = atomicAdd(to.tickets, 1u);
        if (number >= to.clusters) number = ~0u;
        asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(scratch + 4), "r"(number) : "memory");
    }
    cluster_arrive();
    cluster_wait();
    u32 number;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(number) : "r"(in_rank(scratch + 4, 0)) : "memory");
    cluster_arrive();
    cluster_wait();
    return number;
}
