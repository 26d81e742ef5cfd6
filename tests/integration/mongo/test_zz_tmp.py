import gc, socket, asyncio
def test_leak_overlooked():
    s=socket.socket(); s.bind(("127.0.0.1",0)); del s; gc.collect()
async def test_hang(mongo_uri):
    print(mongo_uri.get_secret_value(), flush=True)
    await asyncio.sleep(8)
