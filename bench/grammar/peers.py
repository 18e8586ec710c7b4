"""Masks of llguidance and XGrammar over the tokens that ruv_bench_grammar wrote; prints one JSON object
per engine. The time of a token is that of computing its mask and of committing it."""
import argparse
import base64
import json
import time
from importlib.metadata import version


def figures(values):
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return {"n": len(values), "mean": sum(values) / len(values), "p50": at(0.5), "p90": at(0.9),
            "p99": at(0.99), "p99.9": at(0.999), "max": values[-1]}


def read_vocabulary(path):
    """The tokens of a tiktoken file, and an end token after them."""
    tokens = []
    for line in open(path, "rb"):
        text, rank = line.split()
        assert int(rank) == len(tokens)
        tokens.append(base64.b64decode(text))
    return tokens + [b"<|end|>"]


class LLGuidance:
    name = "llguidance"

    def __init__(self, tokens):
        import llguidance
        import numpy
        self.module = llguidance
        self.version = version("llguidance")
        end = len(tokens) - 1

        class Wrapped:
            eos_token_id = end
            bos_token_id = None
            special_token_ids = [end]

            def __call__(self, text):  # only asked for short forced texts
                data = text if isinstance(text, bytes) else text.encode()
                ids = []
                while data:
                    size = next(n for n in range(min(64, len(data)), 0, -1) if data[:n] in numbers)
                    ids.append(numbers[data[:size]])
                    data = data[size:]
                return ids

        numbers = {token: i for i, token in enumerate(tokens)}
        Wrapped.tokens = tokens
        wrapper = llguidance.TokenizerWrapper(Wrapped())
        slices = llguidance.LLTokenizer.json_slices()
        self.tokenizer = llguidance.LLTokenizer(wrapper, slices=slices)
        self.mask = numpy.zeros((len(tokens) + 31) // 32, dtype=numpy.int32)

    def compile(self, schema):
        grammar = self.module.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        matcher = self.module.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return grammar, matcher

    def start(self, compiled):
        return compiled[1].deep_copy()

    def fill(self, matcher):
        matcher.unsafe_compute_mask_ptr(self.mask.ctypes.data, self.mask.nbytes)

    def accept(self, matcher, token):
        return matcher.consume_token(token)

    def may_end(self, matcher):
        return matcher.is_accepting()


class XGrammar:
    name = "XGrammar"

    def __init__(self, tokens):
        import xgrammar
        self.module = xgrammar
        self.version = version("xgrammar")
        info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW,
                                      vocab_size=len(tokens), stop_token_ids=[len(tokens) - 1])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(1, len(tokens))
        self.end = len(tokens) - 1

    def compile(self, schema):
        return self.compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

    def start(self, compiled):
        return self.module.GrammarMatcher(compiled)

    def fill(self, matcher):
        matcher.fill_next_token_bitmask(self.mask)

    def accept(self, matcher, token):
        return matcher.accept_token(token)

    def may_end(self, matcher):
        self.fill(matcher)
        return bool(self.mask[0, self.end // 32] >> (self.end % 32) & 1)


def is_allowed(mask, token):
    flat = mask.reshape(-1)
    return bool(int(flat[token // 32]) >> (token % 32) & 1)


def run(engine, lines):
    mask_us, compile_us = [], []
    counts = {"schemas": 0, "passed": 0, "refused": 0, "invalid accepted": 0, "valid refused": 0}
    for line in lines:
        counts["schemas"] += 1
        begin = time.perf_counter()
        try:
            compiled = engine.compile(line["schema"])
            engine.fill(engine.start(compiled))
        except Exception:
            counts["refused"] += 1
            continue
        finally:
            compile_us.append((time.perf_counter() - begin) * 1e6)
        right = True
        for test in line["tests"]:
            matcher = engine.start(compiled)
            accepted = True
            for token in test["ids"]:
                begin = time.perf_counter()
                engine.fill(matcher)
                accepted = is_allowed(engine.mask, token) and engine.accept(matcher, token)
                mask_us.append((time.perf_counter() - begin) * 1e6)
                if not accepted:
                    break
            accepted = accepted and engine.may_end(matcher)
            if accepted != test["valid"]:
                right = False
                counts["invalid accepted" if accepted else "valid refused"] += 1
        counts["passed"] += right
    return {"engine": f"{engine.name} {engine.version}", "mask_us": figures(mask_us),
            "compile_us": figures(compile_us), **counts}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", help="a tiktoken file")
    parser.add_argument("tokens", help="what ruv_bench_grammar wrote with --tokens")
    parser.add_argument("--engine", choices=["llguidance", "xgrammar"], required=True)
    args = parser.parse_args()
    tokens = read_vocabulary(args.vocabulary)
    lines = [json.loads(line) for line in open(args.tokens)]
    engine = {"llguidance": LLGuidance, "xgrammar": XGrammar}[args.engine](tokens)
    print(json.dumps(run(engine, lines)), flush=True)


if __name__ == "__main__":
    main()
