# Tests, and what judges them. Included by the Makefile.
#
# tests/MODULE/test_X.c is a program; tests/*.c and other .c files of its folder are linked to it, and if the folder is
# named after a program, so is that program without its main. Tests run in the top folder; ATTEND_BIN says where the
# programs are.

TESTS := $(wildcard tests/*/test_*.c)
PROGRAM_OF_nn = charlm# whose network is tried there
MORE_OF_research = tests/plot/runs.c tests/plot/written.c# of tests elsewhere
MORE_OF_program = tests/train/tiny.c
READERS = charlm/options encdec/source encdec/source_table encdec/source_trees encdec/treebank encdec/lines encdec/builtin encdec/marian_npz encdec/marian_words# of programs, that are tried in tests/fuzz
module_of    = $(notdir $(patsubst %/,%,$(dir $1)))
test_program = $(patsubst tests/%,$(OUT_BIN)/tests/%,$(subst /test_,/,$(1:.c=)))
test_objects = $(patsubst %.c,$(OUT)/%.o,$1 $(wildcard tests/*.c) $(MORE_OF_$(call module_of,$1)) \
                 $(filter-out $(wildcard $(dir $1)test_*.c),$(wildcard $(dir $1)*.c))) \
               $(call emulated,$(wildcard $(dir $1)*.cu)) \
               $(filter-out %/main.o,$(foreach p,$(filter charlm classifier encdec,$(call module_of,$1) $(PROGRAM_OF_$(call module_of,$1))), \
                 $(call objects_of,$p))) $(if $(findstring /fuzz/,$1),$(READERS:%=$(OUT)/%.o)) \
               $(if $(filter course,$(call module_of,$1)),$(patsubst %.c,$(OUT)/%.o,$(wildcard course/frame/*.c)))

define test_rule
$(call test_program,$1): $(call test_objects,$1) $(LIBRARY) $(OUT)/link
	$$(link)
endef
# Each of these many programs holds the core: lines for a debugger would double the room they take.
$(OUT_BIN)/tests/%: LINK_MORE = $(CHECK_LIBS) $(if $(filter release,$(MODE)),-Xlinker --strip-debug)
$(foreach t,$(TESTS),$(eval $(call test_rule,$t)))

# tools/test.sh finds the chosen tests (or the nearest names to a wrong one), runs them and adds up.
RUN_TESTS = ATTEND_BIN='$(abspath $(BIN))' BIN='$(OUT_BIN)' tools/test.sh
test: ## run all tests, or some: only=MODULE or only=MODULE/FILE, name=TEST
ifeq ($(CHECK),yes)
	@chosen=$$($(RUN_TESTS) choose '$(only)' '$(name)') && \
	 $(MAKE) --no-print-directory programs these "THESE=$$chosen" && \
	 $(RUN_TESTS) run '$(name)' $$chosen
else ifeq ($(origin CHECK),command line)
	@echo "make test needs Check, and CHECK=$(CHECK) said not to use it" >&2; exit 1
else
	@YES='$(YES)' BUILD='$(BUILD)' tools/deps.sh offer 'make $@' $(OFFERED) && $(MAKE) --no-print-directory $@ OFFERED=1
endif
these: $(THESE)
	@:

levels: programs $(OUT_BIN)/hunt ## test operations, and random networks, at each level of instructions that runs here
	@for level in $(LEVELS); do case $$(ATTEND_CPU=$$level $(BIN)/charlm --version) in *" $$level instructions") \
	     echo "$$level:"; export BACKEND=cpu ATTEND_CPU=$$level; \
	     $(MAKE) --no-print-directory test only='$(or $(only),kernels nn/network nn/parity)' && \
	     $(OUT_BIN)/hunt $(or $(first),0) $(or $(seeds),200) 0 || exit 1;; \
	 esac; done

tests: programs $(foreach t,$(TESTS),$(call test_program,$t)) ## build all tests without running them
# tests/gpu.sh asks: the folders of programs and of other tools, and whether there is Check
where:
	@printf '%s\n' '$(BIN)' '$(OUT_BIN)'
has-check:
	@echo '$(CHECK)'

sanitize: ## run the tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@UBSAN_OPTIONS=print_stacktrace=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),10) \
	 $(MAKE) --no-print-directory test MODE=sanitize ARCH=native

tsan: ## run the tests with ThreadSanitizer
	@CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),20) \
	 TSAN_OPTIONS='suppressions=$(CURDIR)/tests/tsan.suppressions' \
	 WRAP="$$(command -v setarch >/dev/null && echo setarch -R)" \
	 $(MAKE) --no-print-directory test MODE=tsan ARCH=native

# valgrind 3.19 dies on AVX-512, hence ARCH. A test that must not run under it is named here with the reason why.
VALGRIND      = valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible
VALGRIND_ARCH = $(if $(filter x86_64,$(shell uname -m)),x86-64-v3,native)
VALGRIND_SKIP = cli/progress # its signals need a process for each test, and here all share one
VALGRIND_SKIP += nn/denormals # there all processors keep denormal numbers
VALGRIND_SKIP += huge/elements huge/files # 2^31 numbers take hours there

valgrind: ## run the tests under valgrind
	@CK_FORK=no FAST=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),50) WRAP='$(VALGRIND)' SKIP='$(VALGRIND_SKIP)' \
	 $(MAKE) --no-print-directory test MODE=valgrind ARCH=$(VALGRIND_ARCH)

coverage: ## run the tests, quickly, and say which lines and branches they do not reach; WRITE=1: tests/coverage.txt
	@find $(BUILD)/coverage-* -name '*.gcda' -delete 2>/dev/null || true
	@FAST=1 CK_TIMEOUT_MULTIPLIER=$(or $(CK_TIMEOUT_MULTIPLIER),20) $(MAKE) --no-print-directory test MODE=coverage ARCH=native; \
	 passed=$$?; $(MAKE) --no-print-directory coverage-report MODE=coverage ARCH=native && exit $$passed
coverage-report:
	@WRITE='$(WRITE)' tools/coverage.sh $(OUT)

flips: ## make small mistakes in the operations and list those that no test notices: count=N only=FILE... seed=N WRITE=1
	@$(MAKE) --no-print-directory run-flips MODE=release ARCH=$(if $(filter command line,$(origin ARCH)),$(ARCH),native) CFLAGS=-O1 CUDA=no BUILD='$(BUILD)/flips'
run-flips: $(foreach t,$(wildcard $(addprefix tests/,$(addsuffix /test_*.c,kernels nn tensor train search emulator))),$(call test_program,$t))
	@CC='$(CC)' FLAGS='$(ALL_CPPFLAGS) $(ALL_CFLAGS)' EXTRA='-DCPU_LEVEL=single -ffp-contract=fast' \
	 CXX='$(if $(USE_CHECKED),$(CXX))' CXX_FLAGS='$(ALL_CPPFLAGS) $(CXXFLAGS) $(CHECKS)' \
	 LINK='$(ALL_LDFLAGS)' LIBS='$(CHECK_LIBS) $(ALL_LDLIBS)' OUT='$(CURDIR)/$(OUT)' SEED='$(or $(seed),1)' WRITE='$(WRITE)' \
	 tools/flips.sh '$(or $(count),700)' '$(only)'

# Options, configurations, files and memory as nobody should give them; what programs then do wrong is printed.
hostile: all ## call programs as nobody should: first=SEED, seeds=N calls
	@tests/hostile/hostile.sh $(or $(first),0) $(or $(seeds),200)

# Longer than a test may take: networks by chance, on every backend.
hunt: $(OUT_BIN)/hunt ## judge random networks on every backend: first=SEED, seeds=N or seconds=N
	@$(OUT_BIN)/hunt $(or $(first),0) $(or $(seeds),$(if $(seconds),0,1000)) $(or $(seconds),0)
HUNT := tools/hunt.c tests/chance.c $(filter-out $(TESTS),$(wildcard tests/hunt/*.c))
$(OUT_BIN)/hunt: $(HUNT:%.c=$(OUT)/%.o) $(LIBRARY) $(OUT)/link
	$(link)

# Longer than a test may take: processes that are killed or stopped by chance.
disturb: programs $(OUT_BIN)/disturb ## kill and stop processes of runs at random moments: first=SEED, seeds=N
	@ATTEND_BIN='$(abspath $(BIN))' $(OUT_BIN)/disturb $(or $(first),0) $(or $(seeds),30)
DISTURB := tools/disturb.c tests/ranks/disturbed.c $(wildcard tests/*.c)
$(OUT_BIN)/disturb: LINK_MORE = $(CHECK_LIBS)
$(OUT_BIN)/disturb: $(DISTURB:%.c=$(OUT)/%.o) $(LIBRARY) $(OUT)/link
	$(link)

null-comparison: programs ## train 2,000 tiny runs of one recipe and compare 200 pairs of groups of 5: pairs=N seeds=N
	@BIN='$(BIN)' tools/null_comparison.sh $(or $(pairs),200) $(or $(seeds),5)

build-test: ## test make itself: only=CASE
	@MAKE='$(MAKE) BUILD=$(BUILD) WERROR=$(WERROR)' CC='$(CC)' tests/build.sh $(only)

# How fast a GPU is: tests/gpu.sh runs it
$(OUT_BIN)/gpu: $(OUT)/tools/gpu.o $(LIBRARY) $(OUT)/link
	$(link)

bench-kernels: $(OUT_BIN)/bench-kernels ## measure this machine's limits and the operations of kernels/cpu; only=WORD: some
	@$(OUT_BIN)/bench-kernels $(only)
$(OUT_BIN)/bench-kernels: $(OUT)/tools/bench_kernels.o $(LIBRARY) $(OUT)/link
	$(link)

instructions: ## compare instruction counts of kernels/cpu with tests/instructions.tsv; WRITE=1: write them
	@if WRITE='$(WRITE)' tools/instructions.sh ready '$(COMPILER)'; then $(MAKE) --no-print-directory count-instructions; fi
count-instructions: $(OUT_BIN)/instructions
	@MAKE='$(MAKE)' BUILD='$(BUILD)' tools/instructions.sh $(if $(WRITE),write,check) '$(COMPILER)' $(OUT_BIN)/instructions
$(OUT_BIN)/instructions: $(OUT)/tools/instructions.o $(LIBRARY) $(OUT)/link
	$(link)

.PHONY: test these tests levels where has-check sanitize tsan valgrind coverage coverage-report flips run-flips hostile hunt disturb null-comparison build-test bench-kernels instructions count-instructions
