/* See options.h. */
#include "encdec/options.h"

#include "core/search/answer.h"
#include "encdec/subwords.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRAIN = COMMAND_TRAIN,
    EVAL = COMMAND_EVAL,
    BENCH = COMMAND_BENCH,
    INFO = COMMAND_INFO,
    AVERAGE = COMMAND_TEND,
    TRANSLATE = COMMAND_WRITE,
    SCORE = COMMAND_SCORE,
    BLEU = COMMAND_BLEU,
    VOCAB = COMMAND_VOCAB,
    SUBWORDS = COMMAND_SUBWORDS,
    BASELINE = COMMAND_BASELINE,
    BUILD = TRAIN | INFO | BENCH,
    CUT = BUILD | VOCAB | SUBWORDS | COMMAND_PLOT
};

static const OptionChoice types[] = {{"words", SUBWORDS_WORDS},
                                     {"bytes", SUBWORDS_BYTES},
                                     {"bpe", SUBWORDS_BPE},
                                     {"wordpiece", SUBWORDS_WORDPIECE},
                                     {"gpt2", SUBWORDS_GPT2},
                                     {"shapes", SUBWORDS_SHAPES},
                                     {"sentencepiece", SUBWORDS_SENTENCEPIECE},
                                     {NULL, 0}};
static const OptionChoice leaves[] = {{"tags", LEAVES_TAGS}, {"words", LEAVES_WORDS}, {NULL, 0}};
static const OptionChoice tokens[] = {{"spaces", TOKENS_SPACES}, {"moses", TOKENS_MOSES}, {NULL, 0}};
static const OptionChoice formats[] = {
    {"plain", ANSWER_PLAIN}, {"fairseq", ANSWER_FAIRSEQ}, {"nbest", ANSWER_NBEST}, {NULL, 0}};
static const OptionChoice beam_rules[] = {{"shrinks", BEAM_SHRINKS}, {"full", BEAM_FULL}, {NULL, 0}};
static const OptionChoice exported[] = {
    {"ctranslate2", EXPORT_CTRANSLATE2}, {"hf", EXPORT_HF}, {"onnx", EXPORT_ONNX}, {NULL, 0}};
static const OptionChoice maps[] = {
    {"cross", MAPS_CROSS}, {"encoder", MAPS_ENCODER}, {"decoder", MAPS_DECODER}, {NULL, 0}};

#define AT(field) offsetof(EncdecOptions, field)

