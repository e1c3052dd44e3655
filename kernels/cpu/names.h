/* What else in this folder is compiled once for each level of instructions (level.h): its external names end in the
 * level's, CPU_LEVEL. A file elsewhere that includes these headers, as tests do, gets the lowest level. */
#ifndef KERNELS_CPU_NAMES_H
#define KERNELS_CPU_NAMES_H

#ifndef CPU_LEVEL
#define CPU_LEVEL CPU_LOWEST
#endif

#define CPU_JOIN(name, level) name##_##level
#define CPU_NAME(name, level) CPU_JOIN(name, level)

#define CPU_QUOTED(level) #level
#define CPU_TEXT(level)   CPU_QUOTED(level)

#define cpu_f32         CPU_NAME(cpu_f32, CPU_LEVEL)
#define cpu_bf16        CPU_NAME(cpu_bf16, CPU_LEVEL)
#define cpu_bf16_note   CPU_NAME(cpu_bf16_note, CPU_LEVEL)
#define blocked_product CPU_NAME(blocked_product, CPU_LEVEL)
#define blocked_relu    CPU_NAME(blocked_relu, CPU_LEVEL)
#define blocked_scratch CPU_NAME(blocked_scratch, CPU_LEVEL)
#define limits_measure  CPU_NAME(limits_measure, CPU_LEVEL)
#define limits_read     CPU_NAME(limits_read, CPU_LEVEL)
#define matmul_open     CPU_NAME(matmul_open, CPU_LEVEL)
#define matmul_close    CPU_NAME(matmul_close, CPU_LEVEL)
#define matmul_hold     CPU_NAME(matmul_hold, CPU_LEVEL)
#define matmul_is_ours  CPU_NAME(matmul_is_ours, CPU_LEVEL)
#define matmul_run      CPU_NAME(matmul_run, CPU_LEVEL)
#define probe_bf16      CPU_NAME(probe_bf16, CPU_LEVEL)
#define probe_choices   CPU_NAME(probe_choices, CPU_LEVEL)
#define stream_open     CPU_NAME(stream_open, CPU_LEVEL)
#define stream_close    CPU_NAME(stream_close, CPU_LEVEL)
#define stream_finish   CPU_NAME(stream_finish, CPU_LEVEL)
#define stream_hold     CPU_NAME(stream_hold, CPU_LEVEL)
#define stream_scratch  CPU_NAME(stream_scratch, CPU_LEVEL)
#define stream_floats   CPU_NAME(stream_floats, CPU_LEVEL)
#define stream_keep     CPU_NAME(stream_keep, CPU_LEVEL)
#define stream_share    CPU_NAME(stream_share, CPU_LEVEL)
#define stream_share_on CPU_NAME(stream_share_on, CPU_LEVEL)

#endif
