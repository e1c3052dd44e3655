# The course. Included by the Makefile.
#
# course/NN-NAME/lesson.c is the program of lesson-NN; its check.c with an exercise is that of grade-NN. course/frame is
# linked to both. tools/course.sh does what concerns all lessons. Kernels for a GPU, where a lesson has them: lesson.cu;
# and exercise.cu, or X.cu beside the X.c that FILE names, which the lesson's graded.cu includes as GRADED.

LESSONS := $(sort $(patsubst %/lesson.c,%,$(wildcard course/[0-9][0-9]-*/lesson.c)))
FRAME   := $(patsubst %.c,$(OUT)/%.o,$(wildcard course/frame/*.c))
COURSE  := $(OUT_BIN)/course
number_of = $(firstword $(subst -, ,$(notdir $1)))

# What a lesson's program is made of: all of its folder but the exercise and its grader; where it includes a header of a
# program, that program without its main; and of a folder that lessons share, the same. course/11-language:charlm says so.
LESSON_USES := $(sort $(shell grep -Eo 'include "(charlm|classifier|encdec|course/translator)/' course/*/*.[ch] | \
                        sed 's|/[^/]*:include "|:|; s|/$$||'))
uses_of     = $(patsubst $1:%,%,$(filter $1:%,$(LESSON_USES)))
all_uses_of = $(sort $(call uses_of,$1) $(foreach u,$(filter course/%,$(call uses_of,$1)),$(call uses_of,$u)))
used_objects   = $(if $(filter course/%,$1),$(patsubst %.c,$(OUT)/%.o,$(wildcard $1/*.c)), \
                   $(filter-out %/main.o,$(call objects_of,$1)))
lesson_objects = $(patsubst %.c,$(OUT)/%.o,$(filter-out %/exercise.c %/check.c,$(wildcard $1/*.c))) $(FRAME) \
                 $(foreach p,$(call all_uses_of,$1),$(call used_objects,$p)) $(call emulated,$(wildcard $1/lesson.cu))

# FILE is a text that somebody typed, not make's: it reaches a shell in the environment only, and the names of what is made
# of it hold its checksum, so that hw/a.c and hw_a.c are two.
override FILE := $(value FILE)
export FILE
graded_as = $(OUT)/course/graded/$(call number_of,$1)$(if $(FILE),-$(FILE_SUM))
FILE_SUM := $(if $(FILE),$(firstword $(shell printf %s $(call quote,$(FILE)) | sha256sum)))
graded    = file=$${FILE:-$1/exercise.c}; case $$file in -*) file=./$$file ;; esac;
graded_cu = $(call graded,$1) cu=$${file%.c}.cu; [ -f "$$cu" ] || cu=$1/exercise.cu;
# $(call when_other,FILE): FILE.new becomes FILE, unless it says the same
when_other = { cmp -s $1.new $1 || mv $1.new $1; }

# Lessons and exercises run where they are built, so vectors are as wide as they are here.
HERE = $(if $(filter any,$(ARCH)),$(if $(filter $(HOST_CC),$(CC)),-march=native))
$(OUT)/course/%: EXTRA = $(HERE)

# What the compiler sees of an exercise, with its name and its headers, is kept beside it: what is graded is compiled
# again when this differs, whatever the times of files say.
define lesson_rules
lesson-$1: $(COURSE)/lesson-$1
	@$(COURSE)/lesson-$1
$(COURSE)/lesson-$1: $(call lesson_objects,$2) $(LIBRARY) $(OUT)/link
	$$(link)

grade-$1: $(call graded_as,$2)
	@$$<
grader-$1: $(call graded_as,$2)
	@echo $$<
$(call graded_as,$2).i: FORCE
	@mkdir -p $$(@D)
	@$$(call graded,$2) [ -f "$$$$file" ] || { echo "there is no file $$$$file" >&2; exit 2; }; \
	 $$(CC) $$(ALL_CPPFLAGS) $$(ALL_CFLAGS) $(HERE) -w -E -o $$@.new -x c "$$$$file" && $$(call when_other,$$@)
$(call graded_as,$2).o: $(call graded_as,$2).i $(OUT)/flags
	@$$(call graded,$2) $$(CC) $$(ALL_CPPFLAGS) $$(ALL_CFLAGS) $$(HERE) -Wno-missing-prototypes -c -o $$@ -x c "$$$$file"
$(call graded_as,$2).cu: FORCE
	@mkdir -p $$(@D)
	@$$(call graded_cu,$2) { printf '#line 1 "%s"\n' "$$$$(printf %s "$$$$cu" | sed 's/[\\"]/\\&/g')"; cat "$$$$cu"; } >$$@.new && \
	 $$(call when_other,$$@)
$(call graded_as,$2)_emulated.o $(call graded_as,$2)_checked.o: $2/graded.cu $(call graded_as,$2).cu $(OUT)/flags
	@$$(COMPILE_CU) -Wno-unused-function -DGRADED='"$(call graded_as,$2).cu"' $$(if $$(findstring _checked.o,$$@),$$(CHECKS))
$(call graded_as,$2): $(call graded_as,$2).o $(if $(wildcard $2/graded.cu),$(EMULATORS:%=$(call graded_as,$2)%.o)) \
                      $(OUT)/$2/check.o $(FRAME) $(LIBRARY) $(OUT)/link
	@$$(CC) $$(ALL_LDFLAGS) $$(DEPS_ORIGIN) -o $$@ $$(filter %.o,$$^) $(RUNS_HERE) $(LIBRARY) $$(ALL_LDLIBS)
.PHONY: lesson-$1 grade-$1 grader-$1
endef

$(foreach l,$(LESSONS),$(eval $(call lesson_rules,$(call number_of,$l),$l)))

RUN_COURSE = MAKE='$(MAKE)' ATTEND_BIN='$(CURDIR)/$(BIN)' LESSON_BIN='$(CURDIR)/$(COURSE)' OUT='$(OUT)' CC='$(CC)' \
             CHECKED='$(USE_CHECKED)' tools/course.sh

lesson-NN: ## run a lesson of the course: lesson-01 ...; course/README.md says how to use it
	@echo 'make lesson-NN: a number takes the place of NN; there are $(notdir $(LESSONS))'
grade-NN: ## grade its exercise: grade-01 ..., or FILE=...
	@echo 'make grade-NN: a number takes the place of NN; there are $(notdir $(LESSONS))'
lesson-% grade-%:
	@echo "make $@: there is no lesson $*; there are $(notdir $(LESSONS))" >&2; exit 2
course: $(COURSE)/lessons ## grade all exercises, print which operations are yours and how fast, build course/mine/libmine.so from them
	+@$(RUN_COURSE) mine '$(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HERE)' $(LESSONS)
course-test: programs $(COURSE)/lessons ## try every lesson, grader, solution and wrong answer: only=NN, or several
	+@$(RUN_COURSE) test '$(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HERE)' '$(only)' $(LESSONS)
$(COURSE)/lessons: $(foreach l,$(LESSONS),$(COURSE)/lesson-$(call number_of,$l))
	@touch $@

.PHONY: lesson-NN grade-NN course course-test
