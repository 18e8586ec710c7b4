"""A `ruvllm serve` of a model for as long as a with statement lasts."""

import http.client
import json
import os
import subprocess
import threading

START_S, ANSWER_S = 120, 300


class TooLong(RuntimeError):
    """The context does not hold a request."""


class ServedModel:
    """`where`: (host, port) once the server listens. What the caller's environment says for the
    program does not reach it.
    """

    def __init__(self, binary, model, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RUVLLM_")}
        environment["RUVLLM_CONFIG"] = "off"
        command = [binary, "serve", "--alias", "model", "--port", "0", *map(str, arguments)]
        if model:
            command += ["--model", str(model)]
        self.said, self.where, self._listening = [], None, threading.Event()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("listening on http://"):
                host, _, port = line.split("http://", 1)[1].strip().rpartition(":")
                self.where = host, int(port)
                self._listening.set()
        self._listening.set()

    def __enter__(self):
        if not self._listening.wait(START_S) or not self.where:
            self.__exit__()
            raise RuntimeError("the server did not start: " + "".join(self.said))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def post(self, path, body):
        """The answer to a request; TooLong, or RuntimeError with what the server says."""
        connection = http.client.HTTPConnection(*self.where, timeout=ANSWER_S)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
        finally:
            connection.close()
        if answer.status == 400 and "context_length_exceeded" in text:
            raise TooLong(text)
        if answer.status != 200:
            raise RuntimeError("%s: %d %s" % (path, answer.status, text[:400]))
        return json.loads(text)

    def chat(self, **body):
        """The message of a greedy answer."""
        body = {"model": "model", "temperature": 0, **body}
        answer = self.post("/v1/chat/completions", body)
        return answer["choices"][0]["message"]
