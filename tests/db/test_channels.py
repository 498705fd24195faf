from tests.engines.embedded.workers import eventually

from riven.db.channels import CHANGES, notify_of, read_ids
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.db.listen import Listener


async def test_ids_arrive_as_they_were_sent_in_portions_that_fit(database_url):
    database = Database(database_url)
    heard: list[str] = []
    listener = Listener(database, {CHANGES: heard.append})
    listener.start()
    try:
        await listener.listening.wait()
        ids = [new_id() for _ in range(201)]
        await notify_of(database, CHANGES, ids)
        await eventually(lambda: len(heard) == 2)
        assert [each for payload in heard for each in read_ids(payload)] == ids
        assert max(map(len, heard)) < 8_000
    finally:
        await listener.stop()
        await database.close()


def test_what_is_no_id_is_passed_over():
    known = new_id()
    assert list(read_ids(f"x,{known},,?,{str(known)[:-1]}")) == [known]
    assert list(read_ids("")) == []
