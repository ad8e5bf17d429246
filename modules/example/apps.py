"""The module is an installed Django app, because it has models of its own."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ExampleConfig(AppConfig):
    """The app of the example module."""

    name = "modules.example"
    label = "example"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from modules.example.seeding import seed

        post_migrate.connect(seed, sender=self, dispatch_uid="modules.example.seed")
