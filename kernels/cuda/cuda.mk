# kernels/cuda, in two ways: as C++ for the emulator, and by nvcc for GPUs. Included by the Makefile.

USE_EMULATOR = $(and $(filter yes,$(CXX17)),$(wildcard kernels/cuda))
# What looks at memory in other builds does not know a GPU's.
USE_CUDA     = $(and $(filter yes,$(CUDA)),$(filter release,$(MODE)),$(wildcard kernels/cuda))
# The checker takes the place of the sanitizers' own libraries, and looks for what valgrind looks for.
USE_CHECKED  = $(and $(USE_EMULATOR),$(filter release coverage,$(MODE)))

# ---- For the emulator; nothing of C++'s own library is linked. ThreadSanitizer does not know fibers, so it is not told
# of what they do.

CXXFLAGS = $(CFLAGS) -std=gnu++17 $(filter-out -fsanitize=thread,$(NEEDED)) \
           -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wno-unknown-pragmas \
           $(filter-out -Wstrict-prototypes -Wmissing-prototypes,$(WARNINGS))
COMPILE_CU = $(CXX) -x c++ $(ALL_CPPFLAGS) $(CXXFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<
CHECKS = -DEMULATOR_CHECKED -fsanitize=thread -fsanitize=bounds
define compile_cu
@mkdir -p $(@D)
$(Q)$(COMPILE_CU) $1
endef

# $(call emulated,FILES.cu): their objects in each kind of emulator there is
EMULATORS := $(if $(USE_EMULATOR),_emulated) $(if $(USE_CHECKED),_checked)
emulated   = $(foreach kind,$(EMULATORS),$(patsubst %.cu,$(OUT)/%$(kind).o,$1))

CU := $(if $(USE_EMULATOR),$(addprefix kernels/cuda/emulated_,F32 BF16)) \
      $(if $(USE_CHECKED),$(addprefix kernels/cuda/checked_,F32 BF16))

$(OUT)/kernels/cuda/emulated_%.o: kernels/cuda/cuda.cu $(OUT)/flags
	$(call compile_cu,-DCUDA_$*)
$(OUT)/kernels/cuda/checked_%.o: kernels/cuda/cuda.cu $(OUT)/flags
	$(call compile_cu,-DCUDA_$* $(CHECKS))
$(OUT)/kernels/cuda/emulator/%: EXTRA = $(if $(filter tsan,$(MODE)),-fno-sanitize=thread)

# Kernels of tests and lessons
$(OUT)/%_emulated.o: %.cu $(OUT)/flags
	$(call compile_cu)
$(OUT)/%_checked.o: %.cu $(OUT)/flags
	$(call compile_cu,$(CHECKS))

# ---- For GPUs: machine code for each number in CODES, and what a driver makes code of (PTX) for the newest of them; where
# there is no GPU, PTX alone, for the oldest that can compute in the type. Each number costs about as much as the one
# before it. What is made is the same for every C compiler.

NVCC_OUT    = $(BUILD)/nvcc
OLDEST_F32  = 75
OLDEST_BF16 = 80
CODES_all   = $(GPU_CODES)
CODES_native = $(GPU_HERE)
CODES = $(if $(filter all native,$(GPU)),$(CODES_$(strip $(GPU))),$(GPU))
GPUS  = $(or $(addprefix sm_,$(CODES)),any GPU)
codes_for = $(filter-out $(if $(filter BF16,$1),75),$(CODES))
code_flag = -gencode arch=compute_$1,code=$(if $2,[sm_$1$(comma)compute_$1],sm_$1)
code_flags = $(or $(foreach c,$(call codes_for,$1),$(call code_flag,$c,$(filter $c,$(lastword $(call codes_for,$1))))), \
               -gencode arch=compute_$(OLDEST_$1)$(comma)code=compute_$(OLDEST_$1))
NVCCFLAGS = $(NVCC_HOST) -x cu -std=c++17 -O3 -lineinfo $(if $(filter 1,$(WERROR)),-Werror all-warnings)
CUDA_OBJECTS := $(if $(USE_CUDA),$(addprefix $(NVCC_OUT)/,cuda_F32.o cuda_BF16.o))

$(NVCC_OUT)/cuda_%.o: kernels/cuda/cuda.cu $(NVCC_OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(NVCC) -I. -D_POSIX_C_SOURCE=200809L $(NVCCFLAGS) $(call code_flags,$*) -DCUDA_$* -MMD -MP -c -o $@ $<
