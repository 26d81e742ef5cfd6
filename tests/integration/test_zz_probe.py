import time
from tests.integration.mongo.test_repositories_jobs import *
from tests.integration.conftest import *
async def test_probe(start_mongod, eventually):
    port = await start_mongod("--replSet", "rs", "--setParameter", "enableTestCommands=1")
    own = await connected_replica_set(port, eventually)
    await own.database["x"].insert_one({"_id":1})
    for fp in ("pauseJournalFlusherBeforeFlush","pauseJournalFlusherThread"):
        print(await own.client.admin.command("configureFailPoint", fp, mode="alwaysOn"))
        t=time.perf_counter()
        for i in range(3):
          try:
            r = await own.database.command({"findAndModify":"x","query":{"_id":1},"update":{"$inc":{"a":1}},"new":True,"maxTimeMS":50,"writeConcern":{"w":"majority"}})
            print(fp, r.get("value"), r.get("writeConcernError"), time.perf_counter()-t)
          except Exception as e:
            print(fp, type(e), e, time.perf_counter()-t)
        await own.client.admin.command("configureFailPoint", fp, mode="off")
    await own.close()
