# Fuzzing. Included by the Makefile.
#
# tests/fuzz/KIND.c is a harness. A fuzzer wants each as a program of its own, all with the same entry (tools/fuzz.sh);
# the test that replays inputs is linked with all of them, hence their names there.

FUZZERS := $(filter-out fuzz test_%,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
FUZZ_CC  = $(if $(findstring clang,$(CC)),$(CC),clang)
ifneq ($(MODE),fuzz)
$(OUT)/tests/fuzz/%.o: EXTRA = -DLLVMFuzzerTestOneInput=fuzz_$(notdir $*)
endif

$(FUZZERS:%=$(OUT_BIN)/fuzz/%): $(OUT_BIN)/fuzz/%: $(OUT)/tests/fuzz/%.o $(OUT)/tests/fuzz/fuzz.o $(READERS:%=$(OUT)/%.o) \
                                                   $(LIBRARY) $(OUT)/link
	$(link)
$(OUT_BIN)/fuzz/%: LINK_MORE = -fsanitize=fuzzer

fuzz: ## look for inputs that break a reader; only=json: that one; seconds=N: how long for each
	@chosen=$$(tools/fuzz.sh choose '$(FUZZ_CC)' '$(only)' $(FUZZERS)) && \
	 $(MAKE) --no-print-directory fuzz-these MODE=fuzz CC='$(FUZZ_CC)' seconds='$(or $(seconds),60)' "THESE=$$chosen"
fuzz-these: $(addprefix $(OUT_BIN)/fuzz/,$(THESE))
	@tools/fuzz.sh run '$(seconds)' '$(BUILD)/corpus' $^

.PHONY: fuzz fuzz-these
