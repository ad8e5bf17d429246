"""A project with its own user and OAuth models, as an app; test_swapped_models.py runs it in processes of its own."""
