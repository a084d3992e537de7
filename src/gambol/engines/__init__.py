"""Files for game engines, Blender and the web: one row of a table says what each wants."""
