"""What operators read of rows: totals, and the workspaces that matter most."""

from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.db.identity import new_id
from riven.queue.lease import Process, register, report_metrics
from riven.telemetry import names
from riven.views.metrics import OTHER, SHOWN, read_metrics


async def read(here, own="me:1"):
    async with here.database.read() as connection:
        return await read_metrics(connection, own)


async def test_the_line_is_told_by_status_and_by_workspace(database_url):
    async with place(database_url) as here:
        full, free = await workspace(here.database, limit=1), await workspace(here.database, limit=5)
        first = await line_up(here.database, full, 4)
        await line_up(here.database, free, 3)
        await here.claim(await here.worker(), 1)
        await here.execute(
            "UPDATE execution_queue SET due = false WHERE execution_id = $1 AND status = 'PENDING'", first[3]
        )
        await here.execute("UPDATE execution_queue SET available_at = now() - interval '90 seconds'")
        values = (await read(here)).values
        items = dict(values[names.QUEUE_ITEMS])
        assert sum(items.values()) == 7
        assert items[("claimed",)] + items[("dispatched",)] == 1
        depth = {labels[0]: value for labels, value in values[names.QUEUE_DEPTH]}
        assert set(depth) == {str(full), str(free), OTHER}
        assert sum(depth.values()) == items[("due",)]
        oldest = {labels[0]: value for labels, value in values[names.QUEUE_OLDEST]}
        assert 89 < oldest[str(full)] < 120
        assert oldest[OTHER] == 0
        assert values[names.RUNNING] == [((), 1)]


async def test_what_waits_for_a_slot_is_told_apart_from_what_waits_for_a_worker(database_url):
    async with place(database_url) as here:
        full, free = await workspace(here.database, limit=1), await workspace(here.database, limit=5)
        await line_up(here.database, full, 4)
        await here.claim(await here.worker(), 1)
        await line_up(here.database, free, 3)
        assert (await read(here)).values[names.WAITING_FOR_CAPACITY] == [((), 3)]


async def test_however_many_workspaces_there_are_their_number_of_labels_is_bounded(database_url):
    async with place(database_url) as here:
        await here.execute(
            "INSERT INTO workspaces (name, tier) SELECT 'w' || n, 'FREE' FROM generate_series(1, 1000) n"
        )
        await here.execute(
            "INSERT INTO execution_queue (execution_id, workspace_id, workflow_definition_id)"
            " SELECT gen_random_uuid(), id, id FROM workspaces"
        )
        crowd = await workspace(here.database)
        await line_up(here.database, crowd, 5)
        depth = (await read(here)).values[names.QUEUE_DEPTH]
        assert len(depth) <= 2 * SHOWN + 1
        assert sum(value for _, value in depth) == 1_005
        assert ((str(crowd),), 5) in depth


async def test_each_process_is_shown_once_under_a_name_of_its_own_and_the_asking_one_not(database_url):
    async with place(database_url) as here:
        for name, process, claims in [
            ("worker-1", "a:1", 1),
            ("worker-1", "b:1", 2),
            ("maintenance", "b:1", 2),
            ("worker-3", "me:1", 9),
        ]:
            registered = Process(new_id(), "worker", name)
            await register(here.database, registered, 0)
            counted = {"process": process, "counted": {"riven_claims_total": [[[], claims]]}}
            assert await report_metrics(here.database, registered, counted)
        await register(here.database, Process(new_id(), "worker", "silent"), 0)
        readings = await read(here)
        assert [each["riven_claims_total"][0][1] for each in readings.processes.values()] == [1, 2]
        assert len(set(readings.processes)) == 2
        assert readings.values[names.PROCESSES] == [(("worker",), 5), (("maintenance",), 0)]


async def test_processes_that_are_gone_are_not_shown(database_url):
    async with place(database_url) as here:
        worker = await here.worker()
        await report_metrics(here.database, worker, {"process": "a:1", "counted": {}})
        await here.silence(worker, 61)
        readings = await read(here)
        none = [(("worker",), 0), (("maintenance",), 0)]  # so that an alert has something to ask for
        assert (readings.processes, readings.values[names.PROCESSES]) == ({}, none)
