"""How fast the product is, beside its peers, on the machine at hand. See README.md; pytest collects nothing here."""
