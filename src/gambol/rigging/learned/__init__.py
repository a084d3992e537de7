"""A network that says where the joints of a bare mesh are, learned from rigs of artists and of the zoo."""
