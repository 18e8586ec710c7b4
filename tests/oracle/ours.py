"""`ruvllm tokenize --frames` as a process that encodes and one that decodes."""
import struct
import subprocess
import threading

import numpy


class Frames:
    """One process: batches of frames in, as many out."""

    def __init__(self, *command):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def exchange(self, frames, item_bytes):
        """frames: (count, bytes). The bytes of the answers, whose items have item_bytes."""
        message = b"".join(struct.pack("<I", count) + data for count, data in frames)
        writer = threading.Thread(target=self._write, args=(message,))
        writer.start()
        answers = []
        for _ in frames:
            (count,) = struct.unpack("<I", self._read(4))
            answers.append(self._read(count * item_bytes))
        writer.join()
        return answers

    def _write(self, message):
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def _read(self, n_bytes):
        data = self.process.stdout.read(n_bytes)
        if len(data) != n_bytes:
            raise SystemExit(f"{' '.join(self.process.args)}: ended with {self.process.wait()}")
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    def __init__(self, binary, vocabulary):
        command = [binary, "tokenize", "--frames", "--model", vocabulary.path,
                   *vocabulary.arguments]
        self.encoder = Frames(*command)
        self.decoder = Frames(*command, "--detokenize", *vocabulary.decode_arguments)

    def encode(self, texts):
        raw = [text.encode() for text in texts]
        answers = self.encoder.exchange([(len(data), data) for data in raw], 4)
        return [numpy.frombuffer(answer, "<i4").tolist() for answer in answers]

    def decode(self, all_ids):
        frames = [(len(ids), numpy.array(ids, "<i4").tobytes()) for ids in all_ids]
        return [answer.decode(errors="replace") for answer in self.decoder.exchange(frames, 1)]

    def close(self):
        self.encoder.close()
        self.decoder.close()
