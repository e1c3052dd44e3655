# How attend is built. `make help` lists what can be asked for; GNU make 4.2 or newer, gcc or clang.
#
#     base/ kernels/ core/   ->  build/NAME/libattend.a      one library: everything below the programs
#     charlm/ ...            ->  bin/charlm ...              a program: its own folder + the library
#     tests/MODULE/test_X.c  ->  build/NAME/bin/tests/MODULE/X   a test program: itself + tests/*.c + the library
#
# NAME is mode-compiler-processor (release-gcc-native), so builds of several kinds exist side by side. Nothing lists
# source files: every file in a module's folder is part of it. The files included below have rules of their own.

# ---------------------------------------------------------------------------------------------------------------
# What can be set on the command line (make keeps spaces before a comment, hence none there)
# ---------------------------------------------------------------------------------------------------------------

ARCH    = any# processor to build for: any runs everywhere and is fast; native: this one only; or x86-64-v3 ...
GPU     = native# GPUs to build for: those here (none: any, but slow to start); all; or a list: "80 90"
MODE    = release# release, sanitize, tsan, valgrind, coverage or fuzz; the targets of those names set it
BUILD   = build# everything that is built goes here; programs of the default build go to bin
BIN     = $(if $(filter release-build,$(MODE)-$(BUILD)),bin,$(OUT_BIN))
PREFIX  = /usr/local# where `make install` puts programs, as attend-charlm ...
CFLAGS  = $(OPTIMISE_$(MODE))# optimisation, and flags of your own; what the programs need is added after them
CPPFLAGS =# the same for the preprocessor: -I/opt/include
LDFLAGS =# and for linking: -L/opt/lib
HOST_CC = $(CC)# compiles programs that run during the build, if CC is a cross compiler
WERROR  =# 1: a warning is an error
YES     =# 1: `make test` installs Check, if it is missing, without asking
V       =# 1: show every command in full
for     =# make deps for=run, for=test or for=develop
only    =# make test only=MODULE or only=MODULE/FILE (several: only="base kernels/attention")
name    =# make test name=TEST
first   =# make hunt first=SEED: where it begins (0); make disturb, too
seeds   =# make hunt seeds=N: how many networks (1000, if no time is given); make disturb: how many runs (30)
seconds =# make hunt seconds=N, make fuzz seconds=N: how long (fuzz: with each harness; 60)
FILE    =# make grade-NN FILE=...: a file to grade instead of the lesson's exercise.c
# ONEDNN=no LIBARCHIVE=no MPI=no CHECK=no CXX17=no CUDA=no build as if it were not there.

ifeq ($(origin CC),default)
CC := $(firstword $(foreach c,gcc clang cc,$(if $(shell command -v $c),$c)) cc)
endif

# The C++ compiler that belongs to it, for kernels/cuda.
ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach c,$(if $(filter cc,$(CC)),,$(subst clang,clang++,$(subst gcc,g++,$(firstword $(CC))))) c++,\
         $(if $(shell command -v $c),$c)) c++)
endif

SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: FORCE all programs table probe deps demo lint format install clean help
all: programs table ## build bin/charlm, bin/classifier, bin/encdec, and report what was found

space := $() $()
hash  := \#
comma := ,
quote  = '$(subst ','\'',$1)'
OUT = $(BUILD)/$(subst $(space),_,$(MODE)-$(notdir $(CC))-$(ARCH))
OUT_BIN = $(OUT)/bin

# ---------------------------------------------------------------------------------------------------------------
# What is here: tools/probe.sh compiles small programs once and writes the answers as variables
# ---------------------------------------------------------------------------------------------------------------

