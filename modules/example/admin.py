"""Prices and alerts in Django admin."""

from __future__ import annotations

from django.contrib import admin

from modules.example.models import Country, PriceAlert


@admin.register(Country)
class CountryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The price list."""

    list_display = ("name", "code", "price")
    list_editable = ("price",)
    search_fields = ("name", "native_name", "code")


@admin.register(PriceAlert)
class PriceAlertAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The limits that users set."""

    list_display = ("user", "country", "limit", "set_at")
    list_select_related = ("user", "country")
    autocomplete_fields = ("country",)
    raw_id_fields = ("user",)
