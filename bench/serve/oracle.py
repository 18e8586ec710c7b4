"""How many tokens of each prompt a perfect prefix cache would have: the longest common prefix with
anything computed before, found exactly and offline.
"""
import array
import bisect


def key_of(tokens):
    """Bytes that sort as the tokens do."""
    words = array.array("I", tokens)
    words.byteswap()  # little-endian machines; big-endian ones would sort rightly without it
    return words.tobytes()


def common(a, b):
    """Length of the common prefix in tokens."""
    low, high = 0, min(len(a), len(b)) // 4
    while low < high:
        middle = (low + high + 1) // 2
        if a[:4 * middle] == b[:4 * middle]:
            low = middle
        else:
            high = middle - 1
    return low


class PrefixOracle:
    """The longest common prefix is shared with a neighbour in sorted order."""

    def __init__(self):
        self.keys = []

    def add(self, prompt, answer):
        """The answer's last token was never an input, so nothing of it was computed."""
        bisect.insort(self.keys, key_of(prompt + answer[:-1]))

    def shareable(self, prompt):
        """At most all but the last token, whose logits are wanted."""
        key = key_of(prompt)
        at = bisect.bisect_left(self.keys, key)
        best = max((common(key, k) for k in self.keys[max(at - 1, 0):at + 1]), default=0)
        return min(best, len(prompt) - 1)
