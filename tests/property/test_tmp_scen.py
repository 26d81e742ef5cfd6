import sys; sys.path.insert(0,'/tmp')
from scen import S

from tests.property.test_whole_life import *


async def test_scen(gated, launch):
    world = await new_world(gated, launch)
    try:
        for decision in S:
            world.trace.append(f"— {decision}")
            await decide(world, decision)
        await require_truth(world)
    finally:
        print("\n".join(world.trace))
        await world.bury()
        await emptied(gated)
del globals()["test_job_never_outlives_its_truth"]
