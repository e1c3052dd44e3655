# How attend is built. `make help` lists what can be asked for; GNU make 4.2 or newer, gcc or clang.
#
#     base/ kernels/ core/   ->  build/NAME/libattend.a      one library: everything below the programs
#     charlm/ ...            ->  bin/charlm ...              a program: its own folder + the library
#     tests/ROOM/test_X.c    ->  bin/tests/ROOM/X            a test program: itself + tests/*.c + the library
#
# NAME is mode-compiler-processor (release-gcc-native), so that builds of several kinds lie side by side. Nothing
# lists source files: whatever lies in a room is part of it.

# ---------------------------------------------------------------------------------------------------------------
# What can be set on the command line (make keeps spaces before a comment, hence none there)
# ---------------------------------------------------------------------------------------------------------------

ARCH   = native# processor to build for; x86-64-v3: any x86 since 2013, and what valgrind understands
GPU    = native# GPUs to build for: those here (none: any, but slow to start); all; or a list: "80 90"
MODE   = release# release, sanitize, tsan, valgrind, coverage or fuzz; the targets of those names set it
BUILD  = build# everything made goes here, but programs go to
BIN    = $(if $(filter release-build,$(MODE)-$(BUILD)),bin,$(OUT)/bin)
PREFIX = /usr/local# where `make install` puts programs, as attend-charlm ...
WERROR =# 1: a warning is an error
YES    =# 1: `make deps` does not ask
V      =# 1: show every command whole
only   =# make test only=ROOM or only=ROOM/FILE (several: only="base kernels/attention")
name   =# make test name=TEST
first  =# make hunt first=SEED: where it begins (0)
seeds  =# make hunt seeds=N: how many networks (1000, where no time is given)
seconds =# make hunt seconds=N, make fuzz seconds=N: how long (fuzz: with each harness; 60)
FILE   =# make grade-NN FILE=...: a file to grade instead of the lesson's exercise.c
# ONEDNN=no LIBARCHIVE=no CHECK=no CXX17=no CUDA=no build as if it were not there.

ifeq ($(origin CC),default)
CC := $(firstword $(foreach c,gcc cc clang,$(if $(shell command -v $c),$c)) cc)
endif

# The C++ compiler that belongs to it, for kernels/cuda.
ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach c,$(if $(filter cc,$(CC)),,$(subst clang,clang++,$(subst gcc,g++,$(firstword $(CC))))) c++,\
         $(if $(shell command -v $c),$c)) c++)
endif

SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: FORCE
all: programs table ## build bin/charlm, bin/classifier, bin/encdec, and say what was found

space := $() $()
hash  := \#
comma := ,
OUT = $(BUILD)/$(subst $(space),_,$(MODE)-$(notdir $(CC))-$(ARCH))

# ---------------------------------------------------------------------------------------------------------------
# What is here: tools/probe.sh compiles small programs once and writes the answers as variables
# ---------------------------------------------------------------------------------------------------------------

