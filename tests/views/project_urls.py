"""A project with endpoints of its own beside the stock one."""

from django.urls import include, path

urlpatterns = [
    path("own/", include("tests.views.test_project_classes")),
    path("", include("mcp_gateway.urls")),
    path("", include("mcp_gateway.urls.well_known")),
]
