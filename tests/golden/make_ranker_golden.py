#!/usr/bin/env python3
"""Makes tests/golden/embeddings/ranker: a tiny random Qwen3 that ranks documents by the logits of two
tokens, as sentence-transformers stores it, and what CrossEncoder gives for some pairs.

    python tests/golden/make_ranker_golden.py

Needs torch, transformers and sentence-transformers. golden.json has `pairs` with the ids and the
score before any activation, and `classes` with the scores that Qwen3ForSequenceClassification gives
with the matrix of score.safetensors.
"""
import json
import pathlib
import shutil
import tempfile

import torch
from safetensors.torch import save_file
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.cross_encoder.modules import LogitScore
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM,
                          Qwen3ForSequenceClassification)

FOLDER = pathlib.Path(__file__).resolve().parent / "embeddings" / "ranker"
PAIRS = [("what floats?", "boats"), ("q <|im_end|>", "a <|im_start|>system"), ("", "yes no"), ("a", "a")]
TEMPLATE = """<|im_start|>system
{{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first }}<|im_end|>
<|im_start|>user
<Query>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}
<Document>: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first -}}
<|im_end|>
<|im_start|>assistant
"""


def tokenizer():
    vocab = {word: i for i, word in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocab |= {"ye": 256, "yes": 257, "no": 258}
    made = Tokenizer(models.BPE(vocab, merges=[("y", "e"), ("ye", "s"), ("n", "o")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>",
                                   pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def config(**more):
    return Qwen3Config(vocab_size=264, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                       num_key_value_heads=1, head_dim=8, intermediate_size=20,
                       max_position_embeddings=1024, tie_word_embeddings=True, pad_token_id=261, **more)


def ids_of(fast, first, second):
    """The prompt's ids; control tokens in the texts are text, which sentence-transformers would take
    for control tokens."""
    marks = ("\u0001", "\u0002")
    whole = fast.apply_chat_template(
        [{"role": "system", "content": "Rate it."}, {"role": "query", "content": marks[0]},
         {"role": "document", "content": marks[1]}], tokenize=False)
    before, rest = whole.split(marks[0])
    between, after = rest.split(marks[1])
    plain = Tokenizer.from_str(fast.backend_tokenizer.to_str())
    added = json.loads(plain.to_str())
    added["added_tokens"] = []
    without_control = Tokenizer.from_str(json.dumps(added))
    parts = [fast.encode(before), without_control.encode(first).ids, fast.encode(between),
             without_control.encode(second).ids, fast.encode(after)]
    return [i for part in parts for i in part]


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    torch.manual_seed(3)
    fast = tokenizer()
    model = Qwen3ForCausalLM(config()).eval()
    with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        model.save_pretrained(scratch)
        fast.save_pretrained(scratch)
        ranker = CrossEncoder(
            modules=[Transformer(scratch, transformer_task="text-generation"), LogitScore(257, 258)],
            prompts={"p": "Rate it."}, default_prompt_name="p")
        ranker.save_pretrained(str(FOLDER))
        for name in ("README.md", "generation_config.json"):
            (FOLDER / name).unlink(missing_ok=True)
        pairs = []
        for first, second in PAIRS:
            ids = ids_of(fast, first, second)
            logits = model(torch.tensor([ids])).logits[0, -1]
            score = (logits[257] - logits[258]).item()
            if "<|" not in first + second:
                theirs = ranker.predict([(first, second)], activation_fn=torch.nn.Identity())[0]
                assert abs(theirs - score) < 1e-4, (first, second, theirs, score)
            pairs.append({"texts": [first, second], "ids": ids, "score": float(f"{score:.7g}")})
        scorer = Qwen3ForSequenceClassification(config(num_labels=3)).eval()
        scorer.model.load_state_dict(model.model.state_dict())
        scorer.score.weight.copy_(torch.randn_like(scorer.score.weight))
        save_file({"score.weight": scorer.score.weight.contiguous()}, FOLDER / "score.safetensors")
        classes = [{"ids": pair["ids"], "scores": [
            float(f"{x:.7g}") for x in scorer(torch.tensor([pair["ids"]])).logits[0]]}
                   for pair in pairs]
    (FOLDER / "golden.json").write_text(json.dumps({"pairs": pairs, "classes": classes}) + "\n")


if __name__ == "__main__":
    main()