# Packages that `make deps` unpacked into the tree, where there is no root: libraries, and tools in .deps/bin.
DEPS_LIB := $(firstword $(wildcard .deps/usr/lib/*-linux-gnu*))
ifneq ($(DEPS_LIB),)
DEPS_CPPFLAGS = -isystem .deps/usr/include -isystem .deps/usr/include/$(notdir $(DEPS_LIB))
DEPS_LDFLAGS  = -L$(DEPS_LIB) -Wl,--disable-new-dtags '-Wl,-rpath,$(CURDIR)/$(DEPS_LIB)'
export PATH  := $(PATH):$(CURDIR)/.deps/bin
endif
# (In a recipe PATH is set then; GNU make below 4.4 does not tell $(shell).)
run = $(shell PATH='$(PATH)'; $1)

# $(call remember,FILE,TEXT): FILE holds TEXT; it is touched only when TEXT changes, so what depends on it is made
# again just then. (A flag is not a file: make alone would not notice that one has changed.)
remember = $(if $(call differ,$(strip $2),$(strip $(file <$1))),$(shell mkdir -p $(dir $1))$(file >$1,$(strip $2)))
differ   = $(if $(and $(findstring x$1x,x$2x),$(findstring x$2x,x$1x)),,yes)

# Goals that compile nothing need no probe.
BUILDING := $(filter-out clean deps format fuzz help lint,$(or $(MAKECMDGOALS),all))
ifneq ($(BUILDING),)
ifeq ($(call run,command -v $(firstword $(CC))),)
$(error there is no compiler '$(CC)': make deps installs gcc, CC=NAME chooses another)
endif
COMPILER  := $(call run,$(CC) --version 2>&1 | head -n 1)
PROCESSOR := $(call run,$(CC) -march=$(ARCH) -E -x c /dev/null '-$(hash)$(hash)$(hash)' 2>&1 | \
               sed -n -E 's/.*"-target-cpu" "([^"]*)".*/\1/p; s/.*-march=([a-z0-9.+-]*).*/\1/p' | \
               grep -v native | head -n 1)
FEATURES  := $(call run,$(CC) -march=$(ARCH) -dM -E -x c /dev/null 2>/dev/null | tr A-Z a-z | \
               sed -n -E 's/^.define __(avx[0-9a-z]*|fma|bmi2)__ 1$$/\1/p' | sort)
$(call remember,$(OUT)/compiler,$(CC) $(COMPILER) $(CXX))

$(OUT)/probe.mk: tools/probe.sh $(OUT)/compiler
	@CC='$(CC)' CXX='$(CXX)' CPPFLAGS="$(DEPS_CPPFLAGS)" tools/probe.sh $@ $(DEPS_LDFLAGS)
-include $(OUT)/probe.mk
endif

# ---------------------------------------------------------------------------------------------------------------
# Flags
# ---------------------------------------------------------------------------------------------------------------

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
           $(if $(filter 1,$(WERROR)),-Werror)

# Never -ffast-math: it makes NaN checks lie and reorders sums. Nothing here reads errno after a square root, and
# a formula is rounded as it is written (no fused multiply-add behind our back), by gcc and clang alike;
# kernels/cpu, which is compared within a tolerance, may fuse.
OPTIMISE_release  = -O3 -g
OPTIMISE_sanitize = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPTIMISE_tsan     = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
OPTIMISE_valgrind = -O1 -g
OPTIMISE_coverage = -O1 -g --coverage -fno-inline -fprofile-update=atomic
OPTIMISE_fuzz     = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link \
                    -fno-sanitize-recover=all
OPTIMISE = $(or $(OPTIMISE_$(MODE)),$(error MODE=$(MODE): it is release, sanitize, tsan, valgrind, coverage or fuzz))

CPPFLAGS = -I. -D_POSIX_C_SOURCE=200809L -DATTEND_ARCH='"$(ARCH)"' \
           $(if $(USE_ONEDNN),-DHAVE_ONEDNN) $(if $(USE_LIBARCHIVE),-DHAVE_LIBARCHIVE) \
           $(if $(USE_CUDA),-DHAVE_CUDA) $(if $(USE_EMULATOR),-DHAVE_EMULATOR) $(if $(USE_CHECKED),-DHAVE_CHECKED) \
           $(DEPS_CPPFLAGS)
CFLAGS   = -std=c11 $(OPTIMISE) -march=$(ARCH) -fno-math-errno -ffp-contract=off -pthread $(WARNINGS)
LDFLAGS  = $(OPTIMISE) -pthread $(DEPS_LDFLAGS)
LDLIBS   = $(if $(USE_ONEDNN),-ldnnl) $(if $(USE_LIBARCHIVE),-larchive) $(if $(USE_CUDA),$(CUDA_LIBS)) -lm -ldl

# A library is used when it was found and the room that wants it exists.
USE_ONEDNN     = $(and $(filter yes,$(ONEDNN)),$(wildcard kernels/cpu))
USE_LIBARCHIVE = $(and $(filter yes,$(LIBARCHIVE)),$(wildcard core/text))
USE_EMULATOR   = $(and $(filter yes,$(CXX17)),$(wildcard kernels/cuda))
# What looks at memory in other builds does not know a GPU's.
USE_CUDA       = $(and $(filter yes,$(CUDA)),$(filter release,$(MODE)),$(wildcard kernels/cuda))
# The checker takes the place of the sanitizers' own libraries.
USE_CHECKED    = $(and $(USE_EMULATOR),$(filter release valgrind coverage,$(MODE)))

# One line per thing made; V=1 shows commands.
Q = $(if $(V),,@echo '  $(@:$(OUT)/%=%)';)

COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<

# CUDA kernels as C++, for the emulator; nothing of C++'s own library is linked. ThreadSanitizer does not know fibers, so
# it is not told of what they do.
CXXFLAGS = -std=gnu++17 $(filter-out -fsanitize=thread,$(OPTIMISE)) -march=$(ARCH) -fno-math-errno -ffp-contract=off \
           -fno-exceptions -fno-rtti -fno-threadsafe-statics -pthread -Wno-unknown-pragmas \
           $(filter-out -Wstrict-prototypes -Wmissing-prototypes,$(WARNINGS))
COMPILE_CU = $(CXX) -x c++ $(CPPFLAGS) $(CXXFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<
CHECKS = -DEMULATOR_CHECKED -fsanitize=thread -fsanitize=bounds

# The same kernels for GPUs: machine code for each number in CODES, and what a driver makes code of (PTX) for the newest of
# them; where there is no GPU, PTX alone, for the oldest that can compute in the type. Each number costs about as much as
# the one before it. What is made is the same for every C compiler.
NVCC_OUT   = $(BUILD)/nvcc
OLDEST_F32  = 75
OLDEST_BF16 = 80
CODES_all   = $(GPU_CODES)
CODES_native = $(GPU_HERE)
CODES = $(if $(filter all native,$(GPU)),$(CODES_$(strip $(GPU))),$(GPU))
codes_for = $(filter-out $(if $(filter BF16,$1),75),$(CODES))
code_flag = -gencode arch=compute_$1,code=$(if $2,[sm_$1$(comma)compute_$1],sm_$1)
code_flags = $(or $(foreach c,$(call codes_for,$1),$(call code_flag,$c,$(filter $c,$(lastword $(call codes_for,$1))))), \
               -gencode arch=compute_$(OLDEST_$1)$(comma)code=compute_$(OLDEST_$1))
NVCCFLAGS  = $(NVCC_HOST) -x cu -std=c++17 -O3 -lineinfo $(if $(filter 1,$(WERROR)),-Werror all-warnings)
COMPILE_NVCC = $(NVCC) -I. -D_POSIX_C_SOURCE=200809L $(NVCCFLAGS) $(call code_flags,$*) -DCUDA_$* -MMD -MP -c -o $@ $<

# ---------------------------------------------------------------------------------------------------------------
# The library
# ---------------------------------------------------------------------------------------------------------------

# A twin that exists once per number type (kernels/plain/plain.c, kernels/cpu/cpu.c) includes its operations and is
# compiled once per type. The .c files it includes are not compiled alone.
included = $(addprefix $(dir $1),$(if $(wildcard $1),$(shell sed -n 's/^$(hash) *include "\([^"/]*\.c\)".*/\1/p' $1)))

PLAIN := $(if $(wildcard kernels/plain/plain.c),$(addprefix kernels/plain/plain_,F32 F64 BF16))
CPU   := $(if $(wildcard kernels/cpu/cpu.c),$(addprefix kernels/cpu/cpu_,F32 BF16))

CU    := $(if $(USE_EMULATOR),$(addprefix kernels/cuda/emulated_,F32 BF16)) \
         $(if $(USE_CHECKED),$(addprefix kernels/cuda/checked_,F32 BF16))

SOURCES := $(sort $(wildcard base/*.c kernels/*.c kernels/measure/*.c kernels/profile/*.c kernels/mine/*.c core/*/*.c \
                             $(if $(USE_EMULATOR),kernels/cuda/emulator/*.c)) \
             $(filter-out kernels/cpu/cpu.c kernels/cpu/bench.c $(call included,kernels/cpu/cpu.c), \
                          $(wildcard kernels/cpu/*.c)))
OBJECTS := $(patsubst %,$(OUT)/%.o,$(SOURCES:.c=) $(PLAIN) $(CPU) $(CU) plots) \
           $(if $(USE_CUDA),$(addprefix $(NVCC_OUT)/,cuda_F32.o cuda_BF16.o))
LIBRARY := $(OUT)/libattend.a

# The archive is made anew each time: a file that was deleted or renamed must leave it.
$(LIBRARY): $(OBJECTS) $(OUT)/objects
	@rm -f $@
	$(Q)ar qcs $@ $(OBJECTS)

$(OUT)/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE)

$(OUT)/kernels/plain/plain_%.o: kernels/plain/plain.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DPLAIN_$*

$(OUT)/kernels/cpu/cpu_%.o: kernels/cpu/cpu.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DCPU_$*

$(OUT)/kernels/cpu/%: EXTRA = -ffp-contract=fast

$(OUT)/kernels/cuda/emulated_%.o: kernels/cuda/cuda.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU) -DCUDA_$*

$(OUT)/kernels/cuda/checked_%.o: kernels/cuda/cuda.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU) -DCUDA_$* $(CHECKS)

$(NVCC_OUT)/cuda_%.o: kernels/cuda/cuda.cu $(NVCC_OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_NVCC)

$(OUT)/kernels/cuda/emulator/%: EXTRA = $(if $(filter tsan,$(MODE)),-fno-sanitize=thread)

# The version is compiled into one small file, so that a commit does not rebuild the world. That file says on
# which processor the program can run, so it must itself run on any: it is built without -march.
ifneq ($(BUILDING),)
VERSION := $(or $(if $(wildcard .git),$(shell git describe --always --dirty 2>/dev/null)),0.1)
$(call remember,$(OUT)/version,$(VERSION) $(PROCESSOR) $(FEATURES) $(ONEDNN_VERSION) $(LIBARCHIVE_VERSION) \
  $(if $(USE_CUDA),$(CUDA_VERSION) $(CODES)))
endif
$(OUT)/core/cli/version.o: $(OUT)/version
$(OUT)/core/cli/version.o: CFLAGS := $(filter-out -march=%,$(CFLAGS))
$(OUT)/core/cli/version.o: EXTRA = -DATTEND_VERSION='"$(VERSION)"' -DATTEND_PROCESSOR='"$(PROCESSOR)"' \
    -DATTEND_FEATURES='" $(FEATURES) "' -DATTEND_LIBRARIES='"$(strip $(LIBRARIES))"'
LIBRARIES = $(if $(USE_ONEDNN),oneDNN $(ONEDNN_VERSION)) $(if $(USE_LIBARCHIVE),libarchive $(LIBARCHIVE_VERSION)) \
            $(if $(USE_CUDA),CUDA $(CUDA_VERSION) for $(GPUS))
GPUS = $(or $(addprefix sm_,$(CODES)),any GPU)

# ---------------------------------------------------------------------------------------------------------------
# The programs
# ---------------------------------------------------------------------------------------------------------------

PROGRAMS := $(patsubst %/main.c,%,$(wildcard charlm/main.c classifier/main.c encdec/main.c))
# $(call objects_of,PROGRAM): its object files; a test of a program links them too, without main.o
objects_of = $(patsubst %.c,$(OUT)/%.o,$(wildcard $1/*.c)) $(if $(filter charlm,$1),$(PROSE))

programs: $(addprefix $(BIN)/,$(PROGRAMS))
	@:

define program_rule
$(BIN)/$1: $(call objects_of,$1) $(LIBRARY) $(BIN)/.link
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $(call objects_of,$1) $(LIBRARY) $$(LDLIBS)
endef

# charlm carries a text of its own, so that it trains before anything was downloaded: data/prose.txt as a C array.
PROSE := $(if $(wildcard data/prose.txt),$(OUT)/prose.o)

$(OUT)/prose.c: data/prose.txt $(OUT)/embed
	$(Q)$(OUT)/embed charlm/prose.h prose < data/prose.txt > $@

$(OUT)/prose.o: $(OUT)/prose.c $(OUT)/flags
	$(Q)$(COMPILE)

# Every program carries the scripts that draw, so that it can wherever it lies.
SCRIPTS := $(sort $(wildcard plots/*.gp plots/*.html))

$(OUT)/plots.c: $(SCRIPTS) $(OUT)/embed $(OUT)/scripts
	$(Q)$(OUT)/embed core/look/scripts.h look_scripts $(SCRIPTS) > $@

$(OUT)/plots.o: $(OUT)/plots.c $(OUT)/flags
	$(Q)$(COMPILE)

$(OUT)/embed: tools/embed.c $(OUT)/flags
	$(Q)$(CC) -std=c11 -O1 $(WARNINGS) -o $@ $<

$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$p)))

# ---------------------------------------------------------------------------------------------------------------
# The tests
# ---------------------------------------------------------------------------------------------------------------

# tests/ROOM/test_X.c is a program; tests/*.c and other .c files of its room are linked to it, and if the room is
# named after a program, so is that program without its main. Tests run in this folder; ATTEND_BIN says where the
# programs are.
TESTS := $(wildcard tests/*/test_*.c)
PROGRAM_OF_nn = charlm# whose network is tried there
READERS = charlm/options encdec/source encdec/lines encdec/builtin# of programs, that are tried in tests/fuzz
test_program = $(patsubst tests/%,$(BIN)/tests/%,$(subst /test_,/,$(1:.c=)))
test_objects = $(patsubst %.c,$(OUT)/%.o,$1 $(wildcard tests/*.c) \
                 $(filter-out $(wildcard $(dir $1)test_*.c),$(wildcard $(dir $1)*.c))) \
               $(if $(USE_EMULATOR),$(patsubst %.cu,$(OUT)/%_emulated.o,$(wildcard $(dir $1)*.cu))) \
               $(if $(USE_CHECKED),$(patsubst %.cu,$(OUT)/%_checked.o,$(wildcard $(dir $1)*.cu))) \
               $(filter-out %/main.o,$(foreach p,$(filter charlm classifier encdec,$(call room_of,$1) $(PROGRAM_OF_$(call room_of,$1))), \
                 $(call objects_of,$p))) $(if $(findstring /fuzz/,$1),$(READERS:%=$(OUT)/%.o)) \
               $(if $(filter course,$(call room_of,$1)),$(patsubst %.c,$(OUT)/%.o,$(wildcard course/frame/*.c)))
room_of      = $(notdir $(patsubst %/,%,$(dir $1)))

# Kernels of tests: as kernels/cuda.
$(OUT)/tests/%_emulated.o: tests/%.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU)

$(OUT)/tests/%_checked.o: tests/%.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU) $(CHECKS)

define test_rule
$(call test_program,$1): $(call test_objects,$1) $(LIBRARY) $(BIN)/.link
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $(call test_objects,$1) $(LIBRARY) $$(CHECK_LIBS) $$(LDLIBS)
endef

$(foreach t,$(TESTS),$(eval $(call test_rule,$t)))

# tools/test.sh finds the chosen tests (or the nearest names to a wrong one), runs them and adds up.
RUN_TESTS = ATTEND_BIN='$(CURDIR)/$(BIN)' BIN='$(BIN)' tools/test.sh
test: ## run all tests, or some: only=ROOM or only=ROOM/FILE, name=TEST
ifeq ($(CHECK),yes)
	@chosen=$$($(RUN_TESTS) choose '$(only)' '$(name)') && \
	 $(MAKE) --no-print-directory programs these "THESE=$$chosen" && \
	 $(RUN_TESTS) run '$(name)' $$chosen
else ifeq ($(origin CHECK),command line)
	@echo "make test needs Check, and CHECK=$(CHECK) said not to use it" >&2; exit 1
else
	@YES='$(YES)' tools/deps.sh offer Check 'make $@' $(OFFERED) && $(MAKE) --no-print-directory $@ OFFERED=1
endif
these: $(THESE)
	@:

# tests/fuzz/KIND.c is a harness. A fuzzer wants each as a program of its own, all with the same entry (tools/fuzz.sh);
# the test that replays inputs is linked with all of them, hence their names there.
FUZZERS := $(filter-out fuzz test_%,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
FUZZ_CC  = $(if $(findstring clang,$(CC)),$(CC),clang)
ifneq ($(MODE),fuzz)
$(OUT)/tests/fuzz/%.o: EXTRA = -DLLVMFuzzerTestOneInput=fuzz_$(notdir $*)
endif

define fuzzer_rule
$(BIN)/fuzz/$1: $(patsubst %,$(OUT)/%.o,tests/fuzz/$1 tests/fuzz/fuzz $(READERS)) $(LIBRARY) $(BIN)/.link
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -fsanitize=fuzzer -o $$@ $$(filter %.o,$$^) $(LIBRARY) $$(LDLIBS)
endef

$(foreach f,$(FUZZERS),$(eval $(call fuzzer_rule,$f)))

fuzz: ## look for inputs that break a reader; only=json: that one; seconds=N: so long for each
	@chosen=$$(tools/fuzz.sh choose '$(FUZZ_CC)' '$(only)' $(FUZZERS)) && \
	 $(MAKE) --no-print-directory fuzz-these MODE=fuzz CC='$(FUZZ_CC)' seconds='$(or $(seconds),60)' "THESE=$$chosen"
fuzz-these: $(addprefix $(BIN)/fuzz/,$(THESE))
	@tools/fuzz.sh run '$(seconds)' '$(BUILD)/corpus' $^

tests: programs $(foreach t,$(TESTS),$(call test_program,$t)) ## build all tests without running them

sanitize: ## run the tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@UBSAN_OPTIONS=print_stacktrace=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),10) \
	 $(MAKE) --no-print-directory test MODE=sanitize

tsan: ## run the tests with ThreadSanitizer
	@CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),20) \
	 TSAN_OPTIONS='suppressions=$(CURDIR)/tests/tsan.suppressions' \
	 WRAP="$$(command -v setarch >/dev/null && echo setarch -R)" \
	 $(MAKE) --no-print-directory test MODE=tsan

# valgrind 3.19 dies on AVX-512, hence ARCH. A test that must not run under it is named here with the reason why.
VALGRIND      = valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible
VALGRIND_ARCH = $(if $(filter x86_64,$(shell uname -m)),x86-64-v3,native)
VALGRIND_SKIP = cli/progress # its signals need a process for each test, and here all share one
VALGRIND_SKIP += huge/elements huge/files # 2^31 numbers take hours there

valgrind: ## run the tests under valgrind
	@CK_FORK=no FAST=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),50) WRAP='$(VALGRIND)' SKIP='$(VALGRIND_SKIP)' \
	 $(MAKE) --no-print-directory test MODE=valgrind ARCH=$(VALGRIND_ARCH)

coverage: ## run the tests, quickly, and say which lines and branches they do not reach; WRITE=1: tests/coverage.txt
	@find $(BUILD)/coverage-* -name '*.gcda' -delete 2>/dev/null || true
	@FAST=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),20) $(MAKE) --no-print-directory test MODE=coverage; \
	 passed=$$?; $(MAKE) --no-print-directory coverage-report MODE=coverage && exit $$passed
coverage-report:
	@WRITE='$(WRITE)' tools/coverage.sh $(OUT)

# ATTEND_ARCH is left out, quotes and all: nothing that is flipped reads it.
flips: ## make small mistakes in the operations and list those that no test notices: count=N only=FILE... seed=N WRITE=1
	@$(MAKE) --no-print-directory run-flips MODE=release OPTIMISE=-O1 CUDA=no BUILD='$(BUILD)/flips'
run-flips: $(foreach t,$(wildcard $(addprefix tests/,$(addsuffix /test_*.c,kernels nn tensor))),$(call test_program,$t))
	@CC='$(CC)' FLAGS='$(filter-out -DATTEND_ARCH=%,$(CPPFLAGS)) $(CFLAGS)' EXTRA='-ffp-contract=fast' \
	 LINK='$(LDFLAGS)' LIBS='$(CHECK_LIBS) $(LDLIBS)' OUT='$(CURDIR)/$(OUT)' SEED='$(or $(seed),1)' WRITE='$(WRITE)' \
	 tools/flips.sh '$(or $(count),700)' '$(only)'

# Longer than a test may take: networks by chance, on every twin.
HUNT := $(patsubst %.c,$(OUT)/%.o,tools/hunt.c tests/chance.c $(filter-out $(TESTS),$(wildcard tests/hunt/*.c)))

hunt: $(BIN)/hunt ## judge random networks on every twin: first=SEED, seeds=N or seconds=N
	@$(BIN)/hunt $(or $(first),0) $(or $(seeds),$(if $(seconds),0,1000)) $(or $(seconds),0)
$(BIN)/hunt: $(HUNT) $(LIBRARY) $(BIN)/.link
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(HUNT) $(LIBRARY) $(LDLIBS)

# On a machine with a GPU: tests/gpu.sh asks for it, where programs lie, and whether there is Check.
where:
	@echo '$(BIN)'
has-check:
	@echo '$(CHECK)'
$(BIN)/gpu: $(OUT)/tools/gpu.o $(LIBRARY) $(BIN)/.link
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OUT)/tools/gpu.o $(LIBRARY) $(LDLIBS)

# ---------------------------------------------------------------------------------------------------------------
# The course
# ---------------------------------------------------------------------------------------------------------------

# course/NN-NAME/lesson.c is the program of lesson-NN; its check.c with an exercise is that of grade-NN. course/frame is
# linked to both. tools/course.sh does what concerns all lessons. Kernels for a GPU, where a lesson has them: lesson.cu;
# and exercise.cu, or X.cu beside the X.c that FILE names, which the lesson's graded.cu includes as GRADED.
LESSONS := $(sort $(patsubst %/lesson.c,%,$(wildcard course/[0-9][0-9]-*/lesson.c)))
FRAME   := $(patsubst %.c,$(OUT)/%.o,$(wildcard course/frame/*.c))
COURSE  := $(BIN)/course
number_of = $(firstword $(subst -, ,$(notdir $1)))
graded    = $(or $(FILE),$1/exercise.c)
own_cu    = $(if $(wildcard $1/graded.cu),$(wildcard $(patsubst %.c,%.cu,$(call graded,$1))))
# with an X.cu and without it they are different programs, so that one that comes or goes later is noticed
graded_as = $(OUT)/course/graded/$(call number_of,$1)-$(subst /,_,$(call graded,$1))$(if $(call own_cu,$1),-cu)

EMULATORS := $(if $(USE_EMULATOR),_emulated) $(if $(USE_CHECKED),_checked)
graded_cu  = $(if $(wildcard $1/graded.cu),$(or $(call own_cu,$1),$1/exercise.cu))
graded_kernels = $(if $(call graded_cu,$1),$(EMULATORS:%=$(call graded_as,$1)%.o))

# What a lesson's program is made of: all of its folder but the exercise and its grader; where it includes a header of a
# program, that program without its main; and of a folder that lessons share, the same. course/11-language:charlm says so.
LESSON_USES := $(sort $(shell grep -Eo 'include "(charlm|classifier|encdec|course/translator)/' course/*/*.[ch] | \
                        sed 's|/[^/]*:include "|:|; s|/$$||'))
uses_of     = $(patsubst $1:%,%,$(filter $1:%,$(LESSON_USES)))
all_uses_of = $(sort $(call uses_of,$1) $(foreach u,$(filter course/%,$(call uses_of,$1)),$(call uses_of,$u)))
used_objects   = $(if $(filter course/%,$1),$(patsubst %.c,$(OUT)/%.o,$(wildcard $1/*.c)), \
                   $(filter-out %/main.o,$(call objects_of,$1)))
lesson_objects = $(patsubst %.c,$(OUT)/%.o,$(filter-out %/exercise.c %/check.c,$(wildcard $1/*.c))) $(FRAME) \
                 $(foreach p,$(call all_uses_of,$1),$(call used_objects,$p)) \
                 $(foreach d,$(EMULATORS),$(patsubst %.cu,$(OUT)/%$d.o,$(wildcard $1/lesson.cu)))

# as those of tests
$(OUT)/course/%_emulated.o: course/%.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU)

$(OUT)/course/%_checked.o: course/%.cu $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE_CU) $(CHECKS)

define lesson_rules
lesson-$1: $(COURSE)/lesson-$1
	@$(COURSE)/lesson-$1
$(COURSE)/lesson-$1: $(call lesson_objects,$2) $(LIBRARY) $(BIN)/.link
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $(call lesson_objects,$2) $(LIBRARY) $$(LDLIBS)

grade-$1: $(call graded_as,$2)
	@$(call graded_as,$2)
grader-$1: $(call graded_as,$2)
	@echo $(call graded_as,$2)
$(call graded_as,$2).o: $(call graded,$2) $(OUT)/flags
	@mkdir -p $$(@D)
	@$$(COMPILE) -Wno-missing-prototypes
$(call graded_as,$2)_emulated.o $(call graded_as,$2)_checked.o: $2/graded.cu $(call graded_cu,$2) $(OUT)/flags
	@mkdir -p $$(@D)
	@$$(COMPILE_CU) -Wno-unused-function -DGRADED='"$(call graded_cu,$2)"' $$(if $$(findstring _checked.o,$$@),$$(CHECKS))
$(call graded_as,$2): $(call graded_as,$2).o $(call graded_kernels,$2) $(OUT)/$2/check.o $(FRAME) $(LIBRARY) $(BIN)/.link
	@$$(CC) $$(LDFLAGS) -o $$@ $$< $(call graded_kernels,$2) $(OUT)/$2/check.o $(FRAME) $(LIBRARY) $$(LDLIBS)
.PHONY: lesson-$1 grade-$1 grader-$1
endef

$(foreach l,$(LESSONS),$(eval $(call lesson_rules,$(call number_of,$l),$l)))

RUN_COURSE = MAKE='$(MAKE)' ATTEND_BIN='$(CURDIR)/$(BIN)' OUT='$(OUT)' CC='$(CC)' CHECKED='$(USE_CHECKED)' \
             tools/course.sh

lesson-NN: ## a lesson of the course runs: lesson-01 ...; course/README.md says how to use it
	@echo 'make lesson-NN: a number takes the place of NN; there are $(notdir $(LESSONS))'
grade-NN: ## its exercise is graded: grade-01 ..., or FILE=...
	@echo 'make grade-NN: a number takes the place of NN; there are $(notdir $(LESSONS))'
lesson-% grade-%:
	@echo "make $@: there is no lesson $*; there are $(notdir $(LESSONS))" >&2; exit 2
course: $(COURSE)/lessons ## which operations are yours, tested, and how fast; makes course/mine/libmine.so of them
	+@$(RUN_COURSE) mine '$(CPPFLAGS) $(CFLAGS)' $(LESSONS)
course-test: programs $(COURSE)/lessons ## try every lesson, grader, solution and wrong answer: only=NN, or several
	+@$(RUN_COURSE) test '$(CPPFLAGS) $(CFLAGS)' '$(only)' $(LESSONS)
$(COURSE)/lessons: $(foreach l,$(LESSONS),$(COURSE)/lesson-$(call number_of,$l))
	@touch $@

# ---------------------------------------------------------------------------------------------------------------
# What was found, and getting the rest
# ---------------------------------------------------------------------------------------------------------------

row = printf '  %-11s %s\n' $1 '$(if $(filter yes,$($2)),$(or $($2_VERSION),yes),no         $3)'

table: programs
	@printf '%s\n' '' '$(BIN)/: $(or $(PROGRAMS),no program yet), for $(ARCH) ($(PROCESSOR))'
	@printf '  %-11s %s\n' compiler '$(subst ','\'',$(COMPILER))'
	@$(call row,oneDNN,ONEDNN,would add: fast matrix products on CPU (f32 and bf16))
	@$(call row,libarchive,LIBARCHIVE,would add: reading .zip .gz .xz .tar.gz)
	@$(call row,CUDA,CUDA,would add: --device cuda)$(if $(USE_CUDA), | sed 's/$$/ for $(GPUS)/')
	@$(if $(USE_CUDA),$(call row,cuBLAS,CUBLAS,would add: fast matrix products on GPU))
	@$(call row,C++17,CXX17,would add: --device emulated)
	@$(call row,gnuplot,GNUPLOT,would add: pictures)
	@$(call row,Check,CHECK,would add: make test)
	@$(if $(filter-out yes,$(ONEDNN) $(LIBARCHIVE) $(GNUPLOT) $(CHECK)),echo '  make deps installs what is missing')

probe: ## look again for compilers and libraries
	@rm -f $(BUILD)/*/probe.mk
	@$(MAKE) --no-print-directory table

deps: ## install what makes attend better; shows its plan first (YES=1: without asking)
	@YES='$(YES)' tools/deps.sh
	@rm -f $(BUILD)/*/probe.mk

demo: programs ## train a tiny model, let it write, draw what happened
	@$(if $(filter yes,$(GNUPLOT)),,YES='$(YES)' tools/deps.sh offer gnuplot 'make demo with pictures' || true)
	@ATTEND_BIN='$(CURDIR)/$(BIN)' tools/demo.sh

# ---------------------------------------------------------------------------------------------------------------
# Style, installing, cleaning
# ---------------------------------------------------------------------------------------------------------------

lint: ## check format, common mistakes and the rules of the house
	@tools/lint.sh

format: ## lay out every C file as .clang-format says
	@tools/lint.sh format

install: programs ## install the programs as PREFIX/bin/attend-NAME
	@mkdir -p '$(DESTDIR)$(PREFIX)/bin'
	@for p in $(PROGRAMS); do \
	    to='$(DESTDIR)$(PREFIX)/bin'/attend-$$p; install -m 755 $(BIN)/$$p "$$to" && echo "$$to" || exit 1; done

ifneq ($(wildcard kernels/cpu/bench.c),)
bench-kernels: $(BIN)/bench-kernels ## measure this machine's limits and the operations of kernels/cpu; only=WORD: some
	@$(BIN)/bench-kernels $(only)
$(BIN)/bench-kernels: $(OUT)/kernels/cpu/bench.o $(LIBRARY) $(BIN)/.link
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OUT)/kernels/cpu/bench.o $(LIBRARY) $(LDLIBS)
endif

# Counted on a build that is the same everywhere: x86-64-v3, which valgrind understands, and our own products.
instructions: ## compare instruction counts of kernels/cpu with tests/instructions.tsv; WRITE=1: write them
	@if WRITE='$(WRITE)' tools/instructions.sh ready '$(COMPILER)'; then \
	    $(MAKE) --no-print-directory count-instructions MODE=release ARCH=x86-64-v3 ONEDNN=no LIBARCHIVE=no CUDA=no \
	        BUILD='$(BUILD)/instructions'; fi
count-instructions: $(BIN)/instructions
	@tools/instructions.sh $(if $(WRITE),write,check) '$(COMPILER)' $(BIN)/instructions
$(BIN)/instructions: $(OUT)/tools/instructions.o $(LIBRARY) $(BIN)/.link
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OUT)/tools/instructions.o $(LIBRARY) $(LDLIBS)

clean: ## remove everything that make made (not .deps/, not runs/)
	rm -rf $(BUILD) bin

help: ## this list
	@awk -F ': .*## |: ## ' '/^[a-zN-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo; awk '/^[A-Za-z]+ *=.*# / { i = index($$0, "#"); printf "  %-14s %s\n", $$1, substr($$0, i + 2) }' Makefile

.PHONY: all programs table where has-check test these tests hunt fuzz fuzz-these sanitize tsan valgrind coverage coverage-report flips \
        run-flips probe deps demo lint format install bench-kernels instructions count-instructions clean help lesson-NN grade-NN course \
        course-test

# ---------------------------------------------------------------------------------------------------------------
# What each object was made from: flags, the list of files, and the headers that the compiler saw
# ---------------------------------------------------------------------------------------------------------------

ifneq ($(BUILDING),)
$(call remember,$(OUT)/flags,$(COMPILER) $(PROCESSOR) $(CPPFLAGS) $(CFLAGS) $(if $(USE_EMULATOR),$(CXX) $(CXXFLAGS)))
$(call remember,$(OUT)/scripts,$(SCRIPTS))
$(call remember,$(OUT)/objects,$(OBJECTS) $(foreach p,$(PROGRAMS),$(call objects_of,$p)))
$(call remember,$(BIN)/.link,$(OUT) $(LDFLAGS) $(LDLIBS) $(CHECK_LIBS) \
  $(foreach p,$(PROGRAMS),$(call objects_of,$p)))
$(if $(USE_CUDA),$(call remember,$(NVCC_OUT)/flags,$(NVCC) $(CUDA_VERSION) $(NVCCFLAGS) $(call code_flags,F32) $(call code_flags,BF16)))
-include $(shell find $(OUT) $(NVCC_OUT) -name '*.d' 2>/dev/null)
endif
