"""Answers that a server decodes at the same time, for measuring."""
import threading
import time

STREAMS = 8


def tokens_per_second(server, n_tokens, fields_of=lambda i: {}, n_answers=1):
    """Of all streams together; each asks for `n_answers` of `n_tokens`, one after the other.

    fields_of: more fields of the requests of stream i.
    """

    def ask(i):
        for _ in range(n_answers):
            status, answer = server.post("/v1/completions", {
                "prompt": [100 + i, 7, 8], "max_tokens": n_tokens, "temperature": 0,
                "ignore_eos": True, "cache_prompt": False, **fields_of(i)})
            assert status == 200, answer

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(STREAMS)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return STREAMS * n_tokens * n_answers / (time.monotonic() - begin)
