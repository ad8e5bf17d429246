"""Running an import: a plan, then one transaction."""

from __future__ import annotations

import gc
import getpass
import json
import logging
import os
import socket
import time
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, router, transaction
from django.db.models import F

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.discovery import lacks_manifest
from mcp_gateway.manifest.plan import Change, Plan, make_plan
from mcp_gateway.manifest.publishing import write_published
from mcp_gateway.manifest.report import visible
from mcp_gateway.manifest.rows import Rows, read_rows
from mcp_gateway.manifest.states import Survey
from mcp_gateway.manifest.survey import survey
from mcp_gateway.models import Generation, ImportRun, Listener, Module, ModuleReading, Scope, Tool
from mcp_gateway.models.generation import GENERATION_PK

# A name of its own: whoever prints the report as well may keep these lines off the same screen.
logger = logging.getLogger("mcp_gateway.imports")

ATTEMPTS = 5

# Seconds that an editor may take between moving a file away and putting the new one in its place.
SAVE = 0.5


def run_import(
    *, only: str | None = None, allow_removal: bool = False, dry_run: bool = False, hold: bool = False
) -> Plan:
    """Bring the database in line with the manifests and give back the plan that was carried out.

    Everything is written in one transaction, under a lock on the generation's row: of two imports at once the
    second waits, and then looks at files and database again. Where nothing is to be written nothing is,
    not even the record of the run: a run is recorded when it changed something or the removal guard stopped it.

    Parameters: ``only`` is the id of the one module to import; ``allow_removal`` lifts the removal guard;
    ``dry_run`` only plans; ``hold`` leaves a module as it is where a fault would take away what it serves, and gives
    a manifest that is gone from its folder half a second to come back, because many editors save that way.
    Raises ``LookupError`` when there is no module of that id. Where the database fails the old state goes on
    serving, and the run is recorded as failed if that can still be written.
    """
    using = router.db_for_write(Tool)
    for attempt in range(ATTEMPTS):
        seen = Generation.current(using)
        rows, found = _look(only, using, hold=hold)
        plan = make_plan(found, rows, allow_removal=allow_removal, hold=hold)
        if only is not None and not found.modules and only not in rows.modules:
            raise LookupError(f"There is no module {only!r}, neither on disk nor in the database.")
        if dry_run:
            return plan
        stopped = any(remark.kind == "import" for remark in plan.refused)
        if not plan.writes and not stopped:
            _keep_readings(found, rows)
            break
        try:
            with transaction.atomic(using=using):
                _lock(using)
                if Generation.current(using) != seen:
                    if attempt < ATTEMPTS - 1:
                        continue
                    # Others were always faster. Nobody is now, so the files are read while they wait.
                    _rows, found = _look(only, using, hold=hold)
                rows = read_rows(using)
                plan = make_plan(found, rows, allow_removal=allow_removal, hold=hold)
                if plan.writes:
                    _write(plan, using)
                    _write_readings(found, rows)
                _record(plan, using, ImportRun.Outcome.APPLIED if plan.writes else ImportRun.Outcome.REFUSED)
        except DatabaseError:
            with suppress(DatabaseError):
                _record(plan, using, ImportRun.Outcome.FAILED)
            raise
        break
    for remark in plan.refused:
        what = f"{remark.kind} {remark.name}".strip()
        where = f" (module {remark.module}, {remark.place})" if remark.module else ""
        logger.error("Import refused %s%s: %s", visible(what), visible(where), visible(remark.message))
    return plan


def _look(only: str | None, using: str, *, hold: bool) -> tuple[Rows, Survey]:
    """What the database holds, and what the disk says."""
    # Code and rows stay to the end: to look for garbage among them again and again takes a tenth of the time.
    gc.freeze()
    try:
        rows = read_rows(using)
        gc.freeze()
        return rows, _survey(only, rows, hold=hold)
    finally:
        gc.unfreeze()


def _survey(only: str | None, rows: Rows, *, hold: bool) -> Survey:
    deadline = time.monotonic() + SAVE
    while True:
        found = survey(only, rows)
        if not hold:
            return found
        known = [module_id for module_id, row in rows.modules.items() if row.present]
        if time.monotonic() > deadline or not any(key not in found.modules and lacks_manifest(key) for key in known):
            return found
        time.sleep(SAVE / 10)


def _lock(using: str) -> None:
    """Hold the generation's row: a write, because SQLite outside IMMEDIATE mode locks at the first one only."""
    rows = Generation.objects.using(using)
    if not rows.filter(pk=GENERATION_PK).update(number=F("number")):
        rows.get_or_create(pk=GENERATION_PK)


def _write(plan: Plan, using: str) -> None:
    Scope.objects.using(using).bulk_create([Scope(name=name) for name in plan.scopes])
    for module in plan.modules:
        _set(module.row, module.columns)
        module.row.save(using=using)
    if plan.deleted:
        Listener.objects.using(using).filter(pk__in=plan.deleted).delete()
    modules = dict(Module.objects.using(using).values_list("module_id", "pk"))
    for module_id, listener in plan.listeners:
        _set(listener.row, {**listener.columns, "module_id": modules[module_id]})
    _save(Listener, [listener for _module_id, listener in plan.listeners], using)
    if plan.tools:
        listeners = dict(Listener.objects.using(using).values_list("identity", "pk"))
        for identity, tool in plan.tools:
            _set(tool.row, {**tool.columns, "listener_id": listeners.get(identity)})
        _save(Tool, [tool for _identity, tool in plan.tools], using, "listener")
    write_published(plan.published, modules, using)
    Generation.bump(using)


def _keep_readings(found: Survey, rows: Rows) -> None:
    """Keep what was read where nothing else is to be written: a file changed, and what is made of it did not."""
    if any(rows.readings.get(module_id) != text for module_id, text in found.readings.items()):
        with transaction.atomic(using=rows.using):
            _lock(rows.using)
            _write_readings(found, rows)


def _write_readings(found: Survey, rows: Rows) -> None:
    new = {key: text for key, text in found.readings.items() if rows.readings.get(key) != text}
    modules = Module.objects.using(rows.using).filter(module_id__in=new).values_list("module_id", "pk")
    readings = [ModuleReading(module_id=pk, text=new[module_id]) for module_id, pk in modules]
    kept = ModuleReading.objects.using(rows.using)
    kept.filter(pk__in=[reading.pk for reading in readings]).delete()
    kept.bulk_create(readings)


def _save(model: type[Listener] | type[Tool], changes: list[Change[Any]], using: str, *always: str) -> None:
    """Make the new rows at once; of the old ones write only what changed, never an administrator's column."""
    model._default_manager.using(using).bulk_create([change.row for change in changes if change.row.pk is None])
    for change in changes:
        if change.old:
            change.row.save(using=using, update_fields=[*change.columns, *always])


def _set(row: Any, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        setattr(row, name, value)


def _record(plan: Plan, using: str, outcome: ImportRun.Outcome) -> None:
    ImportRun.objects.using(using).create(
        started_by=_user()[:200],
        host=socket.gethostname()[:200],
        folders=[os.fsencode(folder).decode("utf-8", "replace") for folder in gateway_settings.module_dirs],
        outcome=outcome,
        plan=json.dumps(plan.as_dict(), ensure_ascii=False),
        refused=len(plan.refused),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container whose user has no name
        return ""
