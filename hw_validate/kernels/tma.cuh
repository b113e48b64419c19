// Bulk tensor copies (TMA) of rank 1 to 5: loads to one CTA or to every CTA of a mask, stores and their wait.

DEVICE void prefetch_map(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

DEVICE void tma_load_1d(u32 dst, const TensorMap* map, u32 bar, int c0) {
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
                 ::"r"(dst), "l"(map), "r"(bar), "r"(c0) : "memory");
}

DEVICE void tma_multicast_1d(u32 dst, const TensorMap* map, u32 bar, u32 mask, int c0) {
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4}], [%2], %3;"
                 ::"r"(dst), "l"(map), "r"(bar), "h"((unsigned short)mask), "r"(c0) : "memory");
}

DEVICE void tma_store_1d(u32 src, const TensorMap* map, int c0) {
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%1, {%2}], [%0];"
                 ::"r"(src), "l"(map), "r"(c0) : "memory");
}

DEVICE void tma_load_2d(u32 dst, const TensorMap* map, u32 bar, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(dst), "l"(map), "r"(bar), "r"(c0), "r"(c1) : "memory");
}

DEVICE void tma_multicast_2d(u32 dst, const TensorMap* map, u32 bar, u32 mask, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(dst), "l"(map), "r"(bar), "h"((unsigned short)mask), "r"(c0), "r"(c1) : "memory");
}

DEVICE void tma_store_2d(u32 src, const TensorMap* map, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %3}], [%0];"
                 ::"r"(src), "l"(map), "r"(c0), "r"(c1) : "memory");
}

DEVICE void tma_load_3d(u32 dst, const TensorMap* map, u32 bar, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(dst), "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

DEVICE void tma_multicast_3d(u32 dst, const TensorMap* map, u32 bar, u32 mask, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4, %5, %6}], [%2], %3;"
                 ::"r"(dst), "l"(map), "r"(bar), "h"((unsigned short)mask), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

DEVICE void tma_store_3d(u32 src, const TensorMap* map, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%1, {%2, %3, %4}], [%0];"
                 ::"r"(src), "l"(map), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

DEVICE void tma_load_4d(u32 dst, const TensorMap* map, u32 bar, int c0, int c1, int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(dst), "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

DEVICE void tma_multicast_4d(u32 dst, const TensorMap* map, u32 bar, u32 mask, int c0, int c1, int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                 ::"r"(dst), "l"(map), "r"(bar), "h"((unsigned short)mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

DEVICE void tma_store_4d(u32 src, const TensorMap* map, int c0, int c1, int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%1, {%2, %3, %4, %5}], [%0];"
                 ::"r"(src), "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

DEVICE void tma_load_5d(u32 dst, const TensorMap* map, u32 bar, int c0, int c1, int c2, int c3, int c4) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 ::"r"(dst), "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}

DEVICE void tma_multicast_5d(u32 dst, const TensorMap* map, u32 bar, u32 mask, int c0, int c1, int c2, int c3, int c4) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                 ::"r"(dst), "l"(map), "r"(bar), "h"((unsigned short)mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}

DEVICE void tma_store_5d(u32 src, const TensorMap* map, int c0, int c1, int c2, int c3, int c4) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%1, {%2, %3, %4, %5, %6}], [%0];"
                 ::"r"(src), "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}

DEVICE void store_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int PENDING>
DEVICE void store_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}

template <int PENDING>
DEVICE void store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
