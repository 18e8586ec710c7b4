"""Instructions that a program for 64-bit Arm executes, counted under QEMU's user emulation.

QEMU logs every block of instructions when it translates it (`in_asm`) and whenever it enters it
(`exec`; `nochain` keeps it from jumping to the next block unlogged). What was executed between two
markers is the sum over the blocks entered there. A block runs to its end unless an instruction
faults, which none of these does.
"""
import re
import subprocess
from dataclasses import dataclass

BEGIN, END = "ruv_count_begin", "ruv_count_end"
PROGRAMS = ("qemu-aarch64-static", "qemu-aarch64")
ENTERED = re.compile(rb"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
INSTRUCTION = re.compile(rb"0x([0-9a-f]+):\s+([0-9a-f]{8})\s+(\S*)")


@dataclass
class Counts:
    """`vector`: arithmetic on SIMD and floating-point registers, moves between them included.
    `loads`: of any register. The rest are stores, prefetches, addresses and branches."""
    total: int = 0
    vector: int = 0
    loads: int = 0

    def __iadd__(self, other):
        self.total += other.total
        self.vector += other.vector
        self.loads += other.loads
        return self


def counts_of(word, mnemonic):
    """Of one instruction. Bits 25 to 27 tell its class: all set is SIMD and floating point."""
    return Counts(1, int(word >> 25 & 7 == 7), int(mnemonic.startswith(b"ld")))


def parse(log, begin, end):
    """What was executed between each entry at `begin` and the next at `end`: a list of Counts, and
    the lines of the log that are not QEMU's. log: lines as bytes; begin, end: addresses."""
    blocks, block, found, others, counting = {}, Counts(), [], [], False
    for line in log:
        entered = ENTERED.match(line)
        if entered:
            address = int(entered[1], 16)
            if address == begin:
                counting = True
                found.append(Counts())
            elif address == end:
                counting = False
            elif counting:
                found[-1] += blocks[address]
        elif line.startswith(b"IN:"):
            block = None
        elif instruction := INSTRUCTION.match(line):
            if block is None:
                block = blocks[int(instruction[1], 16)] = Counts()
            block += counts_of(int(instruction[2], 16), instruction[3])
        elif line.strip() and not line.startswith(b"-----"):
            others.append(line.decode(errors="replace").rstrip())
    return found, others


def addresses(nm, program):
    symbols = subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    at = {name: int(where, 16) for where, _, name in
          (line.split() for line in symbols.splitlines() if len(line.split()) == 3)}
    return at[BEGIN], at[END]


def executed(emulator, nm, command):
    """[(what the program printed of a stretch, its Counts)] of every stretch that it counts."""
    begin, end = addresses(nm, command[0])
    run = subprocess.Popen([emulator, "-cpu", "max", "-d", "in_asm,exec,nochain", *command],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found, others = parse(run.stderr, begin, end)
    lines = run.stdout.read().decode().splitlines()
    if run.wait() != 0:
        raise SystemExit("\n".join([f"{' '.join(map(str, command))} failed", *others[-5:]]))
    if len(lines) != len(found):
        raise SystemExit(f"{command[0]} counted {len(lines)} stretches, its log has {len(found)}")
    return list(zip(lines, found))
