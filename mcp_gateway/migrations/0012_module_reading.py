import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("mcp_gateway", "0011_endpoint_tools"),
    ]

    operations = [
        migrations.CreateModel(
            name="ModuleReading",
            fields=[
                (
                    "module",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="reading",
                        serialize=False,
                        to="mcp_gateway.module",
                        verbose_name="module",
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        help_text="JSON text; mcp_gateway.manifest.readings knows what is in it.",
                        verbose_name="text",
                    ),
                ),
            ],
            options={
                "verbose_name": "reading",
                "verbose_name_plural": "readings",
            },
        ),
    ]