# Packages that `make deps` unpacked into the tree, where there is no root: libraries, and tools in .deps/bin. A program
# looks for them from its own folder, so that the tree can be renamed; and where they are now, for one that is copied.
DEPS_LIB := $(firstword $(wildcard .deps/usr/lib/*-linux-gnu*))
ifneq ($(DEPS_LIB),)
DEPS_CPPFLAGS = -isystem .deps/usr/include -isystem .deps/usr/include/$(notdir $(DEPS_LIB))
DEPS_LDFLAGS  = -L$(DEPS_LIB) -Wl,--disable-new-dtags '-Wl,-rpath,$(CURDIR)/$(DEPS_LIB)'
to_top        = $(subst $(space),/,$(patsubst %,..,$(subst /, ,$(@D))))
DEPS_ORIGIN   = $(if $(filter /%,$@),,'-Wl,-rpath,$$ORIGIN/$(to_top)/$(DEPS_LIB)')
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
include kernels/cpu/cpu.mk
PROCESSOR := $(call run,$(CC) $(MARCH) -E -x c /dev/null '-$(hash)$(hash)$(hash)' 2>&1 | \
               sed -n -E 's/.*"-target-cpu" "([^"]*)".*/\1/p; s/.*-march=([a-z0-9.+-]*).*/\1/p' | \
               grep -v native | head -n 1)
FEATURES  := $(call run,$(CC) $(CFLAGS) $(MARCH) -dM -E -x c /dev/null 2>/dev/null | tr A-Z_ a-z. | \
               sed -n -E 's/^.define \.\.((avx|bmi|fma|popcnt|lzcnt|movbe|s?sse[34]|xop|apx)[0-9a-z.]*)\.\. 1$$/\1/p; \
                          s/^.define \.\.arm\.feature\.([a-z0-9.]*) 1$$/\1/p; \
                          s/^.define \.\.sizeof\.pointer\.\. 4$$/32-bit/p' | sort)
ifneq ($(filter 32-bit,$(FEATURES)),)
$(error $(CC) makes 32-bit programs, and attend needs 64 bits: sizes of tensors do not fit into fewer)
endif
$(call remember,$(OUT)/compiler,$(CC) $(COMPILER) $(CXX) $(CPPFLAGS) $(LDFLAGS))

$(OUT)/probe.mk: tools/probe.sh $(OUT)/compiler
	@CC='$(CC)' CXX='$(CXX)' CPPFLAGS="$(DEPS_CPPFLAGS) $(CPPFLAGS)" tools/probe.sh $@ $(LDFLAGS) $(DEPS_LDFLAGS)
-include $(OUT)/probe.mk
endif

# ---------------------------------------------------------------------------------------------------------------
# Flags: yours (CFLAGS, ...), then what the programs need
# ---------------------------------------------------------------------------------------------------------------

# (An enum names integer constants here, and sizes are multiplied by reals: clang 16 and later warn of that.)
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wno-missing-braces \
           $(if $(findstring clang,$(CC)),-Wno-enum-float-conversion) \
           $(if $(filter 1,$(WERROR)),-Werror)

# (-g1: lines and functions for a debugger; variables would triple each program. CFLAGS='-O1 -g' has them.)
OPTIMISE_release  = -O3 -g1
OPTIMISE_sanitize = -O1 -g1 -fno-omit-frame-pointer
OPTIMISE_tsan     = $(OPTIMISE_sanitize)
OPTIMISE_valgrind = -O1 -g1
OPTIMISE_coverage = -O1 -g1 -fno-inline
OPTIMISE_fuzz     = $(OPTIMISE_sanitize)
# (Where each access is checked, most of the time goes to kernels/cpu: with this a test of a program takes 0.4 of it.)
OPTIMISE_CPU      = $(and $(filter file,$(origin CFLAGS)),$(filter sanitize tsan valgrind,$(MODE)),-O3)
MODE_sanitize = -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_tsan     = -fsanitize=thread
MODE_coverage = --coverage -fprofile-update=atomic
MODE_fuzz     = -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
ifeq ($(OPTIMISE_$(MODE)),)
$(error MODE=$(MODE): it is release, sanitize, tsan, valgrind, coverage or fuzz)
endif

# Never -ffast-math: it makes NaN checks fail and reorders sums. Nothing here reads errno after a square root, and
# a formula is rounded as it is written (no fused multiply-add that the source does not show), by gcc and clang alike;
# kernels/cpu, which is compared within a tolerance, may fuse.
NEEDED = $(MODE_$(MODE)) $(MARCH) -fno-fast-math -fno-math-errno -ffp-contract=off -pthread
ALL_CPPFLAGS = -I. -D_POSIX_C_SOURCE=200809L -DCPU_LOWEST=$(firstword $(LEVELS)) \
               $(if $(USE_ONEDNN),-DHAVE_ONEDNN) $(if $(USE_LIBARCHIVE),-DHAVE_LIBARCHIVE) $(if $(USE_CUDA),-DHAVE_CUDA) $(if $(USE_EMULATOR),-DHAVE_EMULATOR) $(if $(USE_CHECKED),-DHAVE_CHECKED) \
               $(DEPS_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS   = $(CFLAGS) -std=c11 $(NEEDED) $(WARNINGS)
ALL_LDFLAGS  = $(CFLAGS) $(MODE_$(MODE)) -pthread $(LDFLAGS) $(DEPS_LDFLAGS)
ALL_LDLIBS   = $(if $(USE_MPI),$(MPI_LINK)) $(if $(USE_ONEDNN),-ldnnl) $(if $(USE_LIBARCHIVE),-larchive) $(if $(USE_CUDA),$(CUDA_LIBS)) -lm -ldl

# A library is used when it was found and the module that wants it exists.
USE_ONEDNN     = $(and $(filter yes,$(ONEDNN)),$(wildcard kernels/cpu))
USE_MPI        = $(and $(filter yes,$(MPI)),$(wildcard base/ranks.c))
USE_LIBARCHIVE = $(and $(filter yes,$(LIBARCHIVE)),$(wildcard core/text))

# One line per thing made; V=1 shows commands. $(call compile,MORE FLAGS) is the recipe of an object; $(link) that of a
# program of all objects among its prerequisites, with the library.
SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
Q = $(if $(V),,@$(if $(SILENT),,echo '  $(@:$(OUT)/%=%)';))
COMPILE = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<
define compile
@mkdir -p $(@D)
$(Q)$(COMPILE) $1
endef
define link
@mkdir -p $(@D)
$(Q)$(CC) $(ALL_LDFLAGS) $(DEPS_ORIGIN) -o $@ $(filter %.o,$^) $(RUNS_HERE) $(LIBRARY) $(LINK_MORE) $(ALL_LDLIBS)
endef

# ---------------------------------------------------------------------------------------------------------------
# The library
# ---------------------------------------------------------------------------------------------------------------

include kernels/cuda/cuda.mk

# A backend that exists once per number type (kernels/plain/plain.c, kernels/cpu/cpu.c) includes its operations and is
# compiled once per type. The .c files it includes are not compiled alone.
included = $(addprefix $(dir $1),$(if $(wildcard $1),$(shell sed -n 's/^$(hash) *include "\([^"/]*\.c\)".*/\1/p' $1)))

PLAIN := $(if $(wildcard kernels/plain/plain.c),$(addprefix kernels/plain/plain_,F32 F64 BF16))

SOURCES := $(sort $(wildcard base/*.c kernels/*.c kernels/cost/*.c kernels/profile/*.c kernels/mine/*.c core/*/*.c \
                             $(if $(USE_EMULATOR),kernels/cuda/emulator/*.c)) \
             $(CPU_ONCE))
OBJECTS := $(patsubst %,$(OUT)/%.o,$(SOURCES:.c=) $(PLAIN) $(CPU) $(CU) plots) $(CUDA_OBJECTS)
LIBRARY := $(OUT)/libattend.a

# The archive is made anew each time: a file that was deleted or renamed must leave it.
$(LIBRARY): $(OBJECTS) $(OUT)/objects
	@rm -f $@
	$(Q)ar qcs $@ $(OBJECTS)

$(OUT)/%.o: %.c $(OUT)/flags
	$(call compile)
$(OUT)/kernels/plain/plain_%.o: kernels/plain/plain.c $(OUT)/flags
	$(call compile,-DPLAIN_$*)

# Its header is that of whichever MPI is here; nothing else includes it.
$(OUT)/base/ranks.o: EXTRA = $(if $(USE_MPI),-DHAVE_MPI $(MPI_COMPILE))

# The version is compiled into one small file, so that a commit does not rebuild the world. What ends a program on a
# processor that cannot run it must itself run on any: it is built without -march, and $(link) names it.
ifneq ($(BUILDING),)
VERSION := $(or $(if $(wildcard .git),$(shell git describe --always --dirty 2>/dev/null)),0.1)
$(call remember,$(OUT)/version,$(VERSION) $(LIBRARIES))
$(call remember,$(OUT)/processor,$(PROCESSOR) $(FEATURES))
endif
RUNS_HERE := $(OUT)/core/cli/processor.o
$(OUT)/core/cli/version.o: $(OUT)/version
$(OUT)/core/cli/version.o: EXTRA = -DATTEND_VERSION='"$(VERSION)"' -DATTEND_LIBRARIES='"$(strip $(LIBRARIES))"'
$(RUNS_HERE): $(OUT)/processor
$(RUNS_HERE): ALL_CFLAGS := $(filter-out -m%,$(ALL_CFLAGS))
$(RUNS_HERE): EXTRA = -DATTEND_ARCH='"$(ARCH)"' -DATTEND_PROCESSOR='"$(PROCESSOR)"' -DATTEND_FEATURES='" $(FEATURES) "'
LIBRARIES = $(if $(USE_ONEDNN),oneDNN $(ONEDNN_VERSION)) $(if $(USE_LIBARCHIVE),libarchive $(LIBARCHIVE_VERSION)) \
            $(if $(USE_CUDA),CUDA $(CUDA_VERSION) for $(GPUS)) $(if $(USE_MPI),$(MPI_VERSION))

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
	$$(link)
endef

# charlm carries a text of its own, so that it trains before anything was downloaded: data/prose.txt as a C array. Every
# program carries the scripts that draw, so that it can draw wherever it is.
PROSE   := $(if $(wildcard data/prose.txt),$(OUT)/prose.o)
SCRIPTS_IN = core/plot/scripts.h plot_scripts
SCRIPTS := $(sort $(wildcard plots/*.gp plots/*.html))

$(OUT)/prose.c: data/prose.txt $(OUT)/embed
	$(Q)$(OUT)/embed charlm/prose.h prose < data/prose.txt > $@
$(OUT)/plots.c: $(SCRIPTS) $(OUT)/embed $(OUT)/scripts
	$(Q)$(OUT)/embed $(SCRIPTS_IN) $(SCRIPTS) > $@
$(OUT)/prose.o $(OUT)/plots.o: %.o: %.c $(OUT)/flags
	$(call compile)
$(OUT)/embed: tools/embed.c $(OUT)/flags
	$(Q)$(HOST_CC) -std=c11 -O1 $(WARNINGS) -o $@ $<

$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$p)))

include tests/tests.mk tests/fuzz/fuzz.mk tools/course.mk

# ---------------------------------------------------------------------------------------------------------------
# What was found, and getting the rest
# ---------------------------------------------------------------------------------------------------------------

row = printf '  %-11s %s\n' $1 '$(if $(filter yes,$($2)),$(or $($2_VERSION),yes),no         $3)'

table: programs
	@printf '%s\n' '' '$(BIN)/: $(or $(PROGRAMS),no program yet), for $(if $(filter any,$(ARCH)),any $(PROCESSOR),$(ARCH) ($(PROCESSOR)))'
	@printf '  %-11s %s\n' compiler $(call quote,$(COMPILER))
	@$(if $(PROGRAMS),printf '  %-11s %s$(comma) of %s\n' processor "$$($(BIN)/$(firstword $(PROGRAMS)) --version 2>/dev/null | sed 's/.*$(comma) //')" '$(LEVELS)')
	@$(if $(PROGRAMS),$(BIN)/$(firstword $(PROGRAMS)) bench --steps 0 2>/dev/null | sed -n 's/^tuning: /  tuning      /p' | fold -s -w 100 | sed '2$(comma)$$s/^/              /')
	@$(call row,oneDNN,ONEDNN,would add: fast matrix products on CPU (f32 and bf16))
	@$(call row,libarchive,LIBARCHIVE,would add: reading .zip .gz .xz .tar.gz)
	@$(call row,MPI,MPI,would add: several processes (mpirun))
	@$(call row,CUDA,CUDA,would add: --device cuda)$(if $(USE_CUDA), | sed 's/$$/ for $(GPUS)/')
	@$(if $(USE_CUDA),$(call row,cuBLAS,CUBLAS,would add: fast matrix products on GPU))
	@$(call row,C++17,CXX17,would add: --device emulated)
	@$(call row,gnuplot,GNUPLOT,would add: pictures)
	@$(call row,Check,CHECK,would add: make test)
	@$(if $(filter-out yes,$(ONEDNN) $(LIBARCHIVE) $(GNUPLOT) $(CHECK)),echo '  make deps for=test installs what is missing')

probe: ## look again for compilers and libraries
	@rm -f $(BUILD)/*/probe.mk
	@$(MAKE) --no-print-directory table

deps: ## install what attend can use; for=test: also what tests need; for=develop: also what a change needs
	@tools/deps.sh $(or $(for),run)
	@rm -f $(BUILD)/*/probe.mk

demo: programs ## train a tiny model, let it write, plot its loss
	@ATTEND_BIN='$(abspath $(BIN))' tools/demo.sh

lint: ## check format, common mistakes and the project's rules
	@tools/lint.sh
format: ## format every C file as .clang-format says
	@tools/lint.sh format

install: programs ## install programs as PREFIX/bin/attend-NAME; data/fetch and documents in PREFIX/share/attend
	@tools/install.sh '$(DESTDIR)$(patsubst ~/%,$(HOME)/%,$(PREFIX))' $(PROGRAMS:%=$(BIN)/%)

clean: ## remove everything that make made (not .deps/, not runs/)
	rm -rf $(BUILD) bin

help: ## this list
	@awk -F ': .*## |: ## ' '/^[a-zN-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(filter-out $(BUILD)/%,$(MAKEFILE_LIST))
	@echo; awk '/^[A-Za-z_]+ *=.*# / { i = index($$0, "#"); printf "  %-14s %s\n", $$1, substr($$0, i + 2) }' Makefile

# ---------------------------------------------------------------------------------------------------------------
# What each object was made from: flags, the list of files, and the headers that the compiler saw
# ---------------------------------------------------------------------------------------------------------------

ifneq ($(BUILDING),)
$(call remember,$(OUT)/flags,$(COMPILER) $(PROCESSOR) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(if $(USE_EMULATOR),$(CXX) $(CXXFLAGS)))
$(call remember,$(OUT)/scripts,$(SCRIPTS_IN) $(SCRIPTS))
$(call remember,$(OUT)/objects,$(OBJECTS) $(foreach p,$(PROGRAMS),$(call objects_of,$p)))
LINKED := $(OUT) $(ALL_LDFLAGS) $(ALL_LDLIBS) $(CHECK_LIBS) $(foreach p,$(PROGRAMS),$(call objects_of,$p))
$(call remember,$(OUT)/link,$(LINKED))
$(call remember,$(BIN)/.link,$(LINKED))
$(if $(USE_CUDA),$(call remember,$(NVCC_OUT)/flags,$(NVCC) $(CUDA_VERSION) $(NVCCFLAGS) $(call code_flags,F32) $(call code_flags,BF16)))
-include $(shell find $(OUT) $(NVCC_OUT) -name '*.d' 2>/dev/null)
endif
