"""What the module starts with: a price list, a group and the consent text of its scope.

Made once, after the migration that finds the price list empty, so that what is changed or taken away later
stays so. Not a data migration: its rows would be gone after the first transactional test.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.apps import apps as installed
from django.contrib.auth.models import Group
from django.db import router, transaction

from mcp_gateway.models import Scope
from modules.example.models import Country

if TYPE_CHECKING:
    from django.apps.registry import Apps

PRICES = Path(__file__).with_name("prices.csv")


def seed(using: str, apps: Apps = installed, **kwargs: Any) -> None:
    """Receiver of ``post_migrate``: fill an empty price list (``flush`` sends the signal without ``apps``)."""
    try:
        apps.get_model("example", "Country")
    except LookupError:
        # The module's migrations were just taken back.
        return
    if not router.allow_migrate_model(using, Country) or Country.objects.using(using).exists():
        return
    with transaction.atomic(using=using), PRICES.open(encoding="utf-8", newline="") as file:
        Country.objects.using(using).bulk_create(Country(**row) for row in csv.DictReader(file))
        Group.objects.using(using).get_or_create(name="users")
        Scope.objects.using(using).get_or_create(
            name="example:write", defaults={"description": "Set price alerts in your name"}
        )
