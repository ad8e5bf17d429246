import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        # The module brings the consent text of its scope along.
        ("mcp_gateway", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Country",
            fields=[
                (
                    "code",
                    models.CharField(
                        max_length=2,
                        primary_key=True,
                        serialize=False,
                        validators=[
                            django.core.validators.RegexValidator("^[A-Z]{2}$", "Two capital letters, such as AT.")
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("native_name", models.CharField(blank=True, max_length=100)),
                (
                    "price",
                    models.DecimalField(
                        decimal_places=4,
                        help_text="Of one text-message alert, without VAT.",
                        max_digits=8,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="price in euro",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "countries",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="PriceAlert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "limit",
                    models.DecimalField(
                        decimal_places=4,
                        max_digits=8,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="limit in euro",
                    ),
                ),
                ("set_at", models.DateTimeField(auto_now=True)),
                (
                    "country",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alerts", to="example.country"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="price_alerts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-set_at", "-pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("user", "country"), name="one_alert_per_user_and_country")
                ],
            },
        ),
    ]
