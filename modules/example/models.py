"""Prices of text-message alerts by country, and the limits at which users want to hear of them."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models


class Country(models.Model):
    """A destination and what one alert to it costs."""

    code = models.CharField(
        max_length=2, primary_key=True, validators=[RegexValidator(r"^[A-Z]{2}$", "Two capital letters, such as AT.")]
    )
    name = models.CharField(max_length=100, unique=True)
    native_name = models.CharField(max_length=100, blank=True)
    price = models.DecimalField(
        "price in euro",
        max_digits=8,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text="Of one text-message alert, without VAT.",
    )

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "countries"

    def __str__(self) -> str:
        return self.name

    @property
    def search(self) -> str:
        """The words the country is found by."""
        return " ".join(dict.fromkeys(f"{self.name} {self.native_name} {self.code}".lower().split()))


class PriceAlert(models.Model):
    """The limit at which a user wants to hear of a country's price."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="price_alerts")
    country = models.ForeignKey(Country, on_delete=models.CASCADE, related_name="alerts")
    limit = models.DecimalField("limit in euro", max_digits=8, decimal_places=4, validators=[MinValueValidator(0)])
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-set_at", "-pk")
        constraints = (models.UniqueConstraint(fields=("user", "country"), name="one_alert_per_user_and_country"),)

    def __str__(self) -> str:
        return f"{self.user}: {self.country} at {self.limit} EUR"

    @property
    def reached(self) -> bool:
        """Whether the price is at or below the limit."""
        return self.country.price <= self.limit
