"""Conversations as text in the layout of the model's chat template, in segments.

A segment is (text, role): `SAID` is what the assistant says with the mark that ends it, `PROMPT`
all else, `PLAIN` a text without speakers. Each segment is encoded by itself, as the prompt and the
answer are when the model is used. A test compares the text with what `ruvllm template` renders.
"""

import json

SAID, PLAIN, PROMPT = "said", "plain", "prompt"
DEFAULT_SYSTEM = "You are RuvLTRA-nano, a small helpful assistant."
_TOOLS_HEAD = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and "
    "arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
)


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def calls_text(calls):
    """The calls of an assistant's message as the model writes them."""
    return "\n".join(
        '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
        % (call["function"]["name"], _json(call["function"]["arguments"]))
        for call in calls
    )


def answer_text(message):
    """What the assistant says in `message`, calls included."""
    said = message["content"] or ""
    if message.get("tool_calls"):
        said += ("\n" if said else "") + calls_text(message["tool_calls"])
    return said


def _head(messages, tools):
    """The system turn. `content` null in a first system message leaves it out where there are no
    tools.
    """
    has_system = messages[0]["role"] == "system"
    system = messages[0]["content"] if has_system else DEFAULT_SYSTEM
    if tools:
        signatures = "".join("\n" + _json(tool) for tool in tools)
        return (
            "<|im_start|>system\n"
            + (system or DEFAULT_SYSTEM)
            + _TOOLS_HEAD
            + signatures
            + _TOOLS_TAIL
        )
    return "" if system is None else "<|im_start|>system\n" + system + "<|im_end|>\n"


def _results(messages, i):
    """A tool's result; results that follow each other share one turn of the user."""
    text = "" if i and messages[i - 1]["role"] == "tool" else "<|im_start|>user"
    text += "\n<tool_response>\n" + messages[i]["content"] + "\n</tool_response>"
    last = i + 1 == len(messages) or messages[i + 1]["role"] != "tool"
    return text + ("<|im_end|>\n" if last else "")


def segments(messages, tools=None, answer_follows=False):
    """[(text, role)] of a conversation; `answer_follows` opens a turn of the assistant."""
    parts, prompt = [], _head(messages, tools)
    rest = messages[1:] if messages[0]["role"] == "system" else messages
    for i, message in enumerate(rest):
        if message["role"] == "tool":
            prompt += _results(rest, i)
        elif message["role"] == "assistant":
            parts.append((prompt + "<|im_start|>assistant\n", PROMPT))
            parts.append((answer_text(message) + "<|im_end|>", SAID))
            prompt = "\n"
        else:
            prompt += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    if answer_follows:
        prompt += "<|im_start|>assistant\n"
    return parts + ([(prompt, PROMPT)] if prompt else [])


def plain_segments(text):
    """[(text, role)] of a text without speakers, with the mark that ends texts."""
    return [(text + "<|endoftext|>", PLAIN)]
