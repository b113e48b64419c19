// Who runs where: ranks, election, and the ways in which threads meet (warp, role, CTA, cluster).

DEVICE u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE u32 cluster_number() {
    u32 number;
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}

DEVICE u32 sm_number() {
    u32 number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
}

DEVICE u32 shared_address(const void* pointer) {
    return (u32)__cvta_generic_to_shared(pointer);
}

DEVICE bool elect() {
    u32 chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    return chosen;
}

DEVICE void sync_warp() {
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

DEVICE void sync_role(u32 id, u32 threads) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

DEVICE void sync_cta() {
    asm volatile("barrier.cta.sync 0;" ::: "memory");
}

DEVICE void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

DEVICE void cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

DEVICE void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
