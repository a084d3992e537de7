"""The zoo: body plans, species, their flesh and colours, words that name them, and how they walk."""
