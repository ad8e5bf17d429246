from typing import Any

from django.db import migrations, models


def forget_defaults(apps: Any, schema_editor: Any) -> None:
    """Manifests that say nothing had their default here; what they do say comes back with the next import."""
    rows = apps.get_model("mcp_gateway", "Listener").objects.using(schema_editor.connection.alias)
    rows.filter(task="", atomic=True).update(atomic=None, digest="")
    rows.exclude(task="").filter(atomic=False).update(atomic=None, digest="")


def write_defaults(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("mcp_gateway", "Listener").objects.using(schema_editor.connection.alias)
    rows.filter(task="", atomic=None).update(atomic=True)
    rows.filter(atomic=None).update(atomic=False)


class Migration(migrations.Migration):
    dependencies = [
        ("mcp_gateway", "0012_module_reading"),
    ]

    operations = [
        migrations.AlterField(
            model_name="listener",
            name="atomic",
            field=models.BooleanField(
                help_text="Whether it runs in a transaction; empty: unless it runs as a task, or its tool may.",
                null=True,
                verbose_name="atomic",
            ),
        ),
        migrations.RunPython(forget_defaults, write_defaults),
    ]
