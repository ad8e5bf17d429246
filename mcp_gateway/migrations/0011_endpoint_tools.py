from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("mcp_gateway", "0010_task_waits"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="all_tools",
            field=models.BooleanField(
                default=True,
                help_text="Off: only the tools that are chosen below exist here.",
                verbose_name="every tool",
            ),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="tools",
            field=models.ManyToManyField(
                blank=True,
                help_text="Counts where it does not serve every tool. Resources and prompts are at every endpoint.",
                related_name="endpoints",
                to="mcp_gateway.tool",
                verbose_name="tools",
            ),
        ),
    ]
