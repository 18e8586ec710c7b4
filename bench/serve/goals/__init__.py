"""The tables, by name, in the order in which they are printed."""
from . import (arrivals, cancel, connections, engine_share, fairness, identity, log_cost, memory,
               restart, reuse, speculation, tenants, throughput, time_to_first, watched)

ALL = {"reuse": reuse.GOAL, "ttft": time_to_first.GOAL, "restart": restart.GOAL,
       "fairness": fairness.GOAL, "tenants": tenants.GOAL, "arrivals": arrivals.GOAL,
       "throughput": throughput.GOAL, "engine": engine_share.GOAL,
       "speculation": speculation.GOAL, "cancel": cancel.GOAL, "memory": memory.GOAL,
       "identity": identity.GOAL, "watched": watched.GOAL, "connections": connections.GOAL,
       "log": log_cost.GOAL}
