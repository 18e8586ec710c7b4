#!/usr/bin/env python3
"""Makes tests/golden/embeddings/cross_encoder: a tiny random BERT that scores pairs of texts, with
its tokenizer, and what transformers gives for some pairs.

    python tests/golden/make_cross_encoder_golden.py

Needs torch, transformers and tokenizers. golden.json has `pairs` with the ids, the token types and
the score before any activation, and `texts` with the ids and the means of the states of BertModel.
"""
import json
import pathlib

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification

FOLDER = pathlib.Path(__file__).resolve().parent / "embeddings" / "cross_encoder"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "the", "cat", "dog", "bark", "##s", "boat", "float",
         "on", "water", "what", "?", "."]
PAIRS = [("What floats?", "Boats float on water."), ("What floats?", "A dog barks."),
         ("what barks?", "the dog"), ("a", "a")]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)},
                                           unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(WORDS[:4])
    tokenizer.save(str(FOLDER / "tokenizer.json"))
    torch.manual_seed(5)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=32, num_labels=1,
        attn_implementation="eager")).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        model.save_pretrained(FOLDER)
        pairs, texts = [], []
        for first, second in PAIRS:
            made = tokenizer.encode(first, second)
            logits = model(torch.tensor([made.ids]),
                           token_type_ids=torch.tensor([made.type_ids])).logits
            pairs.append({"texts": [first, second], "ids": made.ids, "types": made.type_ids,
                          "score": float(f"{logits.item():.7g}")})
            alone = tokenizer.encode(second)
            states = model.bert(torch.tensor([alone.ids])).last_hidden_state[0]
            texts.append({"text": second, "ids": alone.ids,
                          "mean": [float(f"{x:.7g}") for x in states.mean(axis=0)]})
    (FOLDER / "golden.json").write_text(json.dumps({"pairs": pairs, "texts": texts}) + "\n")


if __name__ == "__main__":
    main()
