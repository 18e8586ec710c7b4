"""The tables, by name, in the order in which they are printed."""
from . import (arrivals, cancel, engine_share, fairness, identity, memory, restart, reuse,
               speculation, tenants, throughput, time_to_first)

ALL = {"reuse": reuse.GOAL, "ttft": time_to_first.GOAL, "restart": restart.GOAL,
       "fairness": fairness.GOAL, "tenants": tenants.GOAL, "arrivals": arrivals.GOAL,
       "throughput": throughput.GOAL, "engine": engine_share.GOAL,
       "speculation": speculation.GOAL, "cancel": cancel.GOAL, "memory": memory.GOAL,
       "identity": identity.GOAL}