/* clang-format off */
const Option encdec_options[] = {
    {"source", 's', OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | SUBWORDS | COMMAND_PLOT, AT(source), "en", "LANG", "source language: the ending of its files, or the name of its column in a table"},
    {"target", 't', OPTION_TEXT, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | SUBWORDS | COMMAND_PLOT, AT(target), "de", "LANG", "target language"},
    {"train-source", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | COMMAND_PLOT, AT(file[0][0]), NULL, "FILE", "training sentences, one per line, instead of those in --data; the next five are given likewise"},
    {"train-target", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | COMMAND_PLOT, AT(file[0][1]), NULL, "FILE", "their translations, line by line"},
    {"valid-source", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | COMMAND_PLOT, AT(file[1][0]), NULL, "FILE", "validation sentences"},
    {"valid-target", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE | VOCAB | COMMAND_PLOT, AT(file[1][1]), NULL, "FILE", "their translations"},
    {"test-source", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE, AT(file[2][0]), NULL, "FILE", "test sentences"},
    {"test-target", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | EVAL | BASELINE, AT(file[2][1]), NULL, "FILE", "their translations"},
    {"type", 0, OPTION_CHOICE, OPTION_MODEL, CUT, AT(type), "bpe", .choices = types, "what a token is: a word, a byte, or a subword by byte pairs (bpe), as in BERT (wordpiece), in GPT-2 (gpt2) or by a model of SentencePiece (sentencepiece); or a word, with the shape and ending of a rare word in its place (shapes)"},
    {"tokens", 0, OPTION_CHOICE, OPTION_MODEL, CUT | BASELINE, AT(tokens), "spaces", .choices = tokens, "where words end: at white space, or also at punctuation, as Moses does for en, de and fr"},
    {"size", 0, OPTION_SIZE, OPTION_MODEL, BUILD | VOCAB, AT(size), "10000", "[3,1073741824]", "size of a learned vocabulary of words or wordpieces, including <unk> and </s> (vocab: without them)"},
    {"merges", 0, OPTION_SIZE, OPTION_MODEL, BUILD | VOCAB | COMMAND_PLOT, AT(merges), "10000", "[1,1073741824]", "how many byte pairs to merge: about the size of the vocabulary"},
    {"lower", 0, OPTION_YES_NO, OPTION_MODEL, CUT, AT(lower), "no", NULL, "wordpiece: lowercase and strip accents, like BERT's uncased models"},
    {"codes", 0, OPTION_PATH, OPTION_TRAINING, CUT, AT(codes), NULL, "FILE", "bpe: read merges as subword-nmt writes them, instead of learning them; gpt2: vocab.bpe"},
    {"vocabulary", 0, OPTION_PATH, OPTION_TRAINING, CUT, AT(vocabulary), NULL, "FILE", "words: lines of WORD COUNT; wordpiece: vocab.txt; gpt2: encoder.json; sentencepiece: its .model; bpe, with --codes: the subwords allowed, lines of SUBWORD COUNT"},
    {"vocabulary-threshold", 0, OPTION_SIZE, OPTION_TRAINING, CUT, AT(threshold), "0", NULL, "bpe: allow only subwords that --vocabulary counts at least this often"},
    {"decoder-depth", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(decoder_depth), "0", "[0,4096]", "blocks of the decoder (0: as many as the encoder has)"},
    {"plain-embeddings", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(plain_embeddings), NULL, NULL, "do not multiply embeddings by the square root of --dim (default no)"},
    {"logits-bias", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(logits_bias), NULL, NULL, "with --tie: add a bias to the logits (default no)"},
    {"normalize-punctuation", 0, OPTION_YES_NO, OPTION_TRAINING, BUILD | EVAL | TRANSLATE | SCORE, AT(normalize_punctuation), NULL, NULL, "sentencepiece: before a text is cut, make its quotation marks, dashes and spaces those of Moses' normalize-punctuation.perl, as the texts that OPUS-MT trains on (default no)"},
    {"two-vocabularies", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(two_vocabularies), NULL, NULL, "sentencepiece: source and target have ids and tables of their own, as in some models that import reads (default no)"},
    {"longest", 0, OPTION_SIZE, OPTION_TRAINING, BUILD | EVAL, AT(longest), "256", "[1,1073741824]", "do not train on pairs with more subwords than this on a side"},
    {"batch-tokens", 0, OPTION_SIZE, OPTION_TRAINING, BUILD, AT(batch_tokens), "4096", "[0,1073741824]", "subwords per step, approximately, on each side (0: --batch pairs)"},
    {"micro-tokens", 0, OPTION_SIZE, OPTION_TRAINING, BUILD | EVAL, AT(micro_tokens), "1024", "[1,1073741824]", "subwords that a worker computes at once, on each side"},
    {"r-drop", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.r_drop), NULL, "[0,]", "each step reads its batch twice, with other dropout, and how far the two are apart is added to the loss, times this, such as 5 (none given: 0, once)"},
    {"bpe-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(bpe_dropout), NULL, "[0,1]", "bpe: probability that a merge is left out, each time, when words of the training part are cut (none given: 0); such as 0.1"},
    {"guided-alignment", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(guided), NULL, "[0,]", "a head learns to look at the source subword that each target subword comes from: what its loss is multiplied by, such as 0.05 (none given: 0)"},
    {"guided-layer", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(guided_layer), NULL, NULL, "the decoder's block that has this head, counted from 0 (default: the last)"},
    {"guided-head", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(guided_head), NULL, NULL, "its number, counted from 0 (default 0)"},
    {"alignments", 0, OPTION_PATH, OPTION_TRAINING, TRAIN, AT(alignments), NULL, "FILE", "with --guided-alignment: links SOURCE-TARGET between subwords, a line for each line of the training part, as fast_align writes them (default: guessed by IBM's model 1)"},
    {"word-dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(shared.word_dropout), NULL, "[0,1)", "probability that a subword becomes <unk> when it is read in training (default 0)"},
    {"by-length", 0, OPTION_YES_NO, OPTION_TRAINING, TRAIN, AT(by_length), "yes", NULL, "batch pairs of similar length"},
    {"split", 0, OPTION_CHOICE, OPTION_HERE, EVAL | BASELINE, AT(split), "valid", .choices = split_choices, "the part of the data to score"},
    {"trees", 0, OPTION_YES_NO, OPTION_MODEL, BUILD | BASELINE | COMMAND_PLOT, AT(trees), NULL, NULL, "learn to parse: the data is a treebank, the target of a sentence its tree (default no)"},
    {"leaves", 0, OPTION_CHOICE, OPTION_MODEL, BUILD | COMMAND_PLOT, AT(leaves), NULL, .choices = leaves, "what stands for a word in a written tree: its tag, or tag and word (default tags)"},
    {"word-positions", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(word_positions), NULL, NULL, "positions in a written tree count its words, not its tokens, so they tell where in the sentence the decoder is (default no)"},
    {"keep-outer", 0, OPTION_YES_NO, OPTION_MODEL, BUILD | BASELINE | COMMAND_PLOT, AT(keep_outer), NULL, NULL, "keep the outermost brackets of trees: empty, TOP, ROOT or S1 (default no)"},
    {"keep-functions", 0, OPTION_YES_NO, OPTION_MODEL, BUILD | BASELINE | COMMAND_PLOT, AT(keep_functions), NULL, NULL, "keep functions and numbers in labels: NP-SBJ-1 (default no)"},
    {"keep-traces", 0, OPTION_YES_NO, OPTION_MODEL, BUILD | BASELINE | COMMAND_PLOT, AT(keep_traces), NULL, NULL, "keep traces and other words that are not in the sentence, tagged -NONE- (default no)"},
    {"train-trees", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN | BASELINE | COMMAND_PLOT, AT(train_trees), NULL, NULL, "learn from N trees of the training part, spread evenly over it (default: all)"},
    {"more-trees", 0, OPTION_PATH, OPTION_TRAINING, TRAIN | COMMAND_PLOT, AT(more_trees), NULL, "FILE", "trees to train on besides those of --data: a file, folder or archive"},
    {"recombine", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(recombine), NULL, "[0,1000]", "make N new trees from each training tree, by exchanging constituents of the same kind (default 0)"},
    {"bleu", 0, OPTION_YES_NO, OPTION_HERE, EVAL, AT(bleu), "yes", NULL, "also translate the part and report BLEU"},
    {"bleu-sentences", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(bleu_sentences), "200", NULL, "validation sentences to translate at each evaluation, for BLEU (0: none)"},
    {"beam", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE | EVAL | COMMAND_HEADS, AT(beam), "4", "[1,1024]", "width of the beam: hypotheses kept per sentence (1: greedy)"},
    {"alpha", 0, OPTION_REAL, OPTION_HERE, TRANSLATE | EVAL | COMMAND_HEADS, AT(alpha), "0.6", "[0,]", "strength of the length penalty: score = ln p / ((5 + n) / 6)^alpha for n subwords, </s> included"},
    {"max-extra", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE | EVAL | COMMAND_HEADS, AT(max_extra), "50", "[0,1048576]", "how many subwords more than its source a translation may have"},
    {"beam-rule", 0, OPTION_CHOICE, OPTION_HERE, TRANSLATE | EVAL | COMMAND_HEADS, AT(beam_rule), "shrinks", .choices = beam_rules, "shrinks: a hypothesis that ends keeps its place in the beam; full: it leaves it, and score = ln p / n^alpha, as in Hugging Face's transformers"},
    {"beam-groups", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE, AT(beam_groups), "1", "[1,1024]", "diverse beam search: groups of the beam that search one after another, each avoiding the tokens of those before it"},
    {"diversity", 0, OPTION_REAL, OPTION_HERE, TRANSLATE, AT(diversity), "0.5", "[0,]", "with --beam-groups: nats that a token costs for each earlier group that has taken it in the same step"},
    {"no-repeat", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE, AT(no_repeat), "0", "[0,1048576]", "no N subwords in a row occur twice in a translation (0: they may)"},
    {"prefixes", 0, OPTION_PATH, OPTION_HERE, TRANSLATE, AT(prefixes), NULL, "FILE", "the beginning of each translation, one line per sentence"},
    {"ensemble", 0, OPTION_TEXT, OPTION_HERE, TRANSLATE | SCORE, AT(ensemble), NULL, "RUN,...", "more runs with the same vocabulary: each token's probability is the mean over all of them"},
    {"sample", 0, OPTION_FLAG, OPTION_HERE, TRANSLATE, AT(sample), NULL, NULL, "draw --nbest translations at random, by --seed, instead of searching for the likeliest"},
    {"temperature", 'T', OPTION_REAL, OPTION_HERE, TRANSLATE, AT(temperature), "1", "[0,]", "with --sample: divide log p by this (0: always take the likeliest token)"},
    {"top-k", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE, AT(top_k), "0", NULL, "with --sample: draw from the N likeliest tokens only (0: all)"},
    {"top-p", 0, OPTION_REAL, OPTION_HERE, TRANSLATE, AT(top_p), "1", "(0,1]", "with --sample: draw from the likeliest tokens that together reach this probability"},
    {"nbest", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE, AT(nbest), "1", "[1,1024]", "translations per line, best first"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, TRANSLATE, AT(format), "plain", .choices = formats, "plain: lines of text; fairseq: S-, H-, D-, P- with scores in base 2; nbest: NUMBER ||| TEXT ||| F0= LN_P ||| SCORE"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, COMMAND_EXPORT, AT(exported), NULL, .choices = exported, "ctranslate2: a model for CTranslate2; hf: a Marian model for Hugging Face's transformers; onnx: two graphs for onnxruntime (required)"},
    {"well-formed", 0, OPTION_YES_NO, OPTION_HERE, TRANSLATE | EVAL | COMMAND_HEADS, AT(well_formed), "yes", NULL, "parser: search only trees of the sentence"},
    {"split-words", 0, OPTION_YES_NO, OPTION_HERE, TRANSLATE | BASELINE | COMMAND_HEADS, AT(split_words), "yes", NULL, "parser: split a text's words as the treebank does: They can't. is They ca n't ."},
    {"pretty", 0, OPTION_FLAG, OPTION_HERE, TRANSLATE, AT(pretty), NULL, NULL, "parse: print one constituent per line, indented, instead of one tree per line"},
    {"out", 0, OPTION_PATH, OPTION_HERE, TRANSLATE, AT(shared.out), NULL, "FILE", "parse: also draw the first tree: .png, .svg or .pdf, with its data beside it as .tsv"},
    {"size", 0, OPTION_TEXT, OPTION_HERE, TRANSLATE, AT(shared.size), NULL, "SIZE", "size of that picture, such as 8.5cm, 16cmx9cm or 900x540"},
    {"scores", 0, OPTION_FLAG, OPTION_HERE, TRANSLATE, AT(scores), NULL, NULL, "with plain: print SCORE and a tab before the text"},
    {"file", 0, OPTION_PATH, OPTION_HERE, TRANSLATE | SCORE | SUBWORDS | BASELINE, AT(input), NULL, "FILE", "the text, one sentence per line (default: standard input); baseline --trees: print the grammar's trees of it, instead of scores"},
    {"translations", 0, OPTION_PATH, OPTION_HERE, SCORE, AT(translations), NULL, "FILE", "the translations to score, one per line"},
    {"max-tokens", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE | SCORE | EVAL, AT(max_tokens), "4096", "[1,1073741824]", "limit of what a worker translates at once: sentences times the longest length, of source or translation, in subwords"},
    {"chunk", 0, OPTION_SIZE, OPTION_HERE, TRANSLATE | SCORE | EVAL, AT(chunk), "2048", "[1,1073741824]", "lines to read, sort by length and answer together (1: answer each line at once)"},
    {"target-text", 0, OPTION_TEXT, OPTION_HERE, COMMAND_HEADS, AT(target_text), NULL, "TEXT", "the translation to read (default: the model's own)"},
    {"maps", 0, OPTION_CHOICE, OPTION_HERE, COMMAND_HEADS, AT(maps), "cross", .choices = maps, "whose attention: from target to source (cross), or within the encoder or decoder"},
    {"align", 0, OPTION_FLAG, OPTION_HERE, COMMAND_HEADS, AT(align), NULL, NULL, "show which source subword each target subword attends to most, by the mean of all heads or by --layer and --head"},
    {"last", 0, OPTION_SIZE, OPTION_HERE, AVERAGE, AT(last), "5", "[1,1073741824]", "how many of the newest checkpoints to average"},
    {"lowercase", 0, OPTION_FLAG, OPTION_HERE, BLEU, AT(lowercase), NULL, NULL, "ignore case"},
    {"paired", 0, OPTION_FLAG, OPTION_HERE, BLEU, AT(paired), NULL, NULL, "with A B REFERENCES: test by paired bootstrap whether two systems differ"},
    {"out", 0, OPTION_PATH, OPTION_HERE, VOCAB, AT(out), NULL, "DIR", "where to write codes.bpe and vocabulary.txt, vocab.txt or words.txt (default: only report)"},
    {"out", 0, OPTION_PATH, OPTION_HERE, COMMAND_IMPORT, AT(shared.out), NULL, "RUN", "directory of the run to make"},
    {"threads", 0, OPTION_SIZE, OPTION_HERE, VOCAB | SUBWORDS, AT(threads), "0", "[0,1024]", "threads that count and split words; the result is the same for any number (0: one per core)"},
    {"join", 0, OPTION_FLAG, OPTION_HERE, SUBWORDS, AT(join), NULL, NULL, "the reverse: join subwords into words, removing @@"},
    {"length", 0, OPTION_SIZE, OPTION_HERE, BENCH, AT(length), "32", "[1,1073741824]", "subwords per sentence"},
};

const size_t encdec_option_count = sizeof encdec_options / sizeof *encdec_options;

/* "Attention Is All You Need", table 3: 65 million parameters with a vocabulary of 37,000. */
static const Setting base[] = {
    {"dim", "512"}, {"heads", "8"}, {"depth", "6"}, {"ff", "2048"}, {"dropout", "0.1"}, {"batch-tokens", "25000"},
    {"steps", "100000"}, {"merges", "37000"}, {"keep", "5"}, {NULL, NULL}};

static const Setting big[] = {
    {"dim", "1024"}, {"heads", "16"}, {"depth", "6"}, {"ff", "4096"}, {"dropout", "0.3"}, {"merges", "37000"},
    {"batch-tokens", "25000"}, {"steps", "300000"}, {"keep", "20"}, {NULL, NULL}};

/* For some ten thousand pairs of short sentences, as Multi30k has them: the widths and dropout of Wu et al. 2021 (Good for
 * Misconceived Reasons), and what docs/variants.md found to help. */
static const Setting tiny[] = {
    {"dim", "128"}, {"heads", "4"}, {"depth", "4"}, {"ff", "256"}, {"activation", "silu"}, {"gate", "yes"},
    {"positions", "none"}, {"distances", "t5"}, {"norm", "pre"}, {"dropout", "0.3"}, {"ff-dropout", "0.1"},
    {"attention-dropout", "0.1"}, {"optimizer", "muon"}, {"schedule", "cosine"}, {"lr", "0.015"}, {"warmup", "300"},
    {"steps", "4000"}, {"merges", "10000"}, {"eval-every", "500"}, {"save-every", "500"}, {NULL, NULL}};

static const Setting minute[] = {
    {"type", "words"}, {"tokens", "spaces"}, {"dim", "64"}, {"heads", "4"}, {"depth", "2"}, {"ff", "128"},
    {"dropout", "0.1"}, {"lr", "2"}, {"warmup", "300"}, {"steps", "10000"}, {"size", "5000"}, {"minutes", "1"},
    {"batch-tokens", "1024"}, {"micro-tokens", "512"}, {"eval-every", "200"}, {"longest", "100"}, {"context", "128"},
    {NULL, NULL}};

/* The paper's parser for the Wall Street Journal (section 6.3), which it says no more about than 4 blocks of 1024, 16,000
 * words, and that dropout and rate were chosen on section 22. */
static const Setting parser[] = {
    {"trees", "yes"}, {"type", "shapes"}, {"tokens", "spaces"}, {"size", "16000"}, {"dim", "1024"}, {"heads", "16"},
    {"depth", "4"}, {"ff", "4096"}, {"dropout", "0.3"}, {"batch-tokens", "25000"}, {"steps", "30000"}, {"keep", "5"},
    {"longest", "400"}, {NULL, NULL}};

/* For some thousand trees: the decoder is told which word comes next, distances are learned, and trees are recombined. */
static const Setting parser_small[] = {
    {"trees", "yes"}, {"type", "shapes"}, {"tokens", "spaces"}, {"size", "3500"}, {"word-positions", "yes"},
    {"distances", "t5"}, {"recombine", "3"}, {"dim", "128"}, {"heads", "4"}, {"depth", "3"}, {"ff", "512"},
    {"norm", "pre"}, {"dropout", "0.2"}, {"schedule", "cosine"}, {"lr", "0.0015"}, {"warmup", "300"},
    {"batch-tokens", "2048"}, {"micro-tokens", "2048"}, {"steps", "4500"}, {"eval-every", "250"},
    {"save-every", "250"}, {"keep", "4"}, {"longest", "200"}, {"context", "300"}, {NULL, NULL}};

/* The models of OPUS-MT, whose shape import changes, and rates to fine-tune such a model with. */
static const Setting marian[] = {
    {"dim", "512"}, {"heads", "8"}, {"depth", "6"}, {"ff", "2048"}, {"activation", "silu"}, {"norm", "post"},
    {"positions", "sinusoid-halves"}, {"type", "sentencepiece"}, {"tokens", "spaces"}, {"dropout", "0.1"},
    {"batch-tokens", "2048"}, {"lr", "2e-5"}, {"schedule", "linear"}, {"warmup", "100"}, {"betas", "0.9,0.999"},
    {"epsilon", "1e-8"}, {"clip", "1"}, {"steps", "1000"}, {"eval-every", "250"}, {"save-every", "250"},
    {"longest", "200"}, {NULL, NULL}};

static const Preset presets[] = {
    {"base", "6 + 6 blocks, 512 wide: the model of \"Attention Is All You Need\"", base},
    {"big", "base, 1024 wide and with 16 heads", big},
    {"tiny", "4 + 4 blocks, 128 wide, much dropout, and what helps it: for tens of thousands of pairs", tiny},
    {"parser", "4 + 4 blocks, 1024 wide: the paper's parser, for the 40,000 trees of the Wall Street Journal", parser},
    {"parser-small", "3 + 3 blocks, 128 wide: a parser for a few thousand trees", parser_small},
    {"marian", "6 + 6 blocks, 512 wide: the models of OPUS-MT, with rates to fine-tune one that import has read", marian},
    {"minute", "a small model, trained for one minute", minute},
};

/* The paper's, whatever the size: tied tables, sinusoids, its optimizer and its schedule. */
static const Setting defaults[] = {
    {"tokens", "moses"}, {"dim", "512"}, {"depth", "6"}, {"context", "512"}, {"positions", "sinusoid"},
    {"tie", "yes"}, {"init", "xavier"}, {"dropout", "0.1"}, {"smoothing", "0.1"}, {"lr", "1"}, {"schedule", "noam"},
    {"warmup", "4000"}, {"betas", "0.9,0.98"}, {"epsilon", "1e-9"}, {"clip", "0"}, {"micro-batch", "0"},
    {"keep", "5"}, {NULL, NULL}};
/* clang-format on */

const Program encdec_program = {
    .name = "encdec",
    .about = "A Transformer that translates: the encoder-decoder of \"Attention Is All You Need\".",
    .presets = presets,
    .preset_count = sizeof presets / sizeof *presets,
    .defaults = defaults,
};

static const char *setting(const Setting *list, const char *name)
{
    for (; list->name; list++)
        if (!strcmp(list->name, name))
            return list->value;
    return NULL;
}

size_t preset_batch_tokens(const char *preset)
{
    const char *value = NULL;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(presets[i].name, preset ? preset : "base"))
            value = setting(presets[i].settings, "batch-tokens");
    for (size_t i = 0; !value && i < encdec_option_count; i++)
        if (!strcmp(encdec_options[i].name, "batch-tokens"))
            value = encdec_options[i].standard;
    return (size_t)strtoull(value, NULL, 10);
}
