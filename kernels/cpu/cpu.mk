# kernels/cpu is compiled once for each level of instructions that one program holds (level.h); all other files for any
# processor of the family. With ARCH=native and the like there is one level, `single`, and where that has bf16
# instructions the same without them. Included by the Makefile.

FAMILY := $(firstword $(subst -,$(space),$(call run,$(CC) -dumpmachine)))
ANY_x86_64  = -march=x86-64
ANY_aarch64 = -march=armv8-a
MARCH := $(if $(filter any,$(ARCH)),$(ANY_$(FAMILY)),-march=$(ARCH))

# What a compiler is told for each level, in words that older ones know, too. MOST_ISA: the most that oneDNN may use.
V2 = -msse3 -mssse3 -msse4.1 -msse4.2 -mpopcnt -mcx16
V3 = $(V2) -mavx -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mmovbe -mf16c
V4 = $(V3) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
LEVEL_v1 = -DMOST_ISA=dnnl_cpu_isa_sse41
LEVEL_v2 = $(V2) -DMOST_ISA=dnnl_cpu_isa_sse41
LEVEL_v3 = $(V3) -DMOST_ISA=dnnl_cpu_isa_avx2
LEVEL_v4 = $(V4) -DMOST_ISA=dnnl_cpu_isa_avx512_core
LEVEL_v4_bf16   = $(V4) -mavx512vbmi -mavx512bf16
LEVEL_neon_bf16 = -march=armv8.2-a+bf16+dotprod
LEVEL_single_widening = $(if $(filter aarch64,$(FAMILY)),$(ANY_aarch64),-mno-avx512bf16)

# $(call known,LEVEL): that level, if the compiler knows its instructions (gcc 9 knows none of bf16)
known = $(call run,$(CC) $(LEVEL_$1) -E -x c /dev/null >/dev/null 2>&1 && echo $1)
LEVELS_x86_64  = v1 v2 v3 v4 $(call known,v4_bf16)
LEVELS_aarch64 = neon $(call known,neon_bf16)
SINGLE = $(call run,$(CC) $(MARCH) -dM -E -x c /dev/null | grep -qE '__AVX512BF16__|__ARM_FEATURE_BF16_VECTOR' && echo single_widening) single
LEVELS := $(or $(and $(filter any,$(ARCH)),$(LEVELS_$(FAMILY))),$(SINGLE))

# The objects of each level: cpu.c, which includes other files, and the rest of the folder
CPU_ONCE = kernels/cpu/levels.c kernels/cpu/tuning.c
CPU_FILES = $(patsubst kernels/cpu/%.c,%,$(filter-out $(CPU_ONCE) kernels/cpu/cpu.c \
                                                      $(call included,kernels/cpu/cpu.c),$(wildcard kernels/cpu/*.c)))
CPU = $(foreach l,$(LEVELS),$(addprefix kernels/cpu/$l/,cpu_F32 cpu_BF16 $(CPU_FILES)))

define level_rules
$(OUT)/kernels/cpu/$1/cpu_%.o: kernels/cpu/cpu.c $(OUT)/flags
	$$(call compile,-DCPU_$$*)
$(OUT)/kernels/cpu/$1/%.o: kernels/cpu/%.c $(OUT)/flags
	$$(call compile)
$(OUT)/kernels/cpu/$1/%: EXTRA = $(LEVEL_$1) -DCPU_LEVEL=$1 -ffp-contract=fast $$(OPTIMISE_CPU)
endef
$(foreach l,$(LEVELS),$(eval $(call level_rules,$l)))
$(OUT)/kernels/cpu/levels.o: EXTRA = -DCPU_LEVELS='$(foreach l,$(LEVELS),LEVEL($l))'
