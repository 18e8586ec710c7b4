"""What only Python has: iterators, tasks, signals, threads, arrays, lifetimes."""
import asyncio
import gc
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import ruvllm

MODEL = os.environ.get("RUVLLM_TEST_MODEL")
ASKED = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "max_tokens": 24}
# Far longer than a test waits, on a model that is small.
ENDLESS = {"max_tokens": -1, "ignore_eos": True, "context_shift": True}


def test_a_loop_that_is_left_ends_the_answer(model):
    for _ in model.stream("One,", max_tokens=400, ignore_eos=True):
        break
    gc.collect()
    while model.request("GET", "/v1/engine/stats")["load"]["n_running"]:
        time.sleep(0.005)
    assert model.chat(ASKED, **GREEDY)


def write_adapter(folder):
    """A LoRA of rank 1 for one matrix of the built-in model, in PEFT's files."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 4}))
    name = "base_model.model.model.layers.7.mlp.down_proj.lora_"
    header, data = {}, b""
    for half, shape in (("A", (1, 768)), ("B", (256, 1))):
        numbers = [((7 * i) % 5 - 2) / 2 for i in range(shape[0] * shape[1])]
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
        header[f"{name}{half}.weight"] = {"dtype": "F32", "shape": shape,
                                          "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_requests_choose_adapters(tmp_path):
    write_adapter(tmp_path / "tone")
    write_adapter(tmp_path / "later")
    with ruvllm.load(MODEL, n_ctx=256, adapters={"tone": str(tmp_path / "tone")},
                     adapter_dir=str(tmp_path)) as model:
        plain = model.generate("One,", **GREEDY)
        assert model.generate("One,", lora=[{"name": "tone", "scale": 0}], **GREEDY) == plain
        toned = model.generate("One,", lora=["tone"], **GREEDY)
        assert toned != plain
        model.request("POST", "/v1/load_lora_adapter", {"lora_name": "more", "lora_path": "later"})
        assert model.generate("One,", model="more", **GREEDY) == toned
        with pytest.raises(ruvllm.InvalidError, match="gone"):
            model.generate("One,", lora=["gone"], **GREEDY)


def test_many_threads(model):
    wanted = model.chat(ASKED, **GREEDY)
    found = []
    threads = [threading.Thread(target=lambda: found.append(model.chat(ASKED, **GREEDY)))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 6


def test_async(model):
    async def all_of_it():
        whole = await model.achat(ASKED, **GREEDY)
        pieces = [piece async for piece in model.achat_stream(ASKED, **GREEDY)]
        texts = await model.agenerate("One,", max_tokens=3)
        return whole, "".join(pieces), texts

    whole, streamed, _ = asyncio.run(all_of_it())
    assert whole == streamed


def test_a_cancelled_task_ends_its_answer(model):
    async def cancelled():
        task = asyncio.create_task(model.agenerate("One,", **ENDLESS))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_vectors(model):
    numpy = pytest.importorskip("numpy")
    vectors = model.embed(["A cat", "A dog", "A cat"])
    assert vectors.dtype == numpy.float32 and vectors.shape == (3, model.info["n_embd"])
    row = vectors[0]
    del vectors
    gc.collect()
    assert numpy.array_equal(row, model.embed("A cat")[0])
    assert model.embed_lists("A cat")[0] == pytest.approx(row.tolist())
    assert asyncio.run(model.aembed("A cat")).shape[0] == 1
    with pytest.raises(ruvllm.InvalidError) as failed:
        model.embed("a", dimensions=-1)
    assert failed.value.field == "dimensions"


def test_what_is_no_text_is_refused(model):
    for wrong in ("\ud800", float("nan"), object()):
        with pytest.raises(ruvllm.InvalidError):
            model.generate("a", stop=wrong)
    with pytest.raises(ruvllm.InvalidError):
        model.detokenize([1 << 40])
    with pytest.raises(ruvllm.InvalidError):
        model.generate("word " * 2_000_000)


def test_a_closed_model_is_refused():
    model = ruvllm.load(MODEL, n_ctx=64)
    pieces = model.stream("One,", **ENDLESS)
    next(pieces)
    model.close()
    model.close()
    with pytest.raises(ruvllm.CancelledError):
        model.tokenize("a")
    assert next(pieces) is not None  # the answer keeps the engine
    pieces.close()


def test_sessions(tmp_path):
    with ruvllm.load(MODEL, n_ctx=512, cache_dir=str(tmp_path)) as model:
        model.chat(ASKED, session="paris", **GREEDY)
        assert [kept["name"] for kept in model.sessions()] == ["paris"]
        assert len(model.session("paris")["messages"]) == 2
        model.save_session("other", ASKED)
        model.delete_session("paris")
        assert [kept["name"] for kept in model.sessions()] == ["other"]
        with pytest.raises(ruvllm.NotFoundError):
            model.session("paris")


def test_server(model):
    with ruvllm.Server(model, api_key="secret") as server:
        body = json.dumps({"messages": ASKED, **GREEDY}).encode()
        asked = urllib.request.Request(f"{server.url}/v1/chat/completions", body,
                                       {"Authorization": "Bearer secret"})
        with urllib.request.urlopen(asked) as response:
            answer = json.load(response)["choices"][0]["message"]["content"]
        assert answer == model.chat(ASKED, **GREEDY)
        with pytest.raises(ruvllm.UnavailableError):
            ruvllm.Server(model, port=server.port)
    with pytest.raises(ruvllm.InvalidError):
        ruvllm.Server(model, host="0.0.0.0")


def run(code, **options):
    return subprocess.run([sys.executable, "-c", f"import ruvllm\nMODEL = {MODEL!r}\n{code}"],
                          capture_output=True, text=True, timeout=60, **options)


def test_an_interrupt_ends_an_answer():
    code = f"""
import os, signal, threading
model = ruvllm.load(MODEL, n_ctx=128)
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may begin ignored
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    model.generate("One,", **{ENDLESS!r})
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run(code)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_the_interpreter_ends_while_a_thread_generates():
    code = f"""
import threading
model = ruvllm.load(MODEL, n_ctx=128)
threading.Thread(target=lambda: model.generate("One,", **{ENDLESS!r}), daemon=True).start()
import time; time.sleep(0.2)
"""
    assert run(code).returncode == 0


def test_a_forked_child_is_refused():
    code = """
import os
model = ruvllm.load(MODEL, n_ctx=128)
child = os.fork()
if child == 0:
    try:
        model.tokenize("a")
    except ruvllm.InvalidError:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(code).stdout == "7\n"
