"""The recorded recipe: what is learned in which order, how fast, and from which seed."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Stage:
    """One run of the trainer. `tokens`: how much is learned; more takes time in proportion.
    `flags`: further options of the trainer. `sequences`: of a step; fewer make more and noisier
    steps. `copy_drills`: the chance of a drill after each sequence; more teach copying sooner and
    leave fewer tokens for the rest. `keep`: the share of the records of a category that is used.
    `has_teacher`: what the trained model says is learned, in place of the texts.
    """

    name: str
    tokens: int
    flags: tuple
    sequences: int = 12
    copy_drills: float = 0.1
    keep: dict = dataclasses.field(default_factory=dict)
    has_teacher: bool = False


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What makes all files. `megabytes`: of training data; `layers`: of the model and of its
    draft; `adapter_steps`: of each adapter; `embedding_steps`: of 32
    triplets; `save_every`: the steps that a kill can cost.
    """

    seed: int
    megabytes: float
    eval_records: int
    triplets: int
    context: int
    nano: tuple
    pico: tuple
    adapter_steps: int
    adapter_records: int
    embedding_steps: int
    nano_layers: int = 8
    pico_layers: int = 2
    save_every: int = 50
    score_limit: int = 300


# Small talk, facts, stories and arithmetic are learned early; what is left is tools and routing.
_SKILLS = {"stories": 0.5, "facts": 0.5, "talk": 0.6, "arith": 0.6, "plain": 0.5}

# More of them again: they are forgotten first.
_MORE_SKILLS = {"stories": 0.5, "facts": 0.8, "talk": 0.8, "arith": 0.6, "plain": 0.5}


def _muon(rate, fall, warmup=40):
    """Muon for matrices, AdamW for the rest. The rate rises, stays and falls to 0 in the last share
    `fall` of the steps; a higher one learns faster and diverges sooner.
    """
    shape = ("--schedule", "trapezoid", "--rate", rate, "--rate-fall", fall, "--warmup", warmup)
    return ("--optimiser", "muon") + shape


FULL = Recipe(
    seed=1,
    megabytes=120,
    eval_records=400,
    triplets=20000,
    context=1024,
    nano=(
        Stage("nano-1", 6_000_000, _muon("2e-3", "0.3"), copy_drills=0.12),
        Stage("nano-2", 5_000_000, _muon("1.5e-3", "0.7"), copy_drills=0.03, keep=_SKILLS),
        Stage("nano-3", 10_000_000, _muon("1.2e-3", "0.7"), copy_drills=0.05, keep=_MORE_SKILLS),
    ),
    pico=(
        Stage("pico-1", 3_000_000, _muon("2e-3", "0.3"), copy_drills=0.08),
        Stage("pico-2", 2_000_000, _muon("1e-3", "0.7"), copy_drills=0, has_teacher=True),
    ),
    adapter_steps=300,
    adapter_records=1500,
    embedding_steps=1200,
)

# Minutes, for a test that shows that everything works; what comes out knows next to nothing.
_SHORT_RATE = _muon("1e-3", "0.5", 1)
SHORT = Recipe(
    seed=1,
    megabytes=0.3,
    eval_records=12,
    triplets=200,
    context=1024,
    nano=(Stage("nano-1", 14_000, _SHORT_RATE, sequences=3),),
    pico=(
        Stage("pico-1", 4_000, _SHORT_RATE, sequences=3),
        Stage("pico-2", 3_000, _SHORT_RATE, sequences=3, has_teacher=True),
    ),
    adapter_steps=3,
    adapter_records=50,
    embedding_steps=3,
    nano_layers=3,
    save_every=1,
    score_limit=3,
)

RECIPES = {"full": FULL, "short": SHORT}
